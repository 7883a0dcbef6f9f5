# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What moves elements by a number, over numbers within a size, at its end, beyond it and negative;
and what makes a row of numbers, over its ends. PyTorch's CPU is the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import BEYOND, PLACES, compare, dtype_of, laid, needs
from tbk_contracts.torch.pairs import Case, each_case, line

F = torch.nn.functional
Move = Callable[[torch.Tensor, int], Any]
Numbers = Callable[[int], Sequence[int]]


def _any(size: int) -> Sequence[int]:
    return (0, 1, -1, size - 1, size, size + 1, -size, -size - 1, 3 * size + 2, -3 * size - 2)


def _within(size: int) -> Sequence[int]:
    return tuple(range(-size, size))


def _count(size: int) -> Sequence[int]:
    return 0, 1, 2, size, 65


def _part(size: int) -> Sequence[int]:
    return tuple(dict.fromkeys((1, 2, size, size + 1)))


def _shorter(size: int) -> Sequence[int]:
    return tuple(range(size))


def _dims(_: int) -> Sequence[int]:
    return -3, -2, -1, 0, 1, 2


def _empty(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(0)


# Each takes a tensor of three dimensions and a number, which is any of these of the last one.
MOVES: dict[str, tuple[Move, Numbers]] = {
    "roll": (lambda x, n: x.roll(n, -1), _any),
    "roll of the first": (lambda x, n: x.roll(n, 0), _any),
    "roll of all": (lambda x, n: x.roll(n), _any),
    "roll of two": (lambda x, n: x.roll((n, -n), (0, -1)), _any),
    "tril": (lambda x, n: x.tril(n), _any), "triu": (lambda x, n: x.triu(n), _any),
    "tril_": (lambda x, n: x.clone().tril_(n), _any),
    "diagonal": (lambda x, n: x.diagonal(n, 1, 2), _any),
    "diag": (lambda x, n: x[0, 0].diag(n), _any),
    "diag of a matrix": (lambda x, n: x[0].diag(n), _any),
    "diag_embed": (torch.diag_embed, _any),
    "rot90": (lambda x, n: x.rot90(n, (0, 2)), _any),
    "select": (lambda x, n: x.select(2, n), _within),
    "getitem": (lambda x, n: x[..., n], _within),
    "slice": (lambda x, n: x[..., n:] + 0, _any), "slice to": (lambda x, n: x[..., :n] + 0, _any),
    "narrow": (lambda x, n: x.narrow(2, n, 1), _within),
    "flip": (lambda x, n: x.flip(n), _dims), "flip of two": (lambda x, n: x.flip(0, -1), _dims),
    "flip of three": (lambda x, n: x.flip(0, 1, 2), _dims),
    "unbind": (lambda x, n: x.unbind(n), _dims),
    "movedim": (lambda x, n: x.movedim(n, 0), _dims),
    "stack": (lambda x, n: torch.stack([x, x.flip(0)], n), _dims),
    "cat": (lambda x, n: torch.cat([x, x.flip(0)], n), _dims),
    "cat with empty": (lambda x, n: torch.cat([_empty(x), x, _empty(x)], n), _dims),
    "cat with empty last": (lambda x, n: torch.cat([x, x, _empty(x)], n), _dims),
    "cat of many": (lambda x, n: torch.cat([x] * 70, n), _dims),
    "repeat": (lambda x, n: x.repeat(n, 1, 2), _count),
    "repeat_interleave": (lambda x, n: x.repeat_interleave(n, -1), _count),
    "expand": (lambda x, n: x[:1].expand(n, -1, -1) + 0, _count),
    "tile": (lambda x, n: x.tile(n), _count),
    "split": (lambda x, n: x.split(n, -1), _part), "chunk": (lambda x, n: x.chunk(n, -1), _part),
    "pad": (lambda x, n: F.pad(x, (n, n + 1)), lambda size: (0, 1, size, 65, -1)),
    "pad with a number": (lambda x, n: F.pad(x, (1, n, n, 0), value=1), _count),
    "reflect": (lambda x, n: F.pad(x, (0, n), mode="reflect"), _shorter),
    "reflect before": (lambda x, n: F.pad(x, (n, 0), mode="reflect"), _shorter),
    "replicate": (lambda x, n: F.pad(x, (n, 2 * n), mode="replicate"), _count),
    "circular": (lambda x, n: F.pad(x, (n, n), mode="circular"), _shorter),
    "unfold": (lambda x, n: x.unfold(-1, 1, n), _part),
    "interpolate": (lambda x, n: F.interpolate(x, size=n), lambda size: range(1, 2 * size + 2)),
    "interpolate of two": (lambda x, n: F.interpolate(x[None], size=(n, n + 1)),
                           lambda size: range(1, 2 * size + 2)),
    "max_pool1d": (lambda x, n: F.max_pool1d(x, n, 1), lambda size: range(1, size + 1)),
    "adaptive_max_pool1d": (F.adaptive_max_pool1d, _part),
    "diff": (lambda x, n: x.diff(n), lambda size: range(size + 1)),
    "topk": (lambda x, n: x.topk(n).values, lambda size: range(size + 1)),
    "least of topk": (lambda x, n: x.topk(n, largest=False).values, lambda size: range(size + 1)),
    "kthvalue": (lambda x, n: x.kthvalue(n).values, lambda size: range(1, size + 1)),
    "one_hot": (lambda x, n: F.one_hot(x.abs().long() % n, n), _part),
    "vander": (lambda x, n: torch.vander(x[0, 0].sign(), n), _count),
    "block_diag": (lambda x, n: torch.block_diag(*([x[0]] * n)), lambda _: (1, 2, 9)),
}  # fmt: skip
OF_REAL = ("max_pool1d", "adaptive_max_pool1d", "topk", "least of topk", "kthvalue", "one_hot",
           "interpolate", "interpolate of two", "diff", "vander", "reflect", "reflect before",
           "replicate")  # fmt: skip
OF_FLOAT = ("interpolate", "interpolate of two", "max_pool1d", "adaptive_max_pool1d", "reflect",
            "reflect before", "replicate", "vander")  # fmt: skip
# As many calls as there are elements in a row, or as many elements as in a square of it.
OF_FEW = ("diag_embed", "select", "getitem", "narrow", "circular", "interpolate of two", "diff")
SHAPES = {"few": (2, 3, 5), "one": (1, 1, 1), "many": (3, 4, 67)}


def _fits(case: Case) -> bool:
    name, dtype = case.get("name", "roll"), case.get("dtype", "float32")
    if case.get("shape") == "many" and name in OF_FEW:
        return False
    if name in OF_FLOAT:
        return dtype in ("float32", "float64")
    return name not in OF_REAL or dtype not in ("bool", "complex64")


@each_case(
    {"name": tuple(MOVES), "dtype": ("float32", "int64", "int8", "bool", "complex64", "float64"),
     "shape": tuple(SHAPES), "layout": PLACES},
    _fits, needs=needs, quick=10,
)  # fmt: skip
@clause("OPS-550")
def test_moves_by_a_number(device: torch.device, case: Case) -> None:
    shape, (move, numbers) = SHAPES[case["shape"]], MOVES[case["name"]]
    here = host.values(shape, dtype_of(case))
    if case["name"] == "diff" and here.is_floating_point():
        here = here.round()  # so that differences of differences are exact
    there = laid(here, case["layout"], device)
    for number in dict.fromkeys(numbers(shape[-1])):
        right = _all_of(move(here, number))
        seen = _all_of(move(there, number))
        what = f"the result, {line(case)}, {number}"
        check.equal(f"{what}: how many", len(seen), len(right))
        for mine, theirs in zip(seen, right, strict=True):
            compare(what, mine, theirs, either_zero=case["name"] == "diff")


def _all_of(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


# ------------------------------------------------------------------------------- of numbers ---

Make = Callable[[torch.device, torch.dtype], torch.Tensor]


def _range(*ends: float) -> Make:
    return lambda device, dtype: torch.arange(*ends, dtype=dtype, device=device)


INTEGERS: dict[str, Make] = {
    "none": _range(5, 5), "one": _range(5, 6), "down": _range(5, -6, -1),
    "steps": _range(-100, 100, 7), "down by steps": _range(100, -100, -9),
    "eye": lambda device, dtype: torch.eye(3, 70, dtype=dtype, device=device),
    "eye of nothing": lambda device, dtype: torch.eye(0, 3, dtype=dtype, device=device),
    "full of the least": lambda device, dtype: torch.full(
        (67,), torch.iinfo(dtype).min, dtype=dtype, device=device),
    "full of the greatest": lambda device, dtype: torch.full(
        (67,), torch.iinfo(dtype).max, dtype=dtype, device=device),
    "up to the greatest": lambda device, dtype: torch.arange(
        torch.iinfo(dtype).max - 70, torch.iinfo(dtype).max, dtype=dtype, device=device),
}  # fmt: skip
OF_SIGNED = ("down", "steps", "down by steps")
OF_INT64: dict[str, Make] = {
    "beyond_float64": _range(BEYOND, BEYOND + 70), "beyond_32_bits": _range(1 << 33, (1 << 33) + 9),
    "far below": _range(-BEYOND - 70, -BEYOND), "by steps": _range(BEYOND, BEYOND + 300, 3),
    "by large steps": _range(0, 1 << 62, (1 << 58) + 1),
}  # fmt: skip
TRIANGLES: dict[str, Callable[..., torch.Tensor]] = {
    "tril_indices": torch.tril_indices,
    "triu_indices": torch.triu_indices,
}


@each_case(
    {"name": (*INTEGERS, *OF_INT64), "dtype": ("int64", "int32", "int16", "int8", "uint8")},
    lambda case: (case.get("name") not in OF_INT64 or case.get("dtype", "int64") == "int64")
    and not (case.get("name") in OF_SIGNED and case.get("dtype") == "uint8"),
    needs=needs, quick=3,
)  # fmt: skip
@clause("OPS-550")
def test_rows_of_integers(device: torch.device, case: Case) -> None:
    make, dtype = {**INTEGERS, **OF_INT64}[case["name"]], dtype_of(case)
    compare(f"the numbers, {line(case)}", make(device, dtype),
            make(torch.device("cpu"), dtype))  # fmt: skip


@clause("OPS-550", needs="dtype:int64")
def test_indices_of_triangles(device: torch.device) -> None:
    for name, make in TRIANGLES.items():
        for rows, columns in ((0, 0), (1, 1), (3, 5), (5, 3), (65, 2)):
            for offset in (0, 1, -1, 3, -3, 7, -7, 80, -80):
                compare(f"{name}({rows}, {columns}, {offset})",
                        make(rows, columns, offset, device=device),
                        make(rows, columns, offset))  # fmt: skip


LINES = ((0.0, 1.0), (-3.5, 7.3), (5.0, -5.0), (2.0, 2.0), (0.1, 1e6), (-1e-3, 1e-3))


@each_case({"dtype": ("float32", "float64"), "steps": ("0", "1", "2", "3", "9", "100", "1025")},
           needs=needs, quick=2)  # fmt: skip
@clause("OPS-520")
def test_both_ends_of_a_line(device: torch.device, case: Case) -> None:
    """The first number is the one given, and so is the last one."""
    dtype, steps = dtype_of(case), int(case["steps"])
    for start, end in LINES:
        made = torch.linspace(start, end, steps, dtype=dtype, device=device)
        seen, right = host.download(made), torch.linspace(start, end, steps, dtype=torch.float64)
        check.equal(f"how many, {line(case)}", tuple(seen.shape), (steps,))
        for index, end_ in ((0, start), (-1, end)):
            if steps > 1 or (steps == 1 and index == 0):
                check.tensor(f"number {index} of {start} to {end}, {line(case)}",
                             seen[index].clone(), torch.tensor(end_, dtype=dtype))  # fmt: skip
        part = 8 * torch.finfo(dtype).eps * max(abs(start), abs(end))
        off = (seen.double() - right).abs()
        check.that(f"each number of {start} to {end}, {line(case)}", bool((off <= part).all()),
                   expected=f"at most {part} off", seen=off[off > part][:1].tolist())  # fmt: skip
