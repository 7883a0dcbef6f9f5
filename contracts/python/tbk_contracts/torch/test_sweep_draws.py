# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers at the ends of what may be asked for: chances of 0 and 1, ranges of one number and
of nearly all that a dtype holds, and bounds that may or may not be reached. What is checked holds
of each number that is drawn, or fails by chance once in the age of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import FLOATING, PLACES, WHOLE, dtype_of, needs
from tbk_contracts.torch.pairs import Case, each_case, line

F = torch.nn.functional
SEED = 20_240_713
COUNTS = (1, 30, 1_100, 100_003)
MANY = 1_000
FAR = 1 << 40
Draw = Callable[[torch.Tensor], torch.Tensor]

# What one call has to give, each element: from the operand, which holds ones.
CERTAIN: dict[str, tuple[Draw, Draw]] = {
    "bernoulli_ of 0": (lambda x: x.bernoulli_(0.0), torch.zeros_like),
    "bernoulli_ of 1": (lambda x: x.bernoulli_(1.0), torch.ones_like),
    "bernoulli_ of a tensor": (lambda x: x.bernoulli_(_turns(x)), lambda x: _turns(x).to(x.dtype)),
    "bernoulli": (lambda x: torch.bernoulli(_turns(x).to(x.dtype)),
                  lambda x: _turns(x).to(x.dtype)),
    "bernoulli of 1": (lambda x: torch.bernoulli(x, p=1.0), torch.ones_like),
    "dropout of 0": (lambda x: F.dropout(x, 0.0), torch.ones_like),
    "dropout of 1": (lambda x: F.dropout(x, 1.0), torch.zeros_like),
    "dropout in eval": (lambda x: F.dropout(x, 0.5, training=False), torch.ones_like),
    "native_dropout of 0": (lambda x: torch.native_dropout(x, 0.0, True)[0], torch.ones_like),
    "native_dropout of 1": (lambda x: torch.native_dropout(x, 1.0, True)[0], torch.zeros_like),
    "native_dropout in eval": (lambda x: torch.native_dropout(x, 0.5, False)[0], torch.ones_like),
    "alpha_dropout of 0": (lambda x: F.alpha_dropout(x, 0.0, True), torch.ones_like),
    "normal_ without deviation": (lambda x: x.normal_(3, 0), lambda x: x + 2),
    "normal without deviation": (lambda x: torch.normal(x * 3, 0.0), lambda x: x * 3),
    "random_ of one number": (lambda x: x.random_(5, 6), lambda x: x + 4),
    "randint of one number": (lambda x: torch.randint_like(x, -7, -6), lambda x: x * -7),
}  # fmt: skip
OF_WHOLE = ("random_ of one number", "randint of one number")
OF_ANY = ("bernoulli_ of 0", "bernoulli_ of 1")


def _turns(x: torch.Tensor) -> torch.Tensor:
    """Returns chances of 1 and 0 in turn."""
    flat = torch.arange(x.numel(), device="cpu") % 2
    return flat.reshape(x.shape).to(x.device, torch.float32)


def _certain_fits(case: Case) -> bool:
    name, dtype = case.get("name", "bernoulli_ of 0"), case.get("dtype", "float32")
    if name in OF_WHOLE:
        return dtype in WHOLE and not (name.startswith("randint") and dtype == "uint8")
    return dtype in FLOATING or (name in OF_ANY and dtype in (*WHOLE, "bool"))


class _Drawn:
    """Numbers of one call, and that what lies between the elements of its operand stays."""

    def __init__(self, case: Case, device: torch.device, start: torch.Tensor, draw: Draw) -> None:
        torch.manual_seed(SEED)
        steps = case["layout"] == "steps"
        wide = start.repeat_interleave(2, -1) if steps else start.clone()
        base = host.upload(wide, device)
        operand = base[..., ::2] if steps else base
        operand = operand.t() if case["layout"] == "transposed" else operand
        self.seen = host.download(draw(operand))
        if steps:
            check.tensor(f"what lies between, {line(case)}", host.download(base)[..., 1::2], start)


def _ones(case: Case) -> Iterator[torch.Tensor]:
    """Of two dimensions, so that it can be transposed; of each size."""
    for count in COUNTS:
        yield torch.ones((1, count), dtype=dtype_of(case))


DRAWN = tuple(one for one in PLACES if one != "offset")


@each_case(
    {"name": tuple(CERTAIN), "dtype": (*FLOATING, *WHOLE, "bool"), "layout": DRAWN},
    _certain_fits, needs=needs, quick=8,
)  # fmt: skip
@clause("OPS-560")
def test_what_is_certain(device: torch.device, case: Case) -> None:
    draw, right = CERTAIN[case["name"]]
    for start in _ones(case):
        seen = _Drawn(case, device, start, draw).seen
        expected = right(start.t() if case["layout"] == "transposed" else start)
        check.tensor(f"each of {start.numel()} numbers, {line(case)}", seen, expected.clone())


