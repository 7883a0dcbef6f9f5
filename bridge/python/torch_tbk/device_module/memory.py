# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Memory of the devices, and pinned memory of the host: what is used, and how much may be.

All sizes are in bytes. The figures are those of torch.accelerator. Where `device` is not given it
is the current one; every function raises ValueError for a device of another type and RuntimeError
where there is no such device. Only `mem_get_info` opens a device, and
`set_per_process_memory_fraction` where the properties do not say how much there is.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_tbk._binding import binding
from torch_tbk.device_module import device as _device
from torch_tbk.device_module._utils import DeviceLike, checked_index


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Returns the caching allocator's statistics, as torch.accelerator.memory_stats describes
    them."""
    return torch.accelerator.memory_stats(checked_index(device))


def memory_allocated(device: DeviceLike = None) -> int:
    """Returns what tensors use now."""
    return torch.accelerator.memory_allocated(checked_index(device))


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Returns the most that tensors have used since the start, or reset_peak_memory_stats."""
    return torch.accelerator.max_memory_allocated(checked_index(device))


def memory_reserved(device: DeviceLike = None) -> int:
    """Returns what is held of the device now: used by tensors, or cached."""
    return torch.accelerator.memory_reserved(checked_index(device))


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Returns the most that has been held since the start, or reset_peak_memory_stats."""
    return torch.accelerator.max_memory_reserved(checked_index(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Lets the peaks start from what is in use now."""
    torch.accelerator.reset_peak_memory_stats(checked_index(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Lets the counts of what was allocated and freed start from 0."""
    torch.accelerator.reset_accumulated_memory_stats(checked_index(device))


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back to the backend, on all devices that are open."""
    torch.accelerator.empty_cache()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Returns what is free on the device, for every process, and what there is in total. Opens it.

    Raises:
        NotImplementedError: the backend can't tell.
    """
    return torch.accelerator.get_memory_info(checked_index(device))


def set_memory_limit(limit: int | None, device: DeviceLike = None) -> None:
    """Never hold more than `limit` bytes of the device; None: no limit.

    What is held above it already stays. An allocation that would pass it raises
    torch.OutOfMemoryError.

    Raises:
        ValueError: the limit is not positive.
    """
    if limit is not None and limit <= 0:
        raise ValueError(f"a memory limit is a positive number of bytes, or None; got {limit}")
    binding.set_memory_limit(checked_index(device), limit or 0)


def get_memory_limit(device: DeviceLike = None) -> int | None:
    """Returns the limit in bytes that set_memory_limit has set; None where there is none."""
    return binding.memory_limit(checked_index(device)) or None


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Limits what is held to a part of the device's memory.

    Opens the device where the total stands not in its properties.

    Args:
        fraction: more than 0 and at most 1.

    Raises:
        ValueError: the fraction is out of range.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"a fraction of memory is more than 0 and at most 1; got {fraction}")
    index = checked_index(device)
    total = _device.get_device_properties(index).total_memory or mem_get_info(index)[1]
    binding.set_memory_limit(index, max(1, int(fraction * total)))


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """Returns the part of the device's memory that the limit is; 1.0 where there is none.

    Opens the device where the total stands not in its properties, and there is a limit.
    """
    index = checked_index(device)
    limit = get_memory_limit(index)
    if limit is None:
        return 1.0
    total = _device.get_device_properties(index).total_memory or mem_get_info(index)[1]
    return min(1.0, limit / total)


def ipc_collect() -> None:
    """Does nothing: no memory of these devices is shared between processes."""


def host_memory_stats() -> dict[str, int]:
    """Returns what pinned memory of the host is in use and cached. Opens nothing."""
    return binding.host_memory_stats()


def _nested(stats: dict[str, Any]) -> dict[str, Any]:
    """{"a.b": 1} as {"a": {"b": 1}}."""
    result: dict[str, Any] = {}
    for key, value in stats.items():
        *folders, last = key.split(".")
        place = result
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return result


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    """Returns memory_stats with a dictionary for each part of a name."""
    return _nested(memory_stats(device))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Returns host_memory_stats with a dictionary for each part of a name."""
    return _nested(host_memory_stats())


def reset_accumulated_host_memory_stats() -> None:
    """Lets the counts of host_memory_stats start from 0."""
    binding.reset_accumulated_host_memory_stats()


def reset_peak_host_memory_stats() -> None:
    """Lets the peaks of host_memory_stats start from what is in use now."""
    binding.reset_peak_host_memory_stats()


def reset_host_memory_stats() -> None:
    """Lets the peaks of host_memory_stats start from now, and its counts from 0."""
    reset_accumulated_host_memory_stats()
    reset_peak_host_memory_stats()


def empty_host_cache() -> None:
    """Gives cached pinned memory back to the backend."""
    binding.empty_host_cache()


def memory_summary(device: DeviceLike = None) -> str:
    """Returns the main figures of memory_stats as a table for people."""
    index = checked_index(device)
    stats = memory_stats(index)
    rows = [
        ("allocated", "allocated_bytes"),
        ("active", "active_bytes"),
        ("reserved", "reserved_bytes"),
        ("inactive, split", "inactive_split_bytes"),
    ]
    lines = [f"{binding.name()}:{index}, in bytes{'current':>19} {'peak':>16}"]
    for title, key in rows:
        current, peak = (stats.get(f"{key}.all.{kind}", 0) for kind in ("current", "peak"))
        lines.append(f"{title:<20}{current:>16} {peak:>16}")
    retries, failures = stats.get("num_alloc_retries", 0), stats.get("num_ooms", 0)
    return "\n".join([*lines, f"{retries} retries, {failures} times out of memory"])
