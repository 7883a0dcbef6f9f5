# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors: how they come to be, what they say of themselves, and how a number leaves them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

DTYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool, torch.bfloat16,
    torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2,
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_new_tensor_of_any_dtype(device: torch.device, dtype: torch.dtype) -> None:
    tensor = torch.empty(2, 3, dtype=dtype, device=device)
    assert (tensor.shape, tensor.dtype, tensor.device) == ((2, 3), dtype, device)
    assert tensor.is_contiguous()
    assert tensor.untyped_storage().nbytes() == 6 * dtype.itemsize
    strided = torch.empty_strided((2, 3), (1, 4), dtype=dtype, device=device)
    assert strided.stride() == (1, 4)
    assert strided.untyped_storage().nbytes() == 10 * dtype.itemsize


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_number_leaves_it(device: torch.device, dtype: torch.dtype) -> None:
    host = torch.tensor([0, 1, 1], dtype=torch.float32).to(dtype)
    tensor = host.to(device)
    assert [tensor[i].item() for i in range(3)] == [host[i].item() for i in range(3)]
    assert type(tensor[1].item()) is type(host[1].item())
    assert tensor.tolist() == host.tolist()


def test_a_number_of_a_view_leaves_it(device: torch.device) -> None:
    host = torch.complex(torch.arange(4.0), -torch.arange(4.0))
    tensor = host.to(device)
    assert tensor.conj()[2].item() == 2 + 2j
    assert tensor.conj().imag[3].item() == 3
    assert bool(tensor[1] == host[1].to(device))
    assert int(tensor.real[3]) == 3
    with pytest.raises(RuntimeError):
        tensor.item()
    with pytest.raises(RuntimeError):
        torch.empty(0, device=device).item()


def test_sizes_and_formats(device: torch.device) -> None:
    assert torch.empty(0, device=device).shape == (0,)
    assert torch.empty((), device=device).shape == ()
    assert torch.empty(3, 0, 4, device=device).numel() == 0
    last = torch.empty(2, 3, 4, 5, device=device, memory_format=torch.channels_last)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert torch.empty_like(last).stride() == last.stride()
    assert torch.empty_like(torch.ones(2, 3), device=device).device == device
    assert last.new_empty(2).device == device


@pytest.mark.parametrize("arguments", [{"layout": torch.sparse_coo}, {"pin_memory": True}])
def test_what_cannot_be_made(device: torch.device, arguments: dict[str, object]) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.empty(3, device=device, **arguments)  # type: ignore[call-overload]


def test_wrong_sizes_are_refused(backend: DeviceModule, device: torch.device) -> None:
    allocated = backend.memory_allocated(device)
    for sizes in ([-1], [2**62, 4]):
        with pytest.raises(RuntimeError):
            torch.empty(sizes, device=device)
    with pytest.raises(RuntimeError):
        torch.empty_strided((2, 3), (1,), device=device)
    with pytest.raises(RuntimeError):
        torch.empty(3, device=f"{device.type}:{backend.device_count()}")
    assert backend.memory_allocated(device) == allocated


def test_the_current_device_is_where_it_goes(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    assert torch.empty(1, device=device.type).device == device
    with backend.device(other_device):
        assert torch.empty(1, device=device.type).device == other_device
        assert torch.empty(1, device=device).device == device
    with torch.device(other_device):
        assert torch.ones(2).device == other_device


def test_deterministic_algorithms_fill(device: torch.device) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3, device=device).isnan().all()
        assert torch.empty(3, device=device, dtype=torch.int8).tolist() == [127] * 3
        grown = torch.zeros(2, device=device).resize_(4).cpu()
        assert torch.equal(grown.isnan(), torch.tensor([False, False, True, True]))
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_module_keeps_its_parameters(device: torch.device) -> None:
    module = torch.nn.Linear(3, 2)
    weight = module.weight
    before = weight.detach().clone()
    module.to(device)
    assert module.weight is weight
    assert weight.device == device
    assert torch.equal(weight.detach().cpu(), before)
    weight.data = weight.data * 2
    module.cpu()
    assert module.weight is weight
    assert torch.equal(weight.detach(), before * 2)


def test_what_is_the_same(device: torch.device) -> None:
    one, two = torch.ones(3, device=device), torch.ones(3, device=device)
    assert one.is_set_to(one.view(3))
    assert not one.is_set_to(two)
    assert torch.equal(one, two)
    assert not torch.equal(one, two[:2])
    assert one.data_ptr() != two.data_ptr()


def test_a_deep_copy_keeps_what_is_shared(device: torch.device) -> None:
    base = torch.arange(6.0, device=device)
    both = copy.deepcopy([base, base[2:4]])
    both[0][2] = 100
    assert both[1].tolist() == [100, 3]
    assert base.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_lazy_clone_is_copied_when_written(device: torch.device) -> None:
    base = torch.arange(6.0, device=device)
    lazy = torch.ops.aten._lazy_clone(base)
    assert torch.equal(lazy.cpu(), base.cpu())
    lazy.fill_(7)
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    assert lazy.tolist() == [7] * 6


def test_a_lazy_clone_is_copied_when_the_host_writes(device: torch.device) -> None:
    base = torch.arange(6.0, device=device)
    lazy = torch.ops.aten._lazy_clone(base)
    lazy.logical_not_()  # by the fallback
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    assert lazy.tolist() == [1, 0, 0, 0, 0, 0]


def test_reading_leaves_lazy_clones(device: torch.device) -> None:
    base = torch.arange(4.0, device=device).view(2, 2)
    lazy = torch.ops.aten._lazy_clone(base)
    results = (base + lazy, lazy * 2, lazy @ base, torch.where(base > 1, base, lazy), lazy.sum())
    assert [result.sum().item() for result in results] == [12, 12, 22, 6, 6]
    assert all(torch._C._is_cow_tensor(one) for one in (base, lazy))  # type: ignore[attr-defined]


def test_memory_in_use_by_a_stream_stays(device: torch.device) -> None:
    stream = torch.Stream(device)
    for round_ in range(20):
        tensor = torch.full((10_000,), float(round_), device=device)
        stream.wait_stream(torch.accelerator.current_stream(device.index))
        with stream:
            doubled = tensor * 2
        tensor.record_stream(stream)
        del tensor
        torch.full((10_000,), -1.0, device=device)
        with stream:
            assert torch.equal(doubled.cpu(), torch.full((10_000,), 2.0 * round_))
