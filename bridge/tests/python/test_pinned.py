# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Pinned memory of the host, where the backend has it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


@pytest.fixture
def pinning(backend: DeviceModule) -> DeviceModule:
    """Returns the backend, which has pinned memory: what it says without is test_module's."""
    if backend.capabilities()["pinned memory"].source == "none":
        pytest.skip("the backend declares no pinned memory")
    return backend


def test_views_of_pinned_memory_are_pinned(pinning: DeviceModule) -> None:
    plain, pinned = torch.arange(100), torch.arange(100).pin_memory()
    assert pinned.is_pinned()
    assert pinned[99:].is_pinned()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 2.11 needs a device, and warns of it
        assert pinned.untyped_storage().is_pinned(pinning.backend_name)
    assert pinned.numpy().sum() == 4950
    assert pinned.device == torch.device("cpu")
    assert not plain.is_pinned()
    assert not torch.empty(0).is_pinned()
    assert not torch.empty(3, device=pinning.backend_name).is_pinned()


def test_pinned_memory_is_used_again(pinning: DeviceModule) -> None:
    torch.empty(1000, pin_memory=True)
    calls = pinning.host_memory_stats()["num_host_alloc"]
    for _ in range(100):
        torch.empty(1000, pin_memory=True)
    assert pinning.host_memory_stats()["num_host_alloc"] == calls


def test_the_cache_is_given_back_and_what_is_in_use_stays(
    pinning: DeviceModule, is_pinned_counted_down: bool
) -> None:
    kept = torch.full((1000,), 3).pin_memory()
    torch.empty(1 << 20, pin_memory=True)
    pinning.empty_host_cache()
    stats = pinning.host_memory_stats()
    if is_pinned_counted_down:
        assert stats["allocations.current"] == stats["active_requests.current"]
    assert kept.is_pinned()
    assert bool((kept == 3).all())


def test_freed_pinned_memory_waits_for_its_copy(
    pinning: DeviceModule, device: torch.device
) -> None:
    moved = []
    for value in range(50):
        host = torch.full((100_000,), value).pin_memory()
        moved.append(host.to(device, non_blocking=True))
        del host  # the next one may take its place
    for value, tensor in enumerate(moved):
        assert bool((tensor.cpu() == value).all())


def test_a_device_tensor_cannot_be_pinned(pinning: DeviceModule, device: torch.device) -> None:
    with pytest.raises(RuntimeError, match=r"[Oo]nly dense CPU tensors can be pinned"):
        torch.empty(3, device=device, pin_memory=True)


def test_a_data_loader_pins_what_its_workers_make(
    child: Callable[..., str], pinning: DeviceModule, library: str, backend_options: str
) -> None:
    program = """
import sys, torch, torch_tbk
from torch.utils.data import DataLoader, TensorDataset
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, pin_memory=True, num_workers=1)
batches = [batch for [batch] in loader]
print(all(batch.is_pinned() for batch in batches))
print(sum(batch.to(module.backend_name, non_blocking=True).sum().item() for batch in batches))
"""
    assert child(program, library, backend_options).split() == ["True", "28.0"]


def test_a_data_loader_pins_here(pinning: DeviceModule, device: torch.device) -> None:
    loader = DataLoader(TensorDataset(torch.arange(8)), batch_size=4, pin_memory=True)
    assert all(batch.is_pinned() for [batch] in loader)
    assert pinning.current_device() == device.index


def test_what_is_cached_is_given_back_before_memory_runs_out(
    child: Callable[..., str], library: str
) -> None:
    if Path(library).name != "libtbk_cpu.so":
        pytest.skip("nothing says how much the backend pins")
    program = """
import sys, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options="pinned=16M")
for kib in (4, 400, 6000, 15000, 9000, 3):
    host = torch.arange(kib << 10, dtype=torch.uint8).pin_memory()
    assert torch.equal(host.to(module.backend_name, non_blocking=True).cpu(), host)
    del host
kept = torch.ones(9000 << 10, dtype=torch.uint8).pin_memory()
try:
    torch.ones(3, dtype=torch.uint8).pin_memory()
except torch.OutOfMemoryError:
    print("no more", kept.sum().item())
"""
    assert child(program, library).split() == ["no", "more", str(9000 << 10)]


def test_asking_opens_nothing(
    child: Callable[..., str], library: str, backend_options: str
) -> None:
    program = """
import sys, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
print(torch.ones(3).is_pinned(), torch._C._accelerator_isAllocatorInitialized())
"""
    assert child(program, library, backend_options).split() == ["False", "False"]
