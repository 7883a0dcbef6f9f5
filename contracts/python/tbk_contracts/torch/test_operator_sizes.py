# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of more elements than a 16-bit number counts, or than one launch of many devices takes.

The values repeat, so that the device itself says what each element is: what it makes of one period,
which other tests judge.
"""

from __future__ import annotations

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
ENDS: dict[str, tuple[Alone, Callable[[int], float]]] = {
    "sum": (torch.sum, lambda size: size + 1),
    "amax": (torch.amax, lambda _: 2),
    "argmax": (torch.argmax, lambda size: size - 1),
    "count_nonzero": (lambda x: torch.count_nonzero(x - 1), lambda _: 1),
    "nonzero": (lambda x: (x - 1).nonzero()[-1, 0], lambda size: size - 1),
    "cumsum": (lambda x: x.cumsum(0)[-1], lambda size: size + 1),
    "the last of a selection": (lambda x: x[x > 0][-1], lambda _: 2),
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
