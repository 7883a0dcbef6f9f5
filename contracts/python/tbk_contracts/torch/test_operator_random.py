# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of random numbers, with fixed seeds: the verdict is the same each time."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host, missing
from tbk_contracts.torch.case import clause

COUNT = 1 << 16
SEED = 20_240_607
# Of right numbers one in 1e9 is beyond these: Kolmogorov's distance times the root of the count,
# and standard deviations of a normal distribution.
DISTANCE, DEVIATIONS = 3.3, 6.2

Draw = Callable[[torch.Tensor], torch.Tensor]
Distribution = Callable[[torch.Tensor], torch.Tensor]


def _normal(x: torch.Tensor) -> torch.Tensor:
    return (1 + torch.erf(x / math.sqrt(2))) / 2


CONTINUOUS: dict[str, tuple[Draw, Distribution]] = {
    "uniform_": (lambda x: x.uniform_(-1, 3), lambda x: (x + 1) / 4),
    "rand_like": (torch.rand_like, lambda x: x),
    "rand": (lambda x: torch.rand(x.shape, device=x.device), lambda x: x),
    "normal_": (lambda x: x.normal_(2, 3), lambda x: _normal((x - 2) / 3)),
    "randn_like": (torch.randn_like, _normal),
    "randn": (lambda x: torch.randn(x.shape, device=x.device), _normal),
    "exponential_": (lambda x: x.exponential_(2.0), lambda x: 1 - torch.exp(-2 * x)),
    "cauchy_": (lambda x: x.cauchy_(), lambda x: 0.5 + torch.atan(x) / math.pi),
    "log_normal_": (lambda x: x.log_normal_(0, 1), lambda x: _normal(torch.log(x))),
}
# What is drawn is true as often as said.
OF_TWO: dict[str, tuple[Draw, float]] = {
    "bernoulli_": (lambda x: x.bernoulli_(0.3), 0.3),
    "bernoulli": (lambda x: torch.bernoulli(x * 0 + 0.7), 0.7),
    "dropout": (lambda x: torch.nn.functional.dropout(x * 0 + 1, 0.2) / 1.25, 0.8),
    "native_dropout": (lambda x: torch.native_dropout(x * 0 + 1, 0.2, True)[1], 0.8),
}
OF_MANY: dict[str, tuple[Draw, int]] = {
    "randint": (lambda x: torch.randint(0, 10, x.shape, device=x.device), 10),
    "random_": (lambda x: x.random_(0, 7), 7),
    "randint_like": (lambda x: torch.randint_like(x, 0, 16), 16),
    "multinomial": (lambda x: torch.multinomial(x[:8] * 0 + 1, COUNT, replacement=True), 8),
}


def _drawn_as(dtype: torch.dtype, draw: Draw, device: torch.device) -> torch.Tensor | None:
    """Returns what is drawn for a tensor of `dtype`; None where the device does not offer it."""
    torch.manual_seed(SEED)
    # No right answer may be there already, and no number may be multiplied by NaN.
    given = host.upload(torch.full((COUNT,), 77, dtype=dtype), device)
    try:
        return host.download(draw(given))
    except RuntimeError as error:
        if not missing.lacking(error):
            raise
        missing.tell(missing.operator(error))
        return None


def _drawn(draw: Draw, device: torch.device) -> torch.Tensor | None:
    seen = _drawn_as(torch.float32, draw, device)
    return None if seen is None else seen.to(torch.float64)


@pytest.mark.parametrize("name", list(CONTINUOUS))
@clause("OPS-560", needs="dtype:float32")
def test_a_continuous_distribution(device: torch.device, name: str) -> None:
    draw, distribution = CONTINUOUS[name]
    seen = _drawn(draw, device)
    if seen is None:
        return
    places = distribution(seen).sort().values
    steps = torch.arange(COUNT, dtype=torch.float64) / COUNT
    distance = float(torch.maximum(places - steps, steps + 1 / COUNT - places).max())
    check.that(f"distance of {name} from its distribution",
               distance * math.sqrt(COUNT) < DISTANCE,
               expected=f"less than {DISTANCE / math.sqrt(COUNT):.4f}", seen=distance)  # fmt: skip
    neighbours = float(torch.corrcoef(torch.stack([distribution(seen)[1:],
                                                   distribution(seen)[:-1]]))[0, 1])  # fmt: skip
    allowed = DEVIATIONS / math.sqrt(COUNT)
    check.that(f"correlation of {name} with its neighbour", abs(neighbours) < allowed,
               expected=f"less than {allowed:.4f}", seen=neighbours)  # fmt: skip


