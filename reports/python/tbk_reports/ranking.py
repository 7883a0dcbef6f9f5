# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which of many failing clauses of the C layer to look at first, and what may follow from it.

The order knows what each clause speaks of and promises (from the spec), and what each test asked of
the backend and got (from the run), and nothing else. One fault is assumed: it lies in something
that the failing tests asked, and that few of the passing ones did. docs/adr/0024 says why, and how
well it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .calls import FLAG, ON_STREAM, OPCODE, function_of, how_much
from .evidence import ENOUGH, Evidence
from .generated.areas import AREAS
from .model import Test
from .seen import NO_CHECK, fits, is_answer

# Not about one function: these areas look at many together, so their tests fail with each of them.
CROSSING = frozenset({"thread", "fork", "teardown", "capability", "fault"})
# What a line of the header promises, from what a function does to what else it does not do.
LABELS = {"Ensures": 0, "Ordering": 0.5, "Requires": 1, "Errors": 1, "Ownership": 1,
          "On error": 1.5, "Threads": 1.5}  # fmt: skip
# Where work that was enqueued before runs, or ends the process.
WHERE_WORK_RUNS = frozenset({"stream_synchronize", "device_synchronize", "event_synchronize",
                             "stream_query", "event_query", "device_close"})  # fmt: skip
CLEAN = ("clean", "close", "exit")
AS_SUSPICIOUS = 0.8  # the share of the greatest suspicion from which on a title accuses neither

# How much each of the reasons of `reasons` counts; those that are logarithms are of shares.
WEIGHTS = {
    "suspicious": 4.0,
    "explains": 4.0,
    "all of its tests": 1.5,
    "all of any kind": 0.5,
    "answered": 0.5,
    "said by a check": 6.0,
    "after the test": 3.0,
    "promise": 1.0,
    "label": 0.5,
    "simple": 1.0,
    "crossing": 1.0,
    "named by the spec": 1.0,
    "named by checks": 2.0,
    "of another": 2.5,
    "follows from its base": 2.0,
}
# Of a test that did not come to its end in time, mostly because others hung.
GIVEN_UP = 1.5
# How much a test asks that works on instances of its own, of which no call is noted: the median
# of all tests.
ON_ITS_OWN = 17
Rank = tuple[float, ...]


def _how_much(test: Test) -> int:
    """Returns how much a test asked of the backend."""
    return how_much(test.asked) or ON_ITS_OWN


def _order_within(test: Test) -> Rank:
    """Returns the test of a clause that says most: one whose own check failed, and that asks
    least."""
    asked = _how_much(test)
    return (test.phase in CLEAN, test.recorded != "fail", -fits(test), asked, test.index)


def best(tests: Sequence[Test]) -> Test:
    """Returns the simplest of some failing tests of a clause."""
    return min(tests, key=_order_within)


def _answered(thing: str, evidence: Evidence) -> float:
    """Returns how much of what was answered wrongly followed a call of it, from 0 to 1."""
    total = sum(evidence.answered.values())
    name = "launch" if thing.startswith(("op:", OPCODE, FLAG)) else function_of(thing)
    return (evidence.answered.get(name, 0) + 0.1 * total + 1) / (1.1 * total + 1)


def _unsaid(test: Test) -> float:
    """Returns 0 where a check says what is wrong, NO_CHECK where the process came to no end in what
    the clause speaks of, 1 elsewhere, and GIVEN_UP where the test had too little time."""
    if test.recorded == "fail":
        return 0.0
    if test.recorded == "not-reached":
        return GIVEN_UP
    spoken = set(map(function_of, test.about))
    enqueued = {function_of(one) for one in test.asked if one.endswith(ON_STREAM)}
    runs_here = test.call in WHERE_WORK_RUNS and not spoken.isdisjoint(enqueued)
    speaks_of_it = not spoken or test.call in spoken or runs_here
    return NO_CHECK if test.call and speaks_of_it else 1.0


