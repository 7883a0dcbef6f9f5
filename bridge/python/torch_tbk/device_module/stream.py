# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Streams and events of the backend's devices: PyTorch's own torch.Stream and torch.Event."""

from __future__ import annotations

from typing import Any

import torch

from torch_tbk._binding import binding
from torch_tbk.device_module import device as _device
from torch_tbk.device_module._utils import DeviceLike, checked_index


class _OfThisBackend(type):
    """isinstance() is about the device, because PyTorch hands out objects of its own classes."""

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        if cls not in (Stream, Event) or not isinstance(instance, cls.__base__ or object):
            return False
        device: torch.device | None = getattr(instance, "device", None)
        return device is not None and device.type == binding.name()


def _stream(index: int, stream_id: int, cls: type[torch.Stream] = torch.Stream) -> torch.Stream:
    device_type = torch._C._autograd.DeviceType.PrivateUse1.value
    return torch.Stream.__new__(
        cls, stream_id=stream_id, device_index=index, device_type=device_type
    )


class Stream(torch.Stream, metaclass=_OfThisBackend):
    """A new stream of `device`: a queue of work in order, independent of other streams.

    Opens the device. Streams come from a pool, and are shared when many are asked for.

    Args:
        device: by default the current device.
        priority: a lower number comes first; clamped to `Stream.priority_range()`.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device.
    """

    native_handle: int
    """What the driver calls it; NotImplementedError where the backend does not tell."""

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **ids: Any) -> Stream:
        if ids:
            return torch.Stream.__new__(cls, **ids)
        where = torch.device(binding.name(), checked_index(device))
        return torch.Stream.__new__(cls, where, priority=priority)

    @property
    def priority(self) -> int:
        """Returns what it was made with, clamped; a lower number comes first."""
        return binding.stream_priority(self.device.index, self.stream_id)

    @staticmethod
    def priority_range(device: DeviceLike = None) -> tuple[int, int]:
        """Returns the least and the greatest priority of streams of `device`. Opens nothing."""
        return _device.get_device_properties(device).priority_range


class ExternalStream(Stream):
    """A queue of the driver's own, made elsewhere, as a stream. It stays its maker's.

    Args:
        handle: what the backend's `stream_from_native` takes, as a number.
        device: the device it belongs to, by default the current one. Opened.

    Raises:
        NotImplementedError: the backend offers no stream_from_native.
        ValueError: a device of another type, or the backend refuses the handle.
        RuntimeError: there is no such device.
    """

    def __new__(cls, handle: int, device: DeviceLike = None) -> ExternalStream:
        index = checked_index(device)
        return _stream(index, binding.stream_from_native(index, handle), cls)  # type: ignore[return-value]


def get_stream_from_external(data_ptr: int, device: DeviceLike = None) -> ExternalStream:
    """Returns the ExternalStream of the driver's queue `data_ptr`. Errors: as ExternalStream."""
    return ExternalStream(data_ptr, device)


def is_current_stream_capturing() -> bool:
    """Returns False: work is never captured, as there are no graphs."""
    return False


class Event(torch.Event, metaclass=_OfThisBackend):
    """A point in a stream that others can wait for. Belongs to the device it is first recorded on.

    Args:
        enable_timing: `elapsed_time` can be asked for.
        blocking: no effect; the backend decides how the host waits.
        interprocess: not offered.

    Raises:
        NotImplementedError: `interprocess` was asked for.
    """

    def __new__(  # type: ignore[misc]
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> torch.Event:
        if interprocess:
            raise NotImplementedError(f"{binding.name()} has no events between processes")
        # elapsed_time() takes no subclass.
        return torch.Event(binding.name(), enable_timing=enable_timing, blocking=blocking)


def current_stream(device: DeviceLike = None) -> torch.Stream:
    """Returns the calling thread's current stream of `device`. Opens nothing.

    Errors: as Stream.
    """
    return torch.accelerator.current_stream(checked_index(device))


def default_stream(device: DeviceLike = None) -> torch.Stream:
    """Returns the stream of `device` that is current until set_stream. Errors: as Stream."""
    return _stream(checked_index(device), 0)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes `stream`, and its device, current in the calling thread. None changes nothing.

    Raises:
        RuntimeError: a stream of another device type.
    """
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: `stream` and its device are current inside; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._outside: list[tuple[torch.Stream, int]] = []

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            outside = current_stream(self.stream.device), binding.current_device()
            set_stream(self.stream)
            self._outside.append(outside)
        return self.stream

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            previous, index = self._outside.pop()
            set_stream(previous)
            binding.exchange_device(index)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Returns a StreamContext of `stream`."""
    return StreamContext(stream)
