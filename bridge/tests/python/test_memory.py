# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Device memory as PyTorch sees it: statistics, out of memory, reuse, copy on write."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

MIB = 1 << 20


@pytest.fixture(autouse=True)
def opened(device: torch.device) -> None:
    """A device that is not open has no statistics."""
    torch.empty(1, device=device)


def stat(device: torch.device, name: str) -> int:
    return int(torch.accelerator.memory_stats(device)[name])


def test_what_tensors_use_is_counted(device: torch.device) -> None:
    gc.collect()
    allocated, requested = (
        stat(device, f"{kind}_bytes.all.current") for kind in ("allocated", "requested")
    )
    tensor = torch.empty(1000, dtype=torch.uint8, device=device)
    assert stat(device, "requested_bytes.all.current") == requested + 1000
    assert torch.accelerator.memory_allocated(device) >= allocated + 1000
    del tensor
    assert torch.accelerator.memory_allocated(device) == allocated
    assert stat(device, "requested_bytes.all.current") == requested


def test_peaks_and_counts_start_again(device: torch.device) -> None:
    kept = torch.empty(100, device=device)
    torch.empty(MIB, device=device)
    torch.accelerator.reset_peak_memory_stats(device)
    torch.accelerator.reset_accumulated_memory_stats(device)
    assert torch.accelerator.max_memory_allocated(device) == torch.accelerator.memory_allocated(
        device
    )
    assert stat(device, "allocation.all.allocated") == 0
    del kept
    assert stat(device, "allocation.all.freed") == 1


def test_devices_are_counted_apart(device: torch.device, other_device: torch.device) -> None:
    before = torch.accelerator.memory_allocated(device)
    tensor = torch.empty(MIB, device=other_device)
    assert tensor.device == other_device
    assert torch.accelerator.memory_allocated(device) == before


def test_freed_memory_is_used_again(device: torch.device) -> None:
    torch.empty(3000, device=device)
    calls = stat(device, "num_device_alloc")
    for _ in range(10_000):
        torch.empty(3000, device=device)
    assert stat(device, "num_device_alloc") == calls


def test_empty_cache_gives_back_what_is_free_and_nothing_else(
    backend: DeviceModule, device: torch.device
) -> None:
    kept = torch.full((1000,), 3, device=device)
    torch.empty(8 * MIB, device=device)
    backend.empty_cache()
    reserved = torch.accelerator.memory_reserved(device)
    assert 0 < torch.accelerator.memory_allocated(device) <= reserved
    assert reserved == stat(device, "active_bytes.all.current") + stat(
        device, "inactive_split_bytes.all.current"
    )
    assert bool((kept.cpu() == 3).all())


def test_a_limit_ends_in_one_clear_error(backend: DeviceModule, device: torch.device) -> None:
    backend.empty_cache()
    kept = torch.full((1000,), 3, device=device)
    failures = stat(device, "num_ooms")
    backend.set_memory_limit(torch.accelerator.memory_reserved(device) + 4 * MIB)
    message = r"8\.00 MiB.*In use.*limit"
    if backend.capabilities()["memory info"].source != "none":
        message = r"8\.00 MiB.*In use.*; the device has [\d.]+ \w+ free of [1-9][\d.]* \w+.*limit"
    try:
        with pytest.raises(torch.OutOfMemoryError, match=message):
            torch.empty(8 * MIB, dtype=torch.uint8, device=device)
        torch.empty(MIB, dtype=torch.uint8, device=device)
    finally:
        backend.set_memory_limit(None)
    assert stat(device, "num_ooms") == failures + 1
    assert bool((kept.cpu() == 3).all())


@pytest.mark.parametrize("part", [20_000, MIB // 2, 3 * MIB, 11 * MIB])
def test_a_limit_is_of_all_segments_together(
    part: int, backend: DeviceModule, device: torch.device
) -> None:
    backend.empty_cache()
    limit = torch.accelerator.memory_reserved(device) + 32 * MIB
    held: list[torch.Tensor] = []

    def fill() -> None:
        while len(held) * part <= 2 * limit:
            held.append(torch.empty(part, dtype=torch.uint8, device=device))

    backend.set_memory_limit(limit)
    try:
        for _ in range(2):
            with pytest.raises(torch.OutOfMemoryError):
                fill()
            assert torch.accelerator.memory_reserved(device) <= limit
            assert 0 < len(held) * part <= limit
            held.clear()  # what was given back counts no more
        torch.empty(24 * MIB, dtype=torch.uint8, device=device)
    finally:
        backend.set_memory_limit(None)


@pytest.mark.parametrize("elements", [1 << 45, (1 << 63) - 1])
def test_absurd_sizes_are_out_of_memory(device: torch.device, elements: int) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(elements, dtype=torch.uint8, device=device)
    assert torch.ones(3, device=device).sum().item() == 3


def test_no_bytes_need_no_memory(device: torch.device) -> None:
    before = stat(device, "allocation.all.allocated")
    tensor = torch.empty(0, 5, device=device)
    assert tensor.data_ptr() == 0
    assert tensor.device == device
    assert stat(device, "allocation.all.allocated") == before


def test_tensors_may_be_freed_in_another_thread(device: torch.device) -> None:
    tensors = [torch.empty(1000, device=device) for _ in range(100)]
    gone = weakref.ref(tensors[0])
    before = torch.accelerator.memory_allocated(device)
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert gone() is None
    assert torch.accelerator.memory_allocated(device) < before


def test_record_stream_takes_any_stream_and_memory(device: torch.device) -> None:
    tensor = torch.full((1000,), 3, device=device)
    for stream in (torch.Stream(device), torch.accelerator.current_stream(device)):
        tensor.record_stream(stream)
        tensor[5:].record_stream(stream)
    torch.empty(0, device=device).record_stream(torch.Stream(device))
    assert bool((tensor.cpu() == 3).all())


def test_lazy_clones_are_copied_when_one_is_written_to(
    device: torch.device, other_device: torch.device
) -> None:
    for place in (device, other_device):
        tensor = torch.arange(1000, device=place)
        clone = torch._lazy_clone(tensor)
        clone.add_(1)
        assert clone.device == place
        assert torch.equal(tensor.cpu(), torch.arange(1000))
        assert torch.equal(clone.cpu(), torch.arange(1000) + 1)
        tensor.add_(2)  # the last one takes the memory over
        assert torch.equal(tensor.cpu(), torch.arange(1000) + 2)


def test_the_memory_profiler_hears_of_it(device: torch.device) -> None:
    with profile(  # 2.11 warns of events that are not kept
        activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True
    ) as profiled:
        torch.empty(MIB, dtype=torch.uint8, device=device)
    sizes = [event.device_memory_usage for event in profiled.events()]
    assert MIB in sizes or -MIB in sizes, sizes


def test_an_index_out_of_range_is_named(backend: DeviceModule) -> None:
    count = backend.device_count()
    with pytest.raises(RuntimeError, match=str(count)):
        torch._C._accelerator_getDeviceStats(count)


def test_nothing_is_opened_to_be_counted(
    child: Callable[..., str], library: str, backend_options: str
) -> None:
    program = """
import sys, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
print(torch.accelerator.memory_allocated(0), dict(torch.accelerator.memory_stats(0)))
torch.accelerator.empty_cache()
print(torch._C._accelerator_isAllocatorInitialized())
kept = torch.ones(1000, device=module.backend_name)
"""
    assert child(program, library, backend_options).split("\n")[:2] == ["0 {}", "False"]
