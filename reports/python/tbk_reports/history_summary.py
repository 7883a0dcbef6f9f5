# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a history keeps of a result file: a letter for each test, and what failed by which cause."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from .clauses import clause_state
from .extent import Extent
from .generated.areas import AREAS
from .litmus import BY_CHANCE, SUITE
from .words import STATES

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LETTER = {state: LETTERS[at] for at, state in enumerate(STATES)}  # the worst state comes first
STATE = {letter: state for state, letter in LETTER.items()}
_LITMUS = f"{SUITE}/"
_BY_CHANCE = frozenset(LETTER[state] for state in BY_CHANCE)


@dataclass(frozen=True)
class Table:
    """The tests of a file in their order; many files have the same."""

    tests: tuple[str, ...]
    clauses: tuple[str, ...]  # of each test
    suites: tuple[str, ...]  # likewise

    @cached_property
    def key(self) -> str:
        joined = "\n".join((*self.tests, "", *self.clauses, "", *self.suites))
        return hashlib.sha1(joined.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()

    @cached_property
    def distinct(self) -> bool:
        return len(set(self.tests)) == len(self.tests)

    @cached_property
    def areas(self) -> tuple[str, ...]:
        pairs = zip(self.clauses, self.suites, strict=True)
        return tuple(AREAS.get(clause[:3], suite) for clause, suite in pairs)

    @cached_property
    def members(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Returns for each clause where its tests stand, those of litmus programs by themselves."""
        found: dict[str, tuple[list[int], list[int]]] = {}
        for at, (test, clause) in enumerate(zip(self.tests, self.clauses, strict=True)):
            found.setdefault(clause, ([], []))[test.startswith(_LITMUS)].append(at)
        return tuple((tuple(plain), tuple(litmus)) for plain, litmus in found.values())


_UNKNOWN = Extent("quick", (), 0, 0)


@dataclass(frozen=True)
class Failures:
    """What failed in a file by one cause."""

    cause: str
    title: str
    clause: str
    tests: tuple[str, ...]
    states: tuple[str, ...]  # worst first, each once
    seen: str
    replay: str


@dataclass(frozen=True)
class Summary:
    """One result file. Of one that is torn only `problem` counts."""

    path: str
    digest: str = ""
    problem: str = ""
    started: str = ""
    name: str = ""
    version: str = ""
    devices: tuple[str, ...] = ()
    extent: Extent = _UNKNOWN
    shard: str = ""
    verdict: str = ""
    exit_code: int = 0
    reason: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)  # suite, specification, backend, ...
    settings: Mapping[str, str] = field(default_factory=dict)  # seed, order, machine
    table: str = ""  # key of its table
    states: str = ""  # a letter for each test of the table
    clauses: Mapping[str, int] = field(default_factory=dict)  # how many have each state
    area_ns: Mapping[str, int] = field(default_factory=dict)
    failures: tuple[Failures, ...] = ()


@cache
def _state_of(letters: frozenset[str]) -> str:
    return clause_state(STATE[letter] for letter in letters)


def clause_counts(table: Table, states: str) -> dict[str, int]:
    """Returns how many clauses have each state; as on the page of a run, what litmus programs did
    not show by chance says nothing of a clause of which other tests say something."""
    found: Counter[str] = Counter()
    for plain, litmus in table.members:
        letters = {states[at] for at in plain}
        told = {states[at] for at in litmus} if litmus else set()
        found[_state_of(frozenset(letters | (told - _BY_CHANCE if letters else told)))] += 1
    return dict(found)
