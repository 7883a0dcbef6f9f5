# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which of many failing clauses of the C layer to look at first, and what may follow from it.

The order knows what each clause speaks of (from the spec) and what each test asked of the backend
(from the run), and nothing else. One fault is assumed: it lies in something that the failing tests
asked, and that few of the passing ones did. docs/adr/0024 says why, and how well it does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .calls import function_of
from .generated.areas import AREAS
from .model import Test

# Not about one function: these areas look at many together, so their tests fail with each of them.
CROSSING = frozenset({"thread", "fork", "teardown", "capability", "fault"})
STATUSES = ("INVALID_STATE", "UNSUPPORTED", "OUT_OF_MEMORY", "NOT_READY", "UNAVAILABLE", "FAILED",
            "DEVICE_LOST")  # fmt: skip
# What a line of the header promises, from what a function does to what else it does not do.
LABELS = {"": 0, "Ensures": 0, "Requires": 1, "Ordering": 1, "Errors": 2, "Ownership": 3,
          "On error": 3, "Threads": 4}  # fmt: skip
NOT_RUN = frozenset({"unsupported", "not-shown", "left-out", "not-reached"})
CLEAN = ("clean", "close", "exit")
ENOUGH = 0.5  # the share of the failing tests from which on others may follow from a cause

Rank = tuple[float, ...]


@dataclass(frozen=True)
class Evidence:
    """What all tests of a run say together."""

    asked: Mapping[str, frozenset[str]]  # by the test's id
    failing: int
    failed_of: Mapping[str, int]  # by the thing asked: the failing tests that asked it
    ran_of: Mapping[str, int]

    def suspicion(self, thing: str) -> float:
        """Returns from 0 to 1 how well a fault in it explains the run (Ochiai's coefficient)."""
        failed = self.failed_of.get(thing, 0)
        return failed / math.sqrt(self.failing * self.ran_of[thing]) if failed else 0.0

    def explained(self, thing: str) -> float:
        """Returns the share of the failing tests that asked it."""
        return self.failed_of.get(thing, 0) / self.failing if self.failing else 0.0

    def suspect(self, test: Test) -> str:
        """Returns the most suspicious thing that the test's clause speaks of and that it asked."""
        spoken = sorted(set(test.about) & self.asked.get(test.id, frozenset()))
        return max(spoken, key=self.suspicion, default="")


def gather(tests: Iterable[Test]) -> Evidence:
    """Returns what the C layer's tests say together, those of other layers left out."""
    ran = [test for test in tests if test.layer == "c" and test.verdict not in NOT_RUN]
    failing = [test for test in ran if test.failed]
    return Evidence(
        asked={test.id: test.asked for test in ran},
        failing=len(failing),
        failed_of=Counter(thing for test in failing for thing in test.asked),
        ran_of=Counter(thing for test in ran for thing in test.asked),
    )


def _answers(test: Test) -> int:
    """How many of the statuses that were expected or seen the clause speaks of."""
    said = f"{test.expected} {test.seen}"
    return sum(word in said and word in test.clause_text for word in STATUSES)


def rank(test: Test, evidence: Evidence) -> Rank:
    """Returns the place of a failing test, lowest first: what needs least and explains most."""
    suspect = evidence.suspect(test)
    area = AREAS.get(test.clause.partition("-")[0], "")
    return (
        test.phase in CLEAN,
        "stream_create" in evidence.asked.get(test.id, frozenset()),
        -round(evidence.explained(suspect), 1),
        area in CROSSING,
        not test.about,
        LABELS.get(test.label, 2),
        -_answers(test),
        -round(evidence.suspicion(suspect), 1),
        test.index,
    )


def best(tests: Sequence[Test], evidence: Evidence) -> Test:
    """Returns the simplest of some failing tests."""
    return min(tests, key=lambda test: rank(test, evidence))


def may_follow(tests: Sequence[Test], first: Test, evidence: Evidence) -> bool:
    """Tells whether failures may follow from `first`: all asked what its clause is about."""
    suspect = evidence.suspect(first)
    if not suspect or evidence.explained(suspect) < ENOUGH:
        return False
    return all(test.blame == first.blame and suspect in test.asked for test in tests)


def subject(test: Test, evidence: Evidence) -> str:
    """Returns the function or operator that a failing test accuses; empty where none is."""
    suspect = evidence.suspect(test)
    return function_of(suspect) if suspect else ""