# Each number is at least the first bound, and less than the second one. With many numbers, there
# are some below the first quarter of the range and above the last one.
BETWEEN: dict[str, tuple[Draw, float, float]] = {
    "uniform_": (lambda x: x.uniform_(), 0, 1),
    "uniform_ around 0": (lambda x: x.uniform_(-1, 3), -1, 3),
    "uniform_ below 0": (lambda x: x.uniform_(-3, -1), -3, -1),
    "rand_like": (torch.rand_like, 0, 1),
    "rand": (lambda x: torch.rand(x.shape, dtype=x.dtype, device=x.device), 0, 1),
    "random_ of two": (lambda x: x.random_(0, 2), 0, 2),
    "random_ below 0": (lambda x: x.random_(-3, 0), -3, 0),
    "randint of three": (lambda x: torch.randint_like(x, 1, 4), 1, 4),
    "random_ far away": (lambda x: x.random_(FAR, FAR + 3), FAR, FAR + 3),
    "random_ of 60 bits": (lambda x: x.random_(0, 1 << 60), 0, 1 << 60),
    "random_ of both signs": (lambda x: x.random_(-(1 << 61), 1 << 61), -(1 << 61), 1 << 61),
    "random_ from -2^63": (lambda x: x.random_(-(1 << 63), None), -(1 << 63), 1 << 63),
    "randint of 33 bits": (lambda x: torch.randint_like(x, 0, 1 << 33), 0, 1 << 33),
}
OF_INT64 = ("random_ far away", "random_ of 60 bits", "random_ of both signs",
            "random_ from -2^63", "randint of 33 bits")  # fmt: skip
OF_SIGNED = ("random_ of two", "random_ below 0", "randint of three")
OF_FLOAT = ("uniform_ around 0", "uniform_ below 0")


def _between_fits(case: Case) -> bool:
    name, dtype = case.get("name", "uniform_"), case.get("dtype", "float32")
    if name in OF_INT64:
        return dtype == "int64"
    if name in OF_SIGNED:
        return dtype in WHOLE and dtype != "uint8"
    # In fewer bits a number beside the upper bound is rounded to it.
    return dtype in (("float32", "float64") if name in OF_FLOAT else FLOATING)


@each_case(
    {"name": tuple(BETWEEN), "dtype": (*FLOATING, *WHOLE), "layout": DRAWN},
    _between_fits, needs=needs, quick=6,
)  # fmt: skip
@clause("OPS-560")
def test_bounds(device: torch.device, case: Case) -> None:
    draw, low, high = BETWEEN[case["name"]]
    for start in _ones(case):
        found = _Drawn(case, device, start, draw).seen.reshape(-1)
        least, most = found.min().item(), found.max().item()
        what = f"of {len(found)} numbers, {line(case)}"
        check.that(f"the least {what}", least >= low, expected=f"at least {low}", seen=least)
        check.that(f"the greatest {what}", most < high, expected=f"less than {high}", seen=most)
        quarter, step = (high - low) / 4, 0 if found.is_floating_point() else 1
        check.that(f"the ends of the range {what}",
                   len(found) < MANY or (least < low + max(quarter, step)
                                         and most >= high - max(quarter, step)),
                   expected=f"numbers in the first and last quarter of {low} to {high}",
                   seen=f"{least} to {most}")  # fmt: skip


# What no number is, wherever it lies.
OPEN: dict[str, tuple[Draw, Draw]] = {
    "normal_": (lambda x: x.normal_(), torch.isfinite),
    "randn_like": (torch.randn_like, torch.isfinite),
    "exponential_": (lambda x: x.exponential_(), lambda x: torch.isfinite(x) & (x > 0)),
    "log_normal_": (lambda x: x.log_normal_(), lambda x: torch.isfinite(x) & (x > 0)),
    "cauchy_": (lambda x: x.cauchy_(), lambda x: ~torch.isnan(x)),
    "geometric_": (lambda x: x.geometric_(0.3), lambda x: (x >= 1) & (x == x.floor())),
}


@each_case(
    {"name": tuple(OPEN), "dtype": ("float32", "float64"), "layout": DRAWN},
    needs=needs, quick=4,
)  # fmt: skip
@clause("OPS-560")
def test_open_ends(device: torch.device, case: Case) -> None:
    draw, legal = OPEN[case["name"]]
    for start in _ones(case):
        found = _Drawn(case, device, start, draw).seen
        wrong = found[~legal(found)]
        check.that(f"each of {found.numel()} numbers, {line(case)}", wrong.numel() == 0,
                   expected="in the range of the distribution",
                   seen=f"{wrong[:1].tolist()}; {wrong.numel()} of them")  # fmt: skip


WEIGHTS: dict[str, list[float]] = {
    "the first": [1.0, 0.0, 0.0], "the last": [0.0, 0.0, 2.0], "all but one": [1.0, 0.0, 3.0, 1.0],
    "one": [0.5], "many": [0.0, 1.0] * 65,
}  # fmt: skip


@pytest.mark.parametrize("name", list(WEIGHTS))
@clause("OPS-560", needs="dtype:float32 dtype:int64")
def test_what_has_no_weight(device: torch.device, name: str) -> None:
    torch.manual_seed(SEED)
    row = torch.tensor(WEIGHTS[name])
    for weights in (row, row.repeat(1, 1), row.repeat(65, 1)):
        there = host.upload(weights, device)
        for count, again in ((500, True), (1, False), (int(row.count_nonzero()), False)):
            seen = host.download(torch.multinomial(there, count, replacement=again))
            check.equal("shape", tuple(seen.shape), (*weights.shape[:-1], count))
            chosen = weights.gather(-1, seen)
            check.equal("what of weight 0 was drawn", int((chosen == 0).sum()), 0)
            if not again:
                twice = seen.sort(-1).values.diff(dim=-1) == 0
                check.equal("what was drawn twice without replacement", int(twice.sum()), 0)


@clause("OPS-560", needs="dtype:int64 dtype:int32 dtype:float32")
def test_permutations(device: torch.device) -> None:
    torch.manual_seed(SEED)
    for dtype in (torch.int64, torch.int32, torch.float32):
        for length in (0, 1, 2, 3, 64, 65, 1000, 1024, 1025, 5000, 70_001):
            seen = host.download(torch.randperm(length, dtype=dtype, device=device))
            check.tensor(f"the sorted permutation of {length}", seen.sort().values,
                         torch.arange(length, dtype=dtype))  # fmt: skip
