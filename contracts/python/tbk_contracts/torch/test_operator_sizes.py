# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of more elements than a 16-bit number counts, or than one launch of many devices takes;
of many tensors, and along several of many dimensions.

The values repeat, so that the device itself says what each element is: what it makes of one period,
which other tests judge.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

COST = 11

PERIOD, SIZES = 1021, ((1 << 16) + 1, (1 << 20) + 3)
LEEWAY = 1e-4
"""Of float32: vectors and what is left over at their end may be computed by other code."""

Alone = Callable[[torch.Tensor], torch.Tensor]
ALONE: dict[str, Alone] = {
    name: getattr(torch, name)
    for name in (
        "abs", "neg", "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "sigmoid",
        "erf", "relu", "square", "sign", "floor", "isfinite", "logical_not", "clone",
    )
} | {
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "add a number": lambda x: x + 0.5,
    "divide by a number": lambda x: x / 3,
    "power of a number": lambda x: x**2.5,
    "compare with a number": lambda x: x > 0.5,
    "clamp": lambda x: x.clamp(0.2, 0.7),
    "to int32": lambda x: (x * 100).to(torch.int32),
    "masked_fill": lambda x: x.masked_fill(x > 0.5, 2.0),
    "in place": lambda x: x.clone().mul_(2).add_(1),
}  # fmt: skip
Together = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
TOGETHER: dict[str, Together] = {
    name: getattr(torch, name)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "eq", "lt", "atan2")
} | {
    "where": lambda x, y: torch.where(x > y, x, y),
    "copy_": lambda x, y: x.clone().copy_(y),
    "cat": lambda x, y: torch.cat([x, y])[x.numel() :],
}


def _zeros(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(x.numel(), dtype=torch.int64, device=x.device)


ENDS: dict[str, tuple[Alone, Callable[[int], float]]] = {
    "sum": (torch.sum, lambda size: size + 1),
    "amax": (torch.amax, lambda _: 2),
    "argmax": (torch.argmax, lambda size: size - 1),
    "count_nonzero": (lambda x: torch.count_nonzero(x - 1), lambda _: 1),
    "nonzero": (lambda x: (x - 1).nonzero()[-1, 0], lambda size: size - 1),
    "cumsum": (lambda x: x.cumsum(0)[-1], lambda size: size + 1),
    "the last of a selection": (lambda x: x[x > 0][-1], lambda _: 2),
    "index_put": (lambda x: x.new_zeros(2).index_put((_zeros(x),), x, accumulate=True)[0],
                  lambda size: size + 1),
    "scatter_add": (lambda x: x.new_zeros(2).scatter_add(0, _zeros(x), x)[0],
                    lambda size: size + 1),
    "index_add": (lambda x: x.new_zeros(2).index_add(0, _zeros(x), x)[0], lambda size: size + 1),
    "the last of an index": (lambda x: x[torch.full((1,), x.numel() - 1).to(x.device)][0],
                             lambda _: 2),
}  # fmt: skip
"""What ones and, as the last element, a 2 come to."""


def repeats(what: str, seen: torch.Tensor, period: torch.Tensor) -> None:
    """Each element is as in the period."""
    expected = period.repeat(-(-seen.numel() // PERIOD))[: seen.numel()]
    check.equal(f"{what}: shape and dtype", (seen.shape, seen.dtype),
                (expected.shape, expected.dtype))  # fmt: skip
    near = torch.isclose(seen.double(), expected.double(), rtol=LEEWAY, atol=LEEWAY)
    wrong = (~near).nonzero()
    first = int(wrong[0]) if len(wrong) else 0
    check.that(what, not len(wrong), expected=f"{expected[first].item()} at {first}",
               seen=f"{seen[first].item()}; {len(wrong)} of {seen.numel()} differ")  # fmt: skip


def operands(count: int) -> list[torch.Tensor]:
    """Returns periods between 0 and 1."""
    return [host.values((PERIOD,)).sigmoid() for _ in range(count)]


def judge(what: str, call: Callable[..., torch.Tensor], device: torch.device, count: int) -> None:
    short = operands(count)
    period = host.download(call(*[host.upload(one, device) for one in short]))
    for size in SIZES:
        long = [host.upload(one.repeat(-(-size // PERIOD))[:size], device) for one in short]
        repeats(f"{what} of many elements", host.download(call(*long)), period)


@pytest.mark.parametrize("name", ALONE)
@clause("OPS-520")
def test_one_operand(device: torch.device, name: str) -> None:
    judge(name, ALONE[name], device, 1)


@pytest.mark.parametrize("name", TOGETHER)
@clause("OPS-520")
def test_two_operands(device: torch.device, name: str) -> None:
    judge(name, TOGETHER[name], device, 2)


@pytest.mark.parametrize("name", ENDS)
@clause("OPS-520")
def test_the_last_of_many_counts(device: torch.device, name: str) -> None:
    call, expected = ENDS[name]
    for size in SIZES:
        held = torch.ones(size)
        held[-1] = 2
        seen = host.download(call(host.upload(held, device))).item()
        check.equal(f"{name} of many elements", seen, expected(size))


MANY = 40
JOINED: dict[str, Callable[[list[torch.Tensor]], torch.Tensor]] = {
    "cat": torch.cat, "cat along": lambda parts: torch.cat(parts, 1), "stack": torch.stack,
    "block_diag": lambda parts: torch.block_diag(*parts),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
@clause("OPS-520")
def test_many_tensors_are_joined(device: torch.device, name: str) -> None:
    here = [torch.full((2, 3), float(at + 1)) for at in range(MANY)]
    there = [host.upload(one, device) for one in here]
    for count in range(1, MANY + 1):
        check.tensor(f"{name} of {count}", host.download(JOINED[name](there[:count])),
                     JOINED[name](here[:count]))  # fmt: skip


ALONG: dict[str, Callable[[torch.Tensor, tuple[int, ...]], torch.Tensor]] = {
    "sum": lambda x, dim: x.sum(dim), "mean": lambda x, dim: x.mean(dim),
    "amax": lambda x, dim: x.amax(dim), "all": lambda x, dim: (x > 0).all(dim),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONG)
@clause("OPS-520")
def test_dimensions_that_are_no_neighbours(device: torch.device, name: str) -> None:
    """Sizes are powers of two, so that a mean is exact in any way."""
    for rank in (3, 4, 5, 6):
        here = torch.arange(2.0 ** (rank + 1)).reshape(4, *[2] * (rank - 1))
        there = host.upload(here, device)
        for count in (1, 2, 3):
            for dim in itertools.combinations(range(rank), count):
                seen = host.download(ALONG[name](there, dim))
                check.tensor(f"{name} along {dim} of {rank}", seen, ALONG[name](here, dim))
