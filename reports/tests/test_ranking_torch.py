# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which cause comes first in PyTorch's layer, and beside one of the C layer."""

from __future__ import annotations

from tbk_reports.causes import causes
from tbk_reports.model import Test
from test_ranking import PASSING, case


def of_torch(
    index: int, clause: str, bases: str = "", verdict: str = "pass", **more: object
) -> Test:
    stands_on = frozenset(bases.split())
    return case(index, clause, clause, verdict, layer="torch", bases=stands_on,
                asked=stands_on | {clause}, about=(clause,), **more)  # fmt: skip


def test_in_pytorchs_layer_what_others_build_on_comes_first_and_they_are_folded() -> None:
    gradient = of_torch(1, "AGD-501", "OPS-520 CPY-501 DEV-504", "fail")
    copy = of_torch(2, "CPY-501", "DEV-504", "fail")
    values = of_torch(3, "OPS-520", "CPY-501 DEV-504", "fail")
    sound = of_torch(4, "DEV-504")
    tests = [gradient, copy, values, sound]
    found = causes(tests[:3], among=tests)
    assert [(one.clauses, len(one.following)) for one in found] == [(("CPY-501",), 2)]


def test_in_pytorchs_layer_nothing_follows_from_a_base_that_holds() -> None:
    values = of_torch(1, "OPS-520", "CPY-501", "fail")
    gradient = of_torch(2, "AGD-501", "CPY-501", "fail")
    tests = [values, gradient, *(of_torch(at, "CPY-501") for at in range(3, 6))]
    assert len(causes(tests[:2], among=tests)) == 2


def test_the_c_layer_comes_before_pytorchs_which_says_nothing_of_it() -> None:
    of_c = case(5, "CPY-018", "memory_alloc fill", "fail")
    deep = [of_torch(at, "CPY-501", "", "fail") for at in range(1, 4)]
    found = causes([*deep, of_c], among=[*PASSING, *deep, of_c])
    assert [one.first.layer for one in found] == ["c", "torch"]
