# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors as text, and indexed in every way that PyTorch knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

VALUES = [
    torch.arange(12.0).reshape(3, 4),
    torch.tensor([1e-9, 1e9, float("nan"), float("inf")]),
    torch.arange(3, dtype=torch.int8),
    torch.tensor([True, False]),
    torch.tensor([1 + 2j, -3.5j]),
    torch.tensor(3.25),
    torch.empty(0),
    torch.empty(2, 0, 3),
    torch.arange(2000.0),
    torch.ones(2, 2, dtype=torch.bfloat16),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.dtype}-{tuple(value.shape)}")
def test_it_prints_as_on_the_host(device: torch.device, value: torch.Tensor) -> None:
    lines = repr(value.to(device))
    assert f"device='{device}'" in lines
    numbers = repr(value).removesuffix(")").partition(", dtype=")[0].partition(", size=")[0]
    assert "".join(lines.split()).startswith("".join(numbers.split()))
    assert str(value.to(device).numel()) == str(value.numel())
    assert f"{torch.tensor(2.5).to(device):.2f}" == "2.50"


READS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x[1],
    lambda x: x[-1, ..., 2],
    lambda x: x[:, None, ::2],
    lambda x: x[[0, 2]],
    lambda x: x[:, torch.tensor([3, 0, 0])],
    lambda x: x[torch.tensor([[0, 1], [2, 2]], device=x.device), 1:3],
    lambda x: x[x > 4],
    lambda x: x[torch.tensor([True, False, True])],
    lambda x: x[torch.tensor([0, 1]), torch.tensor([2, 3])],
    lambda x: x.index_select(1, torch.tensor([1, 3], device=x.device)),
    lambda x: x.masked_select(x < 6),
    lambda x: x.gather(1, torch.tensor([[0, 1], [2, 3], [1, 1]], device=x.device)),
    lambda x: x.take(torch.tensor([0, 11, 5], device=x.device)),
    lambda x: torch.nonzero(x > 7),
    lambda x: x.where(x > 3, -x),
    lambda x: torch.take_along_dim(x, x.argsort(1), 1),
]


@pytest.mark.parametrize("index", range(len(READS)))
def test_reading(device: torch.device, index: int) -> None:
    host = torch.arange(12.0).reshape(3, 4)
    result = READS[index](host.to(device))
    assert result.device == device
    assert torch.equal(result.cpu(), READS[index](host))


def put(x: torch.Tensor, key: object, value: object) -> None:
    x[key] = value  # type: ignore[index,assignment]


WRITES: list[Callable[[torch.Tensor], object]] = [
    lambda x: put(x, 1, 7.0),
    lambda x: put(x, (slice(None), 2), torch.arange(3.0)),
    lambda x: put(x, [0, 2], torch.ones(2, 4, device=x.device)),
    lambda x: put(x, x > 4, 0.0),
    lambda x: put(x, x > 4, torch.arange(7.0, device=x.device)),
    lambda x: put(x, (torch.tensor([0, 1]), torch.tensor([2, 3])), torch.tensor(9.0)),
    lambda x: x.index_fill_(1, torch.tensor([1], device=x.device), 5.0),
    lambda x: x.index_copy_(0, torch.tensor([2, 0], device=x.device), x[:2].clone()),
    lambda x: x.index_add_(0, torch.tensor([1, 1], device=x.device), x[:2].clone()),
    lambda x: x.index_put_(
        (torch.tensor([1, 1], device=x.device),), x[:1].clone(), accumulate=True
    ),
    lambda x: x.masked_fill_(x < 3, -1.0),
    lambda x: x.masked_scatter_(x > 5, torch.arange(12.0, device=x.device)),
    lambda x: x.scatter_(1, torch.tensor([[0], [3], [1]], device=x.device), 8.0),
    lambda x: x[:, 1:3].mul_(2).add_(x[:, :2].clone()),
    lambda x: x.t().fill_diagonal_(4.0),
]


@pytest.mark.parametrize("index", range(len(WRITES)))
def test_writing(device: torch.device, index: int) -> None:
    host = torch.arange(12.0).reshape(3, 4)
    there = host.to(device)
    WRITES[index](there)
    WRITES[index](host)
    assert torch.equal(there.cpu(), host)


def test_an_index_out_of_range_is_refused(device: torch.device) -> None:
    tensor = torch.arange(3.0, device=device)
    for key in (3, -4, [0, 5]):
        with pytest.raises(IndexError):
            tensor[key].cpu()
    with pytest.raises(IndexError):
        tensor[torch.ones(4, dtype=torch.bool, device=device)]


def test_iteration_and_conversion(device: torch.device) -> None:
    tensor = torch.arange(3, device=device)
    assert [int(value) for value in tensor] == [0, 1, 2]
    assert 2 in tensor
    assert len(tensor) == 3
    assert range(10)[tensor[1]] == 1
    with pytest.raises(TypeError, match="to numpy"):
        tensor.numpy()
    assert tensor.cpu().numpy().tolist() == [0, 1, 2]
