# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Pinned memory, and a DataLoader that pins what it loads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


@pytest.fixture
def pinned(backend: DeviceModule) -> Iterator[DeviceModule]:
    """Returns a backend that has pinned memory; what was freed is counted as free afterwards."""
    if backend.capabilities()["pinned memory"].source != "native":
        pytest.skip("the backend declares no pinned memory")
    yield backend
    backend.synchronize()
    backend.empty_host_cache()


def test_pinned_tensors(pinned: DeviceModule, device: torch.device) -> None:
    host = torch.arange(6.0)
    assert not host.is_pinned()
    there = host.pin_memory()
    assert there.is_pinned()
    assert there[2:4].is_pinned()
    assert torch.equal(there, host)
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert not torch.ones(2, device=device).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device=device).pin_memory()


def test_copies_that_do_not_block_keep_their_order(
    pinned: DeviceModule, device: torch.device
) -> None:
    stream = torch.Stream(device)
    source = torch.arange(100_000.0).pin_memory()
    result = torch.empty(100_000).pin_memory()
    with stream:
        there = source.to(device, non_blocking=True)
        doubled = there * 2
        result.copy_(doubled, non_blocking=True)
        event = torch.Event(device)
        event.record(stream)
    event.synchronize()
    assert torch.equal(result, torch.arange(100_000.0) * 2)


def test_pinned_memory_is_not_used_again_too_early(
    pinned: DeviceModule, device: torch.device
) -> None:
    results = []
    for round_ in range(20):
        source = torch.full((10_000,), float(round_)).pin_memory()
        results.append(source.to(device, non_blocking=True))
        del source
    for round_, result in enumerate(results):
        assert torch.equal(result.cpu(), torch.full((10_000,), float(round_)))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_pins(pinned: DeviceModule, device: torch.device, workers: int) -> None:
    data = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    loader = DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers)
    seen = []
    for values, labels in loader:
        assert values.is_pinned()
        assert labels.is_pinned()
        seen.append(values.to(device, non_blocking=True).sum(1) + labels.to(device))
    total = torch.cat(seen).cpu()
    assert torch.equal(total, torch.tensor([1.0, 6.0, 11.0, 16.0, 21.0, 26.0]))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_without_pinning(device: torch.device, workers: int) -> None:
    loader = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=4, num_workers=workers)
    assert [batch.to(device).sum().item() for (batch,) in loader] == [6, 9]
