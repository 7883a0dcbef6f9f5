# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a run says of each clause, and why some said nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from . import text
from .facts import lacking, others
from .generated.areas import AREAS
from .litmus import BY_CHANCE, is_litmus
from .model import FAILING, Test, grouped
from .words import HOLDING, STATES


def worst(states: Iterable[str]) -> str:
    return min(states, key=STATES.index)


def clause_state(states: Iterable[str]) -> str:
    """Returns the worst, but for a clause that was shown and only not in every way."""
    found = set(states)
    lowest = worst(found)
    return "partly" if lowest in ("not-shown", "unsupported") and found & HOLDING else lowest


@dataclass(frozen=True)
class Reason:
    """Tests that were not run, or showed nothing, for one reason."""

    words: str
    tests: tuple[Test, ...]

    @property
    def subject(self) -> str:
        """Returns the word of the capability that is not declared; empty for other reasons."""
        first = self.tests[0]
        told = first.needs_missing if first.verdict == "unsupported" else ""
        return "" if told.startswith("!") else text.line(told, 60)

    @cached_property
    def clauses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.clause for test in self.tests))

    @cached_property
    def areas(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.suite for test in self.tests))


@dataclass(frozen=True)
class Clause:
    id: str
    area: str
    level: str
    profile: str
    sentence: str
    source: str
    state: str
    tests: tuple[tuple[str, str, int], ...]  # id, state, how many records


@dataclass(frozen=True)
class Area:
    name: str
    clauses: tuple[Clause, ...]

    @property
    def holding(self) -> int:
        return sum(clause.state in HOLDING for clause in self.clauses)

    @cached_property
    def states(self) -> dict[str, int]:
        """Returns how many clauses have each state, the worst first."""
        found = [clause.state for clause in self.clauses]
        return {state: found.count(state) for state in STATES if state in found}

    @property
    def fails(self) -> bool:
        return not FAILING.isdisjoint(self.states)


def reasons(tests: Iterable[Test], key: Callable[[Test], str]) -> tuple[Reason, ...]:
    groups = grouped(tests, key)
    found = [Reason(text.line(words, 200), tuple(members)) for words, members in groups.items()]
    return tuple(sorted(found, key=lambda reason: (-len(reason.tests), reason.words)))


def _worst_first(by_id: dict[str, list[Test]]) -> tuple[tuple[str, str, int], ...]:
    found = [
        (test_id, worst(test.state for test in members), len(members))
        for test_id, members in by_id.items()
    ]
    return tuple(sorted(found, key=lambda item: STATES.index(item[1])))


def _telling(tests: list[Test]) -> list[Test]:
    """Leaves out what litmus programs did not show by chance, where other tests say something."""
    found = [test for test in tests if not (is_litmus(test) and test.state in BY_CHANCE)]
    return found or tests


def _clause(clause_id: str, tests: list[Test]) -> Clause:
    by_id = grouped(tests, lambda test: test.id)
    first = next((test for test in tests if test.clause_text), tests[0])
    return Clause(
        id=clause_id,
        area=AREAS.get(clause_id.partition("-")[0], tests[0].suite),
        level=first.level,
        profile=first.profile,
        sentence=text.line(first.clause_text, 400),
        source=text.line(first.clause_source, 300),
        state=clause_state(test.state for test in _telling(tests)),
        tests=_worst_first(by_id),
    )


def areas(tests: Iterable[Test]) -> tuple[Area, ...]:
    found: dict[str, list[Clause]] = {}
    for clause_id, members in grouped(tests, lambda test: test.clause).items():
        clause = _clause(clause_id, members)
        found.setdefault(clause.area, []).append(clause)
    return tuple(
        Area(name, tuple(sorted(clauses, key=lambda clause: clause.id)))
        for name, clauses in found.items()
    )


def need_words(test: Test) -> str:
    """Returns what a test needs that is not there, in words."""
    missing = test.needs_missing or test.evidence_reason
    if not missing:
        return "the reason is not recorded"
    if missing.startswith("!"):
        return others(missing[1:], test.layer)
    return lacking(missing, test.layer)