def _fault(tests: Sequence[Test], thing: str, evidence: Evidence) -> tuple[float, float]:
    """Returns how suspicious the fault is, and how much it explains: in the one thing that a clause
    speaks of, or in what all functions that state and break it have in common."""
    found = [(evidence.suspicion(thing), evidence.explained(thing))]
    found.extend(map(evidence.together, evidence.at_several(tests)))
    return max(found, key=lambda one: math.log(one[0] + 0.05) + math.log(one[1] + 0.1))


def reasons(tests: Sequence[Test], evidence: Evidence) -> dict[str, float]:
    """Returns what speaks for a clause as the broken one, by its failing tests."""
    first, thing = best(evidence.own(tests)), evidence.suspect(tests)
    special = evidence.is_in_a_way(tests)  # and so neither broad, nor a fault of what it builds on
    crossing = AREAS.get(evidence.clause(tests).partition("-")[0], "") in CROSSING
    suspicion, explained = _fault(tests, thing, evidence)
    return {
        "suspicious": math.log(suspicion + 0.05),
        "explains": math.log(evidence.explained_by(first, explained) + 0.1),
        "all of its tests": math.log(evidence.share_of_its_tests(tests, thing)),
        "all of any kind": math.log(evidence.borne_out(evidence.clause(tests))),
        "answered": math.log(_answered(thing, evidence)),
        "said by a check": -min(map(_unsaid, tests)),
        "after the test": -float(first.phase in CLEAN),
        "promise": fits(first),
        "simple": -math.log(1 + min(map(_how_much, evidence.own(tests)))),
        "label": -LABELS.get(first.label, 1.0),
        "crossing": -float(crossing and not special),
        "named by the spec": float(bool(evidence.things(tests))),
        "named by checks": math.log(evidence.named_by_checks(tests) + 0.1),
        "of another": -evidence.is_of_another(tests) * (not crossing),
        "follows from its base": -evidence.follows(tests) * (not special),
    }


def rank(tests: Sequence[Test], evidence: Evidence) -> Rank:
    """Returns the place of a clause's failing tests, lowest first."""
    score = sum(WEIGHTS[name] * value for name, value in reasons(tests, evidence).items())
    return (-round(score, 3), best(evidence.own(tests)).index)


def rank_missing(tests: Sequence[Test], evidence: Evidence) -> Rank:
    """Returns the place of failures by one operator that is missing, among those of clauses: all
    that call it fail, and no clause is broken."""
    share = min(len(tests) / evidence.failing, 1.0) if evidence.failing else 0.0
    score = WEIGHTS["suspicious"] * math.log(math.sqrt(share) + 0.05)
    score += WEIGHTS["explains"] * math.log(share + 0.1)
    return (-round(score, 3), min(test.index for test in tests))


def builds_on(tests: Sequence[Test], first: Sequence[Test], evidence: Evidence) -> bool:
    """Tells whether failures of PyTorch's layer may follow from those of `first`: their clause
    builds on that one, or is the same, and most of that one's tests fail."""
    if tests[0].blame != first[0].blame:
        return False
    base = first[0].clause
    return base in tests[0].bases and evidence.fails_as_such(base, set())


def may_follow(tests: Sequence[Test], first: Sequence[Test], evidence: Evidence) -> bool:
    """Tells whether failures may follow from those of `first`: all asked what its clause is about,
    or they ended in the same way in the same call."""
    if any(test.blame != first[0].blame for test in tests):
        return False
    if first[0].recorded != "fail" and first[0].cause == tests[0].cause != "":
        return True
    suspect = evidence.suspect(first)
    if not suspect or evidence.explained(suspect) < ENOUGH:
        return False
    return all(suspect in test.asked for test in tests)


def subject(tests: Sequence[Test], evidence: Evidence) -> str:
    """Returns the function or operator that a clause's failing tests accuse; empty where several
    are as suspicious and none of them answered wrongly."""
    found, first = evidence.things(tests), best(evidence.own(tests))
    if is_answer(first) and first.call in map(function_of, found):
        return first.call
    most = max(map(evidence.suspicion, found), default=0.0)
    near = {function_of(one) for one in found if evidence.suspicion(one) >= AS_SUSPICIOUS * most}
    return near.pop() if len(near) == 1 else ""
