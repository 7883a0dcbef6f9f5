# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Cases in which each two values of different dimensions meet, without trying all combinations.

Most faults depend on one or two things at once, such as a dtype and a layout. A case prints as one
line, `dtype=int8,layout=steps`, which is a part of the id of its test, by which it runs alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

Dimensions = Mapping[str, Sequence[str]]
Case = dict[str, str]
Allowed = Callable[[Case], bool]
"""Whether values go together; asked of unfinished cases, too, in which dimensions are missing."""
Value = tuple[str, str]
Pair = tuple[Value, Value]

HIDING: frozenset[Value] = frozenset(
    {("size", "none"), ("size", "one"), ("rank", "0"), ("form", "zero")}
    | {(name, "0") for name in ("batch", "rows", "inner", "columns")}
    | {("between", "empty_cache"), ("between", "empty_cache_twice"), ("recorded", "twice")}
)
"""Values that hide what else is special in a case: of one element no layout shows, and a device may
wait where its cache is emptied. Beside them other values have not met."""


def _pairs(dimensions: Dimensions) -> Iterator[Pair]:
    for one, other in itertools.combinations(dimensions, 2):
        for values in itertools.product(dimensions[one], dimensions[other]):
            yield (one, values[0]), (other, values[1])


def _of(case: Case) -> set[Pair]:
    return set(itertools.combinations(case.items(), 2))


def _met(case: Case) -> set[Pair]:
    """Returns the pairs that the case shows."""
    hiding = HIDING.intersection(case.items())
    return {pair for pair in _of(case) if not hiding or hiding.intersection(pair)}


def _in_order(case: Case, dimensions: Dimensions) -> Case:
    return {name: case[name] for name in dimensions if name in case}


def _finish(
    case: Case, dimensions: Dimensions, allowed: Allowed, new: set[Pair], used: Counter[Value]
) -> Case | None:
    """Returns the case with a value for each dimension, hiding nothing and with many new pairs; of
    values that bring as many, the one that was used least, so that none is in nearly all cases.
    None: there is none."""
    name = next((one for one in dimensions if one not in case), None)
    if name is None:
        return case
    tries = [_in_order({**case, name: value}, dimensions) for value in dimensions[name]]
    tries = [one for one in tries if allowed(one)]

    def rank(one: Case) -> tuple[bool, int, int]:
        value = name, one[name]
        return value in HIDING, -len(_met(one) & new), used[value]

    for one in sorted(tries, key=rank):
        found = _finish(one, dimensions, allowed, new, used)
        if found is not None:
            return found
    return None


def cover(dimensions: Dimensions, allowed: Allowed = lambda _: True) -> list[Case]:
    """Few cases, the same each time, in which each pair of values that may meet does."""
    waiting = dict.fromkeys(_pairs(dimensions))
    cases: list[Case] = []
    used: Counter[Value] = Counter()
    while waiting:
        pair = next(iter(waiting))
        start = _in_order(dict(pair), dimensions)
        made = _finish(start, dimensions, allowed, set(waiting), used) if allowed(start) else None
        waiting.pop(pair)
        if made is None:  # these two never meet
            continue
        cases.append(made)
        used.update(made.items())
        for covered in _met(made):
            waiting.pop(covered, None)
    return cases


def _spread(pairs_of: dict[int, set[Pair]], most: int) -> set[int]:
    """Returns as many cases as that, in which many pairs of values meet."""
    waiting = set().union(*pairs_of.values())
    rest, chosen = dict(pairs_of), set[int]()
    while rest and len(chosen) < most:
        best = max(rest, key=lambda index: len(rest[index] & waiting))
        chosen.add(best)
        waiting -= rest.pop(best)
    return chosen


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
    """Returns one test a case; it takes a parameter `case`. As many as `quick` of those that are
    not `slow`, in which many pairs meet, are of the quick tier; the others are of the thorough
    one."""
    cases = cover(dimensions, allowed)
    chosen = _spread(
        {index: _met(case) for index, case in enumerate(cases) if not slow(case)}, quick
    )
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