@pytest.mark.parametrize("name", list(OF_TWO))
@clause("OPS-560", needs="dtype:float32")
def test_a_chance(device: torch.device, name: str) -> None:
    draw, chance = OF_TWO[name]
    seen = _drawn(draw, device)
    if seen is None:
        return
    check.equal("other values than 0 and 1", int(((seen != 0) & (seen != 1)).sum()), 0)
    allowed = DEVIATIONS * math.sqrt(chance * (1 - chance) / COUNT)
    part = float(seen.mean())
    check.that(f"how often {name} is 1", abs(part - chance) < allowed,
               expected=f"{chance}, or at most {allowed:.4f} off", seen=part)  # fmt: skip


@pytest.mark.parametrize("name", list(OF_MANY))
@clause("OPS-560", needs="dtype:float32")
def test_equal_chances(device: torch.device, name: str) -> None:
    draw, many = OF_MANY[name]
    seen = _drawn(draw, device)
    if seen is None:
        return
    check.equal(
        "values out of range", int(((seen < 0) | (seen >= many) | (seen % 1 != 0)).sum()), 0
    )
    counts = torch.bincount(seen.to(torch.int64), minlength=many)
    allowed = DEVIATIONS * math.sqrt(COUNT / many * (1 - 1 / many))
    worst = float((counts - COUNT / many).abs().max())
    check.that(f"how often {name} gives each value", worst < allowed,
               expected=f"{COUNT // many}, or at most {allowed:.0f} off", seen=worst)  # fmt: skip


WIDE: dict[str, tuple[Draw, int]] = {
    "random_": (lambda x: x.random_(), 63),
    "random_ below 2**40": (lambda x: x.random_(0, 1 << 40), 40),
    "random_ from -2**50": (lambda x: x.random_(-(1 << 50), 1 << 50) + (1 << 50), 51),
    "random_ below 2**31": (lambda x: x.random_(0, 1 << 31), 31),
    "randint": (lambda x: torch.randint(0, 1 << 45, x.shape, device=x.device), 45),
    "randint_like": (lambda x: torch.randint_like(x, 0, 1 << 36), 36),
}


@pytest.mark.parametrize("name", list(WIDE))
@clause("OPS-560", needs="dtype:int64")
def test_each_bit_is_drawn(device: torch.device, name: str) -> None:
    draw, bits = WIDE[name]
    seen = _drawn_as(torch.int64, draw, device)
    if seen is None:
        return
    check.equal("values out of range", int(((seen < 0) | (seen >> bits != 0)).sum()), 0)
    ones = ((seen[:, None] >> torch.arange(bits)) & 1).sum(0)
    worst = float((ones - COUNT / 2).abs().max())
    allowed = DEVIATIONS * math.sqrt(COUNT) / 2
    check.that(f"how often a bit of {name} is 1", worst < allowed,
               expected=f"{COUNT // 2}, or at most {allowed:.0f} off", seen=worst)  # fmt: skip


@clause("OPS-560", needs="dtype:int64")
def test_a_permutation(device: torch.device) -> None:
    torch.manual_seed(SEED)
    for length in (1, 2, 100, 1025):
        seen = host.download(torch.randperm(length, device=device))
        check.tensor("the sorted permutation", seen.sort().values, torch.arange(length))
    check.that("a permutation that moves elements", bool((seen != torch.arange(1025)).any()),
               expected="another order", seen="0, 1, 2, ...")  # fmt: skip


@clause("OPS-560", needs="dtype:int64")
def test_a_long_permutation_moves_both_ends(device: torch.device) -> None:
    torch.manual_seed(SEED)
    for length in (1025, 70_001, 300_007):
        ends = [host.download(torch.randperm(length, device=device))[[0, -1]] for _ in range(4)]
        for at, end in ((0, "first"), (1, "last")):
            found = {int(one[at]) for one in ends}
            check.that(f"the {end} of {length}", len(found) > 1, expected="another each time",
                       seen=found)  # fmt: skip
