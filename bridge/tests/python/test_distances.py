# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""cdist and pdist of each order, with their gradients, beside PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from likeness import moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[..., Tensor]
LIMIT = {torch.float32: 1e-4, torch.float64: 1e-10}
ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")]
EXACT = "donot_use_mm_for_euclid_dist"


pytestmark = pytest.mark.usefixtures("takes_programs")


def rows(*sizes: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sizes, generator=generator, dtype=torch.float64).to(dtype)


def run(call: Call, inputs: list[Tensor], device: torch.device | str) -> list[Tensor]:
    where = torch.device(device)
    leaves = [moved(one, where).requires_grad_() for one in inputs]
    result = call(*leaves)
    seed = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view(result.shape)
    return [result.detach(), *torch.autograd.grad(result, leaves, seed.to(where))]


def check(call: Call, inputs: list[Tensor], backend: DeviceModule, device: torch.device) -> None:
    expected = run(call, inputs, "cpu")
    backend.reset_fallbacks()
    seen = run(call, inputs, device)
    assert backend.fallbacks() == []
    limit = LIMIT[inputs[0].dtype]
    for ours, theirs in zip(seen, expected, strict=True):
        assert (ours.dtype, ours.shape, ours.stride()) == (
            theirs.dtype, theirs.shape, theirs.stride(),
        )  # fmt: skip
        torch.testing.assert_close(ours.cpu(), theirs, rtol=limit, atol=limit, equal_nan=True)


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("order", ORDERS)
def test_of_two(
    order: float, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    one, other = rows(5, 4, dtype=dtype), rows(6, 4, seed=1, dtype=dtype)
    other[2] = one[3]  # a distance of 0
    other[1, 2] = one[1, 2]
    check(partial(torch.cdist, p=order), [one, other], backend, device)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(
    "sizes", [((2, 5, 4), (2, 3, 4)), ((2, 1, 5, 4), (3, 6, 4)), ((5, 4), (2, 6, 4))]
)
def test_batches(
    sizes: tuple[tuple[int, ...], tuple[int, ...]], order: float, backend: DeviceModule,
    device: torch.device,
) -> None:  # fmt: skip
    inputs = [rows(*one, seed=seed) for seed, one in enumerate(sizes)]
    check(partial(torch.cdist, p=order, compute_mode=EXACT), inputs, backend, device)


def test_many_rows(backend: DeviceModule, device: torch.device) -> None:
    inputs = [rows(40, 3), rows(50, 3, seed=1)]
    check(partial(torch.cdist, compute_mode=EXACT), inputs, backend, device)


@pytest.mark.parametrize("order", [0.5, 2.0])
def test_layouts(order: float, backend: DeviceModule, device: torch.device) -> None:
    one, other = rows(4, 5).mT, rows(6, 8, seed=1)[:, ::2]
    check(partial(torch.cdist, p=order), [one, other], backend, device)
    there = moved(one, device)[:1].expand(3, 4)
    torch.testing.assert_close(torch.cdist(there, there, p=order).cpu(), torch.zeros(3, 3))


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("order", ORDERS)
def test_within_one(
    order: float, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    given = rows(6, 4, dtype=dtype)
    given[4] = given[1]
    check(partial(F.pdist, p=order), [given], backend, device)


@pytest.mark.parametrize("sizes", [(0, 3), (1, 3), (3, 0)])
def test_few_rows(sizes: tuple[int, int], device: torch.device) -> None:
    one, other = torch.ones(sizes), torch.ones(2, sizes[1])
    for call in (torch.cdist, partial(torch.cdist, p=1.0)):
        seen, expected = call(one.to(device), other.to(device)), call(one, other)
        assert seen.shape == expected.shape
        torch.testing.assert_close(seen.cpu(), expected)
    torch.testing.assert_close(F.pdist(one.to(device)).cpu(), F.pdist(one))


def test_what_is_no_number(device: torch.device) -> None:
    one, other = torch.tensor([[float("nan"), 1.0], [2.0, 3.0]]), torch.zeros(3, 2)
    for order in ORDERS:
        torch.testing.assert_close(torch.cdist(one.to(device), other.to(device), p=order).cpu(),
                                   torch.cdist(one, other, p=order), equal_nan=True)  # fmt: skip


ODD: list[Call] = [
    lambda x: torch.cdist(x, x, p=-1),
    lambda x: torch.cdist(x, x[:, :2]),
    lambda x: torch.cdist(x.half(), x.half(), p=1),
    lambda x: torch.cdist(x.long(), x.long()),
    lambda x: F.pdist(x.half()),
    lambda x: F.pdist(x[0]),
]


@pytest.mark.parametrize("odd", ODD)
def test_what_pytorch_refuses_is_refused(odd: Call, device: torch.device) -> None:
    x = rows(4, 3)
    with pytest.raises(RuntimeError) as on_host:
        odd(x)
    with pytest.raises(type(on_host.value)):
        odd(x.to(device))
