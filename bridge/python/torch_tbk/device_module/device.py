# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The devices: how many, which one is current, what they are, when they start."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch

from torch_tbk._binding import binding
from torch_tbk.device_module._utils import DeviceLike, _get_device_index, checked_index


@dataclass(frozen=True)
class DeviceProperties:
    """What a backend says of one device; the same for the life of the process."""

    name: str
    """For people."""
    total_memory: int
    """In bytes; 0 where the backend does not know it."""
    driver: str
    """What it runs on, with versions and paths; empty where the backend says nothing."""
    max_allocation_bytes: int
    """The most that one allocation can have; 0 where the backend states no limit."""
    memory_alignment: int
    """In bytes."""
    copy_granularity: int
    """In bytes: what the backend itself copies in multiples of. The bridge copies any byte."""
    dtypes: frozenset[torch.dtype]
    """Those that the backend's own kernels accept. All others work too, on the CPU."""
    max_rank: int
    """The most dimensions that the backend's own kernels accept. More work too, on the CPU."""
    priority_range: tuple[int, int]
    """Of streams, the least and the greatest; a lower number comes first."""
    flat_address: bool
    """Addresses of the device may be added to, so that the allocator can split blocks."""
    host_visible: bool
    """The host may read and write the device's memory."""
    cross_device_wait: bool
    """A stream can wait for an event of another device without stopping the host."""
    exclusive: bool
    """One process at a time may have the device open."""
    philox: bool
    """Random bits of the device are those of Philox4x32-10."""
    simulated: bool
    """Software stands in for the device."""


_pending: list[Callable[[], object]] = []
_pending_lock = threading.Lock()
_first_use = threading.Event()


def is_available() -> bool:
    """Returns whether there is a device. Opens none and never raises; as for device_count, the
    driver may start.
    """
    return binding.device_count() > 0


def device_count() -> int:
    """Returns the number of devices; 0 without a usable driver. Opens none, and never changes.

    The first question of a process goes to the backend. Where its driver has to start for that, a
    child that is forked later may be unable to use the device.
    """
    return binding.device_count()


def is_initialized() -> bool:
    """Returns whether a device is open in this process. False in a child that cannot use its
    devices.
    """
    if not binding.is_counted() or binding.in_bad_fork():
        return False
    return any(binding.is_open(index) for index in range(binding.device_count()))


def init() -> None:
    """Opens the current device now, rather than at its first use. May take seconds.

    Raises:
        RuntimeError: there is no device, it does not open, or the process was forked from one that
            had opened it.
    """
    _lazy_init()
    binding.ensure_open(binding.current_device())


def _lazy_init() -> None:
    """What PyTorch calls before it first uses the device type; which device, nobody knows yet.

    Opens none, therefore: each is opened by its own first use. Runs what `_lazy_call` kept.
    """
    _first_use.set()
    while True:
        with _pending_lock:
            if not _pending:
                return
            call = _pending.pop(0)
        call()


def _lazy_call(call: Callable[[], object], **_: object) -> None:
    """Runs `call` before PyTorch first uses the device type, or now where it has."""
    if _first_use.is_set():
        call()
        return
    with _pending_lock:
        _pending.append(call)


def _is_in_bad_fork() -> bool:
    """Returns whether this process was forked from one that had opened a device: it can use
    none.
    """
    return binding.in_bad_fork()


def current_device() -> int:
    """Returns the index of the calling thread's current device; 0 in a new thread. Opens
    nothing."""
    return binding.current_device()


def set_device(device: DeviceLike) -> None:
    """Makes `device` the calling thread's current device. Opens nothing.

    Args:
        device: an index or a device with one; a negative index changes nothing.

    Raises:
        ValueError: a device of another type, or without an index.
        RuntimeError: there is no such device.
    """
    _exchange_device(_get_device_index(device))


def _exchange_device(index: int) -> int:
    """Makes `index` current, unless it is negative; returns the index it replaces."""
    return binding.current_device() if index < 0 else binding.exchange_device(index)


_maybe_exchange_device = _exchange_device


class device:  # noqa: N801  # torch.<name>.device, as torch.cuda.device
    """Context manager: the current device of this thread is another one inside. Opens nothing.

    Args:
        device: an index, "acme:1" or a torch.device. None, a device without an index, and a
            negative index change nothing.

    Raises:
        ValueError: a device of another type.
        RuntimeError: on entry, there is no such device.
    """

    def __init__(self, device: DeviceLike) -> None:
        self.idx = -1 if device is None else _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(self, *_: object) -> None:
        if self.idx >= 0:
            _exchange_device(self.prev_idx)


class device_of(device):  # noqa: N801
    """Context manager: the current device is that of `tensor`; it stays, for another type."""

    def __init__(self, tensor: torch.Tensor | torch.UntypedStorage) -> None:
        ours = tensor.device.type == binding.name()
        super().__init__(tensor.device if ours else None)


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Returns what the backend says of `device`, by default the current one. Opens nothing.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device.
    """
    return DeviceProperties(**binding.properties(checked_index(device)))


def get_device_name(device: DeviceLike = None) -> str:
    """Returns the name of `device`, for people. Opens nothing. Errors: as get_device_properties."""
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> dict[str, Any]:
    """Returns what torch.accelerator.get_device_capability says of `device`.

    Returns:
        A dictionary; "supported_dtypes" is the set of dtypes in which tensors can exist on it.
    """
    return torch.accelerator.get_device_capability(checked_index(device))


def can_device_access_peer(device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Returns whether `device` reaches memory of `peer_device` directly; copies work without.

    Opens nothing.

    Errors: as get_device_properties.
    """
    return binding.peer_can_access(checked_index(device), checked_index(peer_device))


def synchronize(device: DeviceLike = None) -> None:
    """Waits on the host for all work of all streams of `device`. Releases the GIL meanwhile.

    A device that is not open has nothing to wait for, and stays so.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device.
        torch.AcceleratorError: work enqueued earlier failed, or the device is lost.
    """
    binding.synchronize(checked_index(device))


@dataclass(frozen=True)
class Capability:
    """Who serves one feature of a device."""

    source: Literal["native", "bridge", "none"]
    """The backend itself, the bridge in its place, or nobody."""
    detail: str
    """For people; may be empty."""


def capabilities(device: DeviceLike = None) -> dict[str, Capability]:
    """Returns who serves what: "events", "pinned memory", "kernel mm", ...

    Opens the device where the backend has kernels: only then it tells which.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device, or it does not open.
    """
    rows = binding.capabilities(checked_index(device))
    return {
        feature: Capability(cast("Literal['native', 'bridge', 'none']", source), detail)
        for feature, source, detail in rows
    }
