# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Cases in which each two values of different dimensions meet, without trying all combinations.

Most faults depend on one or two things at once, such as a dtype and a layout. A case prints as one
line, `dtype=int8,layout=steps`, which is a part of the id of its test, by which it runs alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

Dimensions = Mapping[str, Sequence[str]]
Case = dict[str, str]
Allowed = Callable[[Case], bool]
"""Whether values go together; asked of unfinished cases, too, in which dimensions are missing."""
Pair = tuple[tuple[str, str], tuple[str, str]]


def _pairs(dimensions: Dimensions) -> Iterator[Pair]:
    for one, other in itertools.combinations(dimensions, 2):
        for values in itertools.product(dimensions[one], dimensions[other]):
            yield (one, values[0]), (other, values[1])


def _of(case: Case) -> set[Pair]:
    return set(itertools.combinations(case.items(), 2))


def _in_order(case: Case, dimensions: Dimensions) -> Case:
    return {name: case[name] for name in dimensions if name in case}


def _finish(case: Case, dimensions: Dimensions, allowed: Allowed, new: set[Pair]) -> Case | None:
    """The case with a value for each dimension, with many new pairs; None: there is none."""
    name = next((one for one in dimensions if one not in case), None)
    if name is None:
        return case
    tries = [_in_order({**case, name: value}, dimensions) for value in dimensions[name]]
    tries = [one for one in tries if allowed(one)]
    for one in sorted(tries, key=lambda one: -len(_of(one) & new)):
        found = _finish(one, dimensions, allowed, new)
        if found is not None:
            return found
    return None


def cover(dimensions: Dimensions, allowed: Allowed = lambda _: True) -> list[Case]:
    """Few cases, the same each time, in which each pair of values that may meet does."""
    waiting = dict.fromkeys(_pairs(dimensions))
    cases: list[Case] = []
    while waiting:
        pair = next(iter(waiting))
        start = _in_order(dict(pair), dimensions)
        made = _finish(start, dimensions, allowed, set(waiting)) if allowed(start) else None
        waiting.pop(pair)
        if made is None:  # these two never meet
            continue
        cases.append(made)
        for covered in _of(made):
            waiting.pop(covered, None)
    return cases


def line(case: Case) -> str:
    """The case as it is printed."""
    return ",".join(f"{name}={value}" for name, value in case.items())


def each_case(
    dimensions: Dimensions,
    allowed: Allowed = lambda _: True,
    *,
    needs: Callable[[Case], str] = lambda _: "",
    slow: Callable[[Case], bool] = lambda _: False,
    quick: int = 8,
) -> pytest.MarkDecorator:
    """One test a case; it takes a parameter `case`. About as many as `quick` of those that are not
    `slow` are of the quick tier, spread over all; the others are of the thorough one."""
    cases = cover(dimensions, allowed)
    fast = [index for index, case in enumerate(cases) if not slow(case)]
    chosen = set(fast[:: max(1, -(-len(fast) // quick))])
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=line(case),
                marks=[pytest.mark.needs(needs(case))]
                + ([] if index in chosen else [pytest.mark.thorough]),
            )
            for index, case in enumerate(cases)
        ],
    )
