# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Storages: growing, shrinking, and tensors that are given another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def test_a_tensor_grows_and_keeps_what_it_holds(device: torch.device) -> None:
    tensor = torch.arange(6.0, device=device)
    tensor.resize_(2, 2)
    assert tensor.tolist() == [[0, 1], [2, 3]]
    assert tensor.untyped_storage().nbytes() == 24
    tensor.resize_(100)
    assert tensor.untyped_storage().nbytes() == 400
    assert tensor[:6].tolist() == [0, 1, 2, 3, 4, 5]
    tensor.resize_(0, 3)
    assert tensor.untyped_storage().nbytes() == 400


def test_a_view_grows_from_its_offset(device: torch.device) -> None:
    base = torch.arange(6.0, device=device)
    view = base[4:]
    view.resize_(10)
    assert view.untyped_storage().nbytes() == 56
    assert view[:2].tolist() == [4, 5]
    assert base.tolist() == [0, 1, 2, 3, 4, 5]


def test_formats_and_errors_of_resizing(device: torch.device) -> None:
    tensor = torch.empty(0, device=device)
    tensor.resize_(1, 2, 3, 4, memory_format=torch.channels_last)
    assert tensor.is_contiguous(memory_format=torch.channels_last)
    with pytest.raises(RuntimeError):
        tensor.resize_(-1)
    with pytest.raises(RuntimeError, match="Tried to allocate"):
        tensor.resize_(2**60)
    assert tensor.shape == (1, 2, 3, 4)


def test_growing_on_another_device_than_the_current(other_device: torch.device) -> None:
    tensor = torch.arange(3.0, device=other_device)
    tensor.resize_(1000)
    assert tensor.device == other_device
    assert tensor.untyped_storage().device == other_device
    assert tensor[:3].tolist() == [0, 1, 2]


def test_a_storage_grows_and_shrinks(backend: DeviceModule, device: torch.device) -> None:
    tensor = torch.arange(8, dtype=torch.uint8, device=device)
    storage = tensor.untyped_storage()
    assert (storage.device, storage.nbytes(), len(storage)) == (device, 8, 8)
    storage.resize_(1000)
    assert storage.nbytes() == 1000
    assert tensor.tolist() == list(range(8))
    allocated = backend.memory_allocated(device)
    storage.resize_(0)
    assert storage.nbytes() == 0
    assert backend.memory_allocated(device) < allocated
    storage.resize_(8)
    tensor.fill_(3)
    assert tensor.tolist() == [3] * 8


def test_set(device: torch.device) -> None:
    source = torch.arange(12.0, device=device).reshape(3, 4)
    tensor = torch.empty(0, device=device)
    tensor.set_(source)  # type: ignore[call-overload]
    assert tensor.is_set_to(source)
    tensor.set_(source.untyped_storage(), 2, (2, 2), (4, 1))
    assert tensor.tolist() == [[2, 3], [6, 7]]
    tensor.set_(source.untyped_storage())
    assert tensor.shape == (12,)
    tensor[5] = 50
    assert source[1, 1].item() == 50
    tensor.set_()  # type: ignore[call-overload]
    assert tensor.numel() == 0
    assert tensor.device == device


def test_set_is_refused(device: torch.device, other_device: torch.device) -> None:
    source, tensor = torch.arange(3.0, device=other_device), torch.empty(0, device=device)
    with pytest.raises(RuntimeError, match="different device"):
        tensor.set_(source.untyped_storage(), 0, (3,), (1,))
    with pytest.raises(RuntimeError, match="invalid storage offset"):
        tensor.set_(tensor.untyped_storage(), -1, (0,), (1,))
    assert tensor.shape == (0,)


def test_bytes_of_a_storage(device: torch.device) -> None:
    storage = torch.arange(4, dtype=torch.uint8, device=device).untyped_storage()
    assert storage.tolist() == [0, 1, 2, 3]
    storage[2] = 9
    assert storage[2] == 9
    storage.fill_(5)  # type: ignore[attr-defined]
    assert storage.cpu().tolist() == [5] * 4
    clone = storage.clone()
    assert clone.device == device
    clone[0] = 1
    assert storage[0] == 5
    other = torch.UntypedStorage(4, device=device)
    other.copy_(clone)
    assert other.tolist() == [1, 5, 5, 5]


def test_fill_and_zero(backend: DeviceModule, device: torch.device) -> None:
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.uint16):
        host, there = torch.ones(4, 6).to(dtype), torch.ones(4, 6).to(dtype).to(device)
        for each in (host, there):
            each[:, 1].zero_()
            each[2].fill_(0)
            each.t()[3].fill_(True)
        assert torch.equal(there.cpu(), host)
        assert not there.zero_().cpu().to(torch.bool).any()
    value = torch.tensor(7.0)
    assert torch.empty(2, device=device).fill_(value).tolist() == [7, 7]
    assert torch.empty(2, device=device).fill_(value.to(device)).tolist() == [7, 7]
    with pytest.raises(RuntimeError, match="0-dimension"):
        torch.empty(2, device=device).fill_(torch.ones(2))
    assert torch.ones(1, device=device).expand(3).fill_(2).tolist() == [2, 2, 2]


def test_resizing_follows_the_stream(device: torch.device) -> None:
    stream = torch.Stream(device)
    with stream:
        for round_ in range(20):
            tensor = torch.full((10_000,), float(round_), device=device)
            tensor.resize_(20_000)
            torch.full((10_000,), -1.0, device=device)
            assert torch.equal(tensor[:10_000].cpu(), torch.full((10_000,), float(round_)))


def test_what_a_storage_was_is_not_reused_while_it_is_copied(device: torch.device) -> None:
    """PyTorch asks for record_stream() there; the bridge needs none."""
    late, own = torch.Stream(device), torch.Stream(device)
    with own:
        tensor = torch.ones(300_000, device=device)
    own.synchronize()
    before = tensor.data_ptr()
    with late:
        square = torch.ones(400, 400, device=device)
        for _ in range(8):
            square = square @ square
        tensor.untyped_storage().resize_(8 * tensor.nbytes)
    with own:
        fresh = torch.empty(300_000, device=device)
    assert fresh.data_ptr() != before or late.query()
    late.synchronize()
