# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a device has: words, each with a probe. Facts are asked of the device, never of its name."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import torch
from torch.autograd import profiler as autograd_profiler

from tbk_contracts.torch import host, process
from tbk_contracts.torch.case import DTYPES
from tbk_contracts.torch.operators import subnormal

Probe = Callable[[torch.device], bool]
MODULE = ("device_count", "current_device", "set_device", "synchronize", "get_rng_state",
          "set_rng_state", "manual_seed_all")  # fmt: skip
SMALL_ENOUGH = 64 << 30  # bytes: a device whose memory a test may fill


@dataclass(frozen=True)
class Answer:
    """Whether a word holds of a device; the reason is what the probe raised, if it did."""

    held: bool
    reason: str = ""


def _module(device: torch.device) -> Any:
    return torch.get_device_module(device)


def _is_accelerator(device: torch.device) -> bool:
    current = torch.accelerator.current_accelerator()
    return current is not None and current.type == device.type


def _has_module(device: torch.device) -> bool:
    return all(hasattr(_module(device), name) for name in MODULE)


def _works_in_a_fork(device: torch.device) -> bool:
    """Asked before the first use. A driver may start threads when its devices are counted; then a
    forked child waits for ever, which no test but those of forking may be failed for."""
    sent = host.counting((4,))
    ended = process.in_fork(
        lambda: torch.equal(host.download(host.upload(sent, device)), sent), process.PROBE_S
    )
    if ended.error:
        raise RuntimeError(f"in a forked child: {ended.error}")
    return ended.value is True and ended.exit_code == 0


def _is_renamed(device: torch.device) -> bool:
    return device.type == torch._C._get_privateuse1_backend_name()


def _is_autoloaded(device: torch.device) -> bool:
    """A package that was imported declares itself to PyTorch; there is one device of this kind."""
    declared = {entry.module.partition(".")[0] for entry in entry_points(group="torch.backends")}
    return _is_renamed(device) and not declared.isdisjoint(sys.modules)


def _has_two_devices(device: torch.device) -> bool:
    return device.type != "cpu" and int(_module(device).device_count()) > 1


