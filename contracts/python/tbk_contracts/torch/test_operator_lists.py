# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators on lists of tensors: long lists, lists of what differs, and lists of two dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.operators import oracle

COST = 4

Lists = list[torch.Tensor]
Rest = Callable[[Lists, Lists], tuple[Any, ...]]
"""Makes what an operator is given behind its first list, of that and of a second one."""

LONG = 130  # more than a kernel takes pointers of at a time
LARGE = 70_001  # more than a kernel takes elements of one tensor at a time
NUMBER = 0.75

ALONE = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
    "log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
OF_TWO = "add sub mul div maximum minimum clamp_max clamp_min pow"
BEHIND: dict[str, Rest] = {
    **{name: lambda one, other: () for name in ALONE.split()},
    **{f"{name}, lists": lambda one, other: (other,) for name in OF_TWO.split()},
    **{f"{name}, a number": lambda one, other: (NUMBER,) for name in OF_TWO.split()},
    **{f"{name}, numbers": lambda one, other: (_numbers(one),) for name in OF_TWO.split()},
    "add, a tensor": lambda one, other: (other[0].flatten()[0],),
    "mul, a tensor": lambda one, other: (other[0].flatten()[0],),
    "norm": lambda one, other: (2,),
    "lerp, lists": lambda one, other: (other, one),
    "lerp, a number": lambda one, other: (other, NUMBER),
    "addcmul, a number": lambda one, other: (other, one, NUMBER),
    "addcmul, numbers": lambda one, other: (other, one, _numbers(one)),
    "addcdiv, a number": lambda one, other: (other, one, NUMBER),
    "addcdiv, numbers": lambda one, other: (other, one, _numbers(one)),
    "copy, lists": lambda one, other: (other,),
    "zero": lambda one, other: (),
}
QUICK = ("add, lists", "mul, a number", "addcdiv, numbers", "sqrt", "norm", "copy, lists")


def _numbers(one: Lists) -> list[float]:
    return [0.5 + at / len(one) for at in range(len(one))]


def _fractions(shape: Sequence[int], number: int, dtype: torch.dtype) -> torch.Tensor:
    """Returns numbers between 0.3 and 0.9, of which every operator makes a finite one."""
    drawn = torch.rand(tuple(shape), generator=host.seed(number), dtype=torch.float64)
    return (drawn * 0.6 + 0.3).to(dtype)


def _long_list(start: int) -> Lists:
    """Returns many tensors of a few elements, with a large one among them."""
    sizes = [LARGE if at == LONG // 3 else 1 + at % 7 for at in range(LONG)]
    return [_fractions((size,), start + at, torch.float32) for at, size in enumerate(sizes)]


def _mixed_list(start: int, dtypes: Sequence[torch.dtype]) -> Lists:
    """Returns tensors of other shapes, layouts and, in turns, dtypes: the first is of the first."""
    shapes = [(3,), (), (2, 3), (0,), (4, 5), (2, 3, 4), (6,), (1, 1), (5,)]
    made = [_fractions(shape, start + at, dtypes[at % len(dtypes)])
            for at, shape in enumerate(shapes)]  # fmt: skip
    made[2], made[4], made[5] = made[2].t(), made[4][1:, 1:], made[5].permute(2, 0, 1)
    return made


def _close(what: str, seen: torch.Tensor, expected: torch.Tensor) -> None:
    check.equal(f"dtype and shape of {what}", (seen.dtype, tuple(seen.shape)),
                (expected.dtype, tuple(expected.shape)))  # fmt: skip
    wide = expected.to(torch.float64)
    off = (host.download(seen).to(torch.float64) - wide).abs() / oracle.unit(wide, expected.dtype)
    worst, allowed = float(off.max()) if off.numel() else 0.0, oracle.leeway(expected.dtype)
    check.that(f"the values of {what}", worst <= allowed,
               expected=f"at most {allowed:g} units in the last place off", seen=worst)  # fmt: skip


def _compare(name: str, first: Lists, second: Lists, device: torch.device) -> None:
    """Calls the operator as a function and in place, where PyTorch has it so."""
    base, rest = name.partition(",")[0], BEHIND[name]
    for form in (f"_foreach_{base}", f"_foreach_{base}_"):
        call = getattr(torch, form, None)
        if call is None:
            continue
        here = [host.upload(one, torch.device("cpu")) for one in first]
        there = [host.upload(one, device) for one in first]
        expected = call(here, *rest(here, second))
        seen = call(there, *rest(there, [host.upload(one, device) for one in second]))
        if form.endswith("_"):
            seen, expected = there, here
        check.equal(f"results of {form}", len(seen), len(expected))
        for at, (mine, theirs) in enumerate(zip(seen, expected, strict=True)):
            _close(f"{form}, tensor {at} of {len(first)}", mine, theirs)


def _compare_in_float32(name: str, device: torch.device) -> None:
    plain = (torch.float32,)
    _compare(name, _long_list(0), _long_list(500), device)
    _compare(name, _mixed_list(0, plain), _mixed_list(500, plain), device)


@pytest.mark.parametrize("name", QUICK)
@clause("OPS-537", needs="dtype:float32")
def test_lists_of_any_length_and_layout(device: torch.device, name: str) -> None:
    _compare_in_float32(name, device)


@pytest.mark.parametrize("name", [name for name in BEHIND if name not in QUICK])
@clause("OPS-537", needs="dtype:float32", tier="thorough")
def test_other_lists_of_any_length_and_layout(device: torch.device, name: str) -> None:
    _compare_in_float32(name, device)


@pytest.mark.parametrize("name", [name for name in BEHIND if not name.startswith("lerp")])
@clause("OPS-537", needs="dtype:float32 dtype:float64")
def test_lists_of_two_dtypes(device: torch.device, name: str) -> None:
    """Tensors of one list differ, and so do those that meet, which lerp refuses."""
    both = (torch.float32, torch.float64)
    _compare(name, _mixed_list(0, both), _mixed_list(500, both[::-1]), device)
