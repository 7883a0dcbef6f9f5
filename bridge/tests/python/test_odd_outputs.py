# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Outputs over a part of an input, and dtypes that programs do not have: as PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from beside_cpu import signed
from likeness import check_same, moved
from refused import check_refused

Tensor = torch.Tensor
Writes = Callable[[Tensor, Tensor], object]
COUNT = 6

pytestmark = pytest.mark.usefixtures("takes_programs")


def renorm(x: Tensor, out: Tensor) -> object:
    return torch.renorm(x.view(2, 3), 2, 0, 1, out=out.view(2, 3))


def cross(x: Tensor, out: Tensor) -> object:
    return torch.linalg.cross(x.view(2, 3), x.new_ones(2, 3), out=out.view(2, 3))


def integers(like: Tensor) -> Tensor:
    return torch.empty(COUNT, dtype=torch.int64, device=like.device)


OVER: dict[str, Writes] = {
    "add": lambda x, out: torch.add(x, 1, out=out),
    "cosine": lambda x, out: torch.cos(x, out=out),
    "next": lambda x, out: torch.nextafter(x, -x, out=out),
    "next, the other": lambda x, out: torch.nextafter(-x, x, out=out),
    "mantissas": lambda x, out: torch.frexp(x, out=(out, integers(x).int())),
    "exponents": lambda x, out: torch.frexp(x, out=(x.new_empty(COUNT), out.view(torch.int32))),
    "Hermite": lambda x, out: torch.special.hermite_polynomial_h(x, 3, out=out),
    "Hermite of orders": lambda x, out: torch.special.hermite_polynomial_h(x.new_ones(COUNT), x,
                                                                          out=out),
    "renorm": renorm,
    "a gated half": lambda x, out: torch.ops.aten.glu.out(x, 0, out=out[: COUNT // 2]),
    "a gate": lambda x, out: torch.ops.aten.glu.out(x, 0, out=out[COUNT // 2 :]),
    "cross": cross,
    "mode": lambda x, out: torch.mode(x[:, None], 1, out=(out, integers(x))),
}  # fmt: skip


@pytest.mark.parametrize("name", OVER)
def test_an_output_over_a_part_of_an_input(name: str, device: torch.device) -> None:
    """All of these are iterators to PyTorch, which refuse that."""

    def call(line: Tensor) -> object:
        return OVER[name](line[:COUNT], line[1 : COUNT + 1])

    line = signed(COUNT + 1)
    before = line.to(device)
    check_refused(partial(call, line), partial(call, before), device)
    assert torch.equal(before.cpu(), line)


@pytest.mark.parametrize("name", [name for name in OVER if name != "cross"])
def test_an_output_that_is_the_input(name: str, device: torch.device) -> None:
    expected = signed(COUNT)
    seen = moved(expected, device)
    for line in (expected, seen):
        OVER[name](line, line)
    check_same(seen, expected)


HALVES: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "above": (0, lambda x: x[:2]),
    "below": (0, lambda x: x[2:]),
    "left": (1, lambda x: x[:, :3]),
    "right": (-1, lambda x: x[:, 3:]),
    "rows of another width": (1, lambda x: x[:2].view(4, 3)),
    "empty": (1, lambda x: x.new_empty(0)),
}


@pytest.mark.parametrize("name", HALVES)
def test_a_gated_half_over_its_input(name: str, device: torch.device) -> None:
    """PyTorch's iterator reads the halves: the output may be one of them."""
    dim, half = HALVES[name]
    expected = signed(4, 6)
    seen = moved(expected, device)
    made = [torch.ops.aten.glu.out(x, dim, out=half(x)) for x in (expected, seen)]
    check_same(made[1], made[0])
    check_same(seen, expected)


BAD: dict[str, Callable[[Tensor], Tensor]] = {
    "beside": lambda line: line[1:],
    "beside, too small": lambda line: line[1:3],
    "all one": lambda line: line.new_zeros(1).expand(COUNT),
}


@pytest.mark.parametrize("place", [0, 1], ids=["mantissas", "exponents"])
@pytest.mark.parametrize("other", [COUNT, 0], ids=["one that fits", "an empty one"])
@pytest.mark.parametrize("name", BAD)
def test_a_refused_call_leaves_its_outputs(
    name: str, other: int, place: int, device: torch.device
) -> None:
    def outputs(line: Tensor) -> list[Tensor]:
        fine = [line.new_full((other,), 7), line.new_full((other,), 7, dtype=torch.int32)]
        fine[place] = BAD[name](line).view(fine[place].dtype)
        return fine

    line = signed(COUNT + 1)
    there = line.to(device)
    theirs, ours = outputs(line), outputs(there)
    before = [(one.clone(), one.untyped_storage().nbytes()) for one in theirs]
    check_refused(
        partial(torch.frexp, line[:COUNT], out=theirs),
        partial(torch.frexp, there[:COUNT], out=ours), device)  # fmt: skip
    for one, (values, size) in zip([*theirs, *ours], before * 2, strict=True):
        assert torch.equal(one.cpu(), values)
        assert one.untyped_storage().nbytes() == size


BYTES = torch.arange(8, dtype=torch.uint8)
MADE: dict[str, Callable[[Tensor], Tensor]] = {
    "is the number, over itself": lambda x: torch.isin(x, 3, out=x.view(torch.bool)),
    "is among many, over a part": lambda x: torch.isin(
        x[1:5], x.repeat(4)[3:], out=x.view(torch.bool)[:4]),
    "is among nothing": lambda x: torch.isin(x[:0], x, out=x.view(torch.bool)[:0]),
    "cat with nothing": lambda x: torch.cat([x, x.new_empty(0)], out=x.new_empty(8)),
    "cat with nothing of floats": lambda x: torch.cat(
        [x, x.new_empty(0, dtype=torch.float32)], out=x.new_empty(8, dtype=torch.float64)),
    "cat of two kinds": lambda x: torch.cat(
        [x.to(torch.uint16), x.float()], out=x.new_empty(16, dtype=torch.float16)),
    "cat to 8-bit floats": lambda x: torch.cat(
        [x.float(), x], out=x.new_empty(16, dtype=torch.float8_e5m2)).float(),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_an_output_of_bytes(name: str, device: torch.device) -> None:
    expected = BYTES.clone()
    seen = BYTES.to(device)
    made = [MADE[name](x) for x in (expected, seen)]
    check_same(made[1], made[0])
    check_same(seen, expected)


LINE = torch.tensor([2.0, 1.0, 3.0])
INTO: dict[str, Writes] = {
    "add": lambda x, out: torch.add(x, 2, out=out),
    "minimum": lambda x, out: torch.minimum(x, x.flip(0), out=out),
    "a root": lambda x, out: torch.sqrt(x, out=out),
    "comparison": lambda x, out: torch.eq(x, 2, out=out),
    "truth": lambda x, out: torch.logical_and(x, x, out=out),
    "a sum with products": lambda x, out: torch.addcmul(x, x, x, out=out),
    "clamp": lambda x, out: torch.clamp(x, 1.5, 2.5, out=out),
    "clamp, from below": lambda x, out: torch.clamp_min(x, 1.5, out=out),
    "clamp, from above": lambda x, out: torch.clamp_max(x, 2, out=out),
    "clamp, by tensors": lambda x, out: torch.clamp(x, x.flip(0), out=out),
    "cat": lambda x, out: torch.cat([x[:1], x[1:]], out=out),
    "stack": lambda x, out: torch.stack([x], out=out[None]),
    "cross": lambda x, out: torch.linalg.cross(x, x.flip(0), out=out),
}
WIDER = [torch.float64, torch.float16, torch.complex64, torch.complex128, torch.int32, torch.bool]


@pytest.mark.parametrize("dtype", WIDER, ids=str)
@pytest.mark.parametrize("name", INTO)
def test_an_output_of_another_dtype(name: str, dtype: torch.dtype, device: torch.device) -> None:
    write = INTO[name]
    expected = torch.zeros(3, dtype=dtype)
    seen = expected.to(device)
    try:
        write(LINE, expected)
    except (RuntimeError, TypeError):
        expected = torch.zeros(3, dtype=dtype)
        check_refused(partial(write, LINE, expected), partial(write, LINE.to(device), seen), device)
    else:
        write(LINE.to(device), seen)
    check_same(seen, expected)


UNSIGNED: dict[str, Callable[[Tensor], Tensor]] = {
    "a root": torch.sqrt,
    "a fraction": lambda x: x / 2,
    "beside floats": lambda x: torch.atan2(x, x.float()),
    "unique": torch.unique,
    "neighbours": torch.unique_consecutive,
}


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64], ids=str)
@pytest.mark.parametrize("name", UNSIGNED)
def test_wide_unsigned_integers(name: str, dtype: torch.dtype, device: torch.device) -> None:
    operand = LINE.to(dtype)
    check_same(UNSIGNED[name](operand.to(device)), UNSIGNED[name](operand))