def _has_streams(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    own, current = torch.Stream(device), torch.accelerator.current_stream(device)
    return own.device.type == device.type and own.stream_id != current.stream_id


def native_handle(stream: torch.Stream) -> object:
    """Returns the handle of the vendor's runtime; NotImplementedError where there is none."""
    return stream.native_handle  # type: ignore[attr-defined]  # torch's stubs lack it


def _has_native_handles(device: torch.device) -> bool:
    return _has_streams(device) and isinstance(native_handle(torch.Stream(device)), int)


def _has_events(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    event = torch.Event(device)
    event.record(torch.accelerator.current_stream(device))
    event.synchronize()
    return True  # that it is complete now is for a test to say


def _has_event_timing(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    first, last = (torch.Event(device, enable_timing=True) for _ in range(2))
    for event in (first, last):
        event.record(torch.accelerator.current_stream(device))
        event.synchronize()
    return isinstance(first.elapsed_time(last), float)


def _is_asynchronous(device: torch.device) -> bool:
    """Work is pending when the call returns. A chain of operators is long enough to be seen."""
    return _is_accelerator(device) and any(_was_pending(device) for _ in range(4))


def _was_pending(device: torch.device) -> bool:
    """One try: a host that is held up asks when all is done, however the device works."""
    work = host.upload(host.values((256, 256)), device)
    for _ in range(64):
        work = work @ work
    event = torch.Event(device)
    event.record(torch.accelerator.current_stream(device))
    pending = not event.query()
    event.synchronize()
    return pending


def _has_pinned_memory(device: torch.device) -> bool:
    """There is an allocator. That it pins, and says so, is for the tests."""
    return _is_accelerator(device) and torch.empty(16, pin_memory=True).numel() == 16


def _has_memory_stats(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    return isinstance(torch.accelerator.memory_allocated(device), int)


def _memory_info(device: torch.device) -> tuple[int, int]:
    free, total = torch.accelerator.get_memory_info(device)
    return int(free), int(total)


def _has_memory_info(device: torch.device) -> bool:
    return _is_accelerator(device) and 0 <= _memory_info(device)[0] <= _memory_info(device)[1]


def _can_run_out(device: torch.device) -> bool:
    return _has_memory_info(device) and 0 < _memory_info(device)[1] <= SMALL_ENOUGH


def _has_generator(device: torch.device) -> bool:
    return torch.Generator(device).device.type == device.type


def _has_autocast(device: torch.device) -> bool:
    """PyTorch answers for a whole device type; what is computed in must be there, too."""
    if not torch.amp.is_autocast_available(device.type):
        return False
    return _goes_round(torch.get_autocast_dtype(device.type), device)


def _has_initialisation(device: torch.device) -> bool:
    return _is_accelerator(device) and hasattr(_module(device), "is_initialized")


def _denies_addresses(device: torch.device) -> bool:
    """Tells whether the device's properties speak of flat addresses, and say that it has none."""
    with contextlib.suppress(Exception):  # what it does not say is found out
        return not getattr(_module(device).get_device_properties(device), "flat_address", True)
    return False


def _has_addresses(device: torch.device) -> bool:
    """Live tensors lie apart. Handles that are no addresses are nearer than tensors are large.

    A handle may be the address of a record on the host's heap, and a few of those can lie far
    apart, where others were freed; of more than the heap keeps for reuse, two are neighbours. Where
    the memory comes from the same heap, records lie between blocks: then the properties may tell.
    """
    if _denies_addresses(device):
        return False
    size = 1 << 16
    held = [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(32)]
    places = sorted(tensor.data_ptr() for tensor in held)
    return all(later - place >= size for place, later in itertools.pairwise(places))


def _copies_on_write(device: torch.device) -> bool:
    clone = torch._lazy_clone(host.upload(host.values((8,)), device))
    return bool(torch._C._is_cow_tensor(clone))  # type: ignore[attr-defined]


def _has_device_interface(device: torch.device) -> bool:
    if _is_renamed(device) and "torch._dynamo.device_interface" not in sys.modules:
        return False  # whoever registers one has imported that
    from torch._dynamo.device_interface import get_interface_for_device  # noqa: PLC0415  # slow

    return get_interface_for_device(device.type) is not None


def _has_profiler(device: torch.device) -> bool:
    """Device time is measured. By what torch.profiler.profile asks in its turn, which first imports
    PyTorch's compiler, for seconds, only to look at a setting of it."""
    if not _is_accelerator(device):
        return False
    work = host.upload(host.values((64, 64)), device)
    found = torch.profiler.profile(activities=torch.profiler.supported_activities())
    with autograd_profiler.profile(use_device=found.use_device, use_kineto=True) as profiler:
        (work @ work).sum().item()
    return any(row.self_device_time_total > 0 for row in profiler.key_averages())


def _tells_capability(device: torch.device) -> bool:
    """A guard need not tell: PyTorch's own answer is that the backend does not support it."""
    if not _is_accelerator(device):
        return False
    return isinstance(torch.accelerator.get_device_capability(device)["supported_dtypes"], set)


def _tells_bad_fork(device: torch.device) -> bool:
    """PyTorch does without the function: it warns that seeds have no effect."""
    return callable(getattr(_module(device), "_is_in_bad_fork", None))


def properties(device: torch.device) -> Any:
    """Returns what its module says of it; None where the module says nothing."""
    ask = getattr(_module(device), "get_device_properties", None)
    return None if ask is None else ask(device)


def is_exclusive(device: torch.device) -> bool:
    """Returns whether its properties say that one process at a time may have it."""
    return getattr(properties(device), "exclusive", False) is True


def _counts_fallbacks(device: torch.device) -> bool:
    return callable(getattr(_module(device), "fallbacks", None))


def _goes_round(dtype: torch.dtype, device: torch.device) -> bool:
    sent = host.counting((8,), dtype)
    return bool(torch.equal(host.download(host.upload(sent, device)), sent))


def _has_dtype(name: str) -> Probe:
    dtype: torch.dtype = getattr(torch, name)

    return lambda device: _goes_round(dtype, device)


FORK = "fork"  # asked in a process of its own

WORDS: dict[str, tuple[str, Probe]] = {
    "fork": ("a child that is forked before the first use may use it", _works_in_a_fork),
    "accelerator": ("torch.accelerator answers with it", _is_accelerator),
    "module": ("torch.<name> has the functions of a device module", _has_module),
    "privateuse1": ("PyTorch knows it by a package of its own, not by its own code", _is_renamed),
    "autoload": ("its package declares it to PyTorch, for `import torch` alone", _is_autoloaded),
    "two_devices": ("there are two of them", _has_two_devices),
    "stream": ("it has streams beside the default one", _has_streams),
    "native_handle": ("streams tell the handle of the vendor's runtime", _has_native_handles),
    "event": ("it has events", _has_events),
    "event_timing": ("events measure time", _has_event_timing),
    "async": ("work may be pending when a call returns", _is_asynchronous),
    "pinned": ("it has pinned host memory", _has_pinned_memory),
    "memory_stats": ("its allocator counts", _has_memory_stats),
    "memory_info": ("it says how much memory is free", _has_memory_info),
    "oom": ("its memory is small enough to be filled by a test", _can_run_out),
    "generator": ("it has a random number generator", _has_generator),
    "autocast": ("autocast knows it, and it has autocast's dtype", _has_autocast),
    "lazy": ("it tells whether it has been initialised", _has_initialisation),
    "addresses": ("pointers of its tensors are addresses, of each byte", _has_addresses),
    "cow": ("lazy clones of its tensors share memory until one is written", _copies_on_write),
    "profiler": ("the profiler measures its time", _has_profiler),
    "device_interface": ("torch._dynamo knows it", _has_device_interface),
    "capability_query": ("it tells which dtypes it supports", _tells_capability),
    "bad_fork": ("its module tells a forked child whether it may use it", _tells_bad_fork),
    "fallback_count": ("its module counts what fell back to the host", _counts_fallbacks),
    "subnormals": ("subnormal numbers are kept", subnormal.kept),
    # Of these PyTorch 2.11 has none, whatever the device.
    "host_cache": ("PyTorch can be told to give its cache of pinned memory back",
                   lambda _: hasattr(torch.accelerator, "empty_host_cache")),
    "capture": ("PyTorch's streams tell whether they are captured",
                lambda _: hasattr(torch.Stream, "is_capturing")),
    "graph": ("PyTorch has graphs for devices of any kind",
              lambda _: hasattr(torch.accelerator, "Graph")),
    "exclusive": ("its properties say that one process at a time may have it", is_exclusive),
    **{f"dtype:{name}": (f"tensors of {name} can be copied to it and back", _has_dtype(name))
       for name in DTYPES},
}  # fmt: skip
"""Each word, what it means, and its probe, in the order in which they are asked."""


def probe(word: str, device: torch.device) -> Answer:
    """Asks `device` for one word. An exception is a no, with its text."""
    try:
        return Answer(WORDS[word][1](device))
    except Exception as error:
        return Answer(False, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")


def probe_all(device: torch.device) -> dict[str, Answer]:
    """Asks for every word."""
    return {word: probe(word, device) for word in WORDS}
