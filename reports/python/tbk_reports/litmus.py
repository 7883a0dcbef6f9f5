# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The tests that `tbk run` makes of litmus programs, and what their records say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from .finding import Ordering, Record, ordering_of
from .model import Test

LAYER = "litmus"
SUITE = "litmus"
CAUSE = "order/"  # what the cause of a finding begins with
# Programs are drawn at random: that nothing was shown this time says nothing of another time.
BY_CHANCE = frozenset({"not-shown", "trivial", "unsupported", "left-out"})
_FACTS = ("edge", "finding", "footer")


def is_litmus(test: Test) -> bool:
    return test.layer == LAYER


def is_litmus_id(name: str) -> bool:
    return name.startswith(f"{SUITE}/")


def ordering_of_tests(tests: Iterable[Test]) -> Ordering | None:
    """Returns what litmus programs said in a run; None where none was asked for."""
    tests = list(tests)
    mine = [test for test in tests if is_litmus(test)]
    if not mine:
        return None
    records: list[Record] = []
    for test in mine:
        for name in _FACTS:
            fact = test.facts.get(name)
            if isinstance(fact, dict):
                records.append({**fact, "record": f"litmus-{name}"})
    return _with_gates(ordering_of(records), tests)


def _with_gates(ordering: Ordering, tests: Iterable[Test]) -> Ordering:
    """Adds how many tests of each kind's clause saw by a closed gate that it is kept."""
    held = Counter(
        test.clause for test in tests if test.gates and test.state == "pass" and not is_litmus(test)
    )
    edges = tuple(replace(edge, gates=held[edge.clause]) for edge in ordering.edges)
    return replace(ordering, edges=edges)
