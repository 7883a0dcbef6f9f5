# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the C layer's tests say together of what is broken: which things the failing ones asked
and the passing ones did not, and which clause each failure is held against. docs/adr/0024, 0079
and 0097 say why.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .calls import (
    AT_OFFSET,
    ON_FOREIGN,
    ON_OTHER_DEVICE,
    ON_OTHER_THREAD,
    WHILE_CLOSED,
    WITH_ERROR,
    WITH_NOTHING,
    function_of,
)
from .model import Test, grouped
from .seen import breach, counts_as, is_answer, is_refused, went_through

NOT_RUN = frozenset({"unsupported", "not-shown", "left-out"})
# Ways of a call of which a clause speaks only where it says so, or where its line does.
UNLESS_SAID = {WITH_ERROR: "Errors|On error|Requires",
               WITH_NOTHING: r"NULL|(?<!not )(?<!from )\b0\b(?! <)|no bytes|empty",
               AT_OFFSET: "offset|^Ensures", ON_OTHER_THREAD: "thread", ON_FOREIGN: "thread",
               WHILE_CLOSED: "clos|open"}  # fmt: skip
# Ways that are the fault's own where nothing else of the function fails.
SPECIAL = (ON_OTHER_THREAD, ON_OTHER_DEVICE, ON_FOREIGN, WHILE_CLOSED)
ENOUGH = 0.5  # the share of the failing tests from which on others may follow from a cause
A_FEW = 0.25  # the share from which on a call that failed is held against what its function does
MOST = 0.7  # the share of the failing tests that a check names, if it is what they have in common
MOSTLY = 0.5  # the share of a clause's tests from which on it is broken, and not a case of it
NEARLY_ALL = 0.95  # the share of the failing tests from which on a circumstance is of the fault
FEW = 0.5  # the share of all tests below which a circumstance is special
DISTINCT = 1.3  # how much more suspicious one thing is than another, if the difference matters
IN_SEVERAL = 3  # the clauses from which on what their checks name is what they have in common


@dataclass(frozen=True)
class Evidence:
    """What all tests of a run say together."""

    asked: Mapping[str, frozenset[str]]  # by the test's id
    of_clause: Mapping[str, Sequence[Test]]  # those that ran
    accused: Mapping[tuple[str, int], str]  # by a failing test's key: the clause it is held against
    ran: float
    failing: float
    failed_of: Mapping[str, float]  # by the thing asked: the failing tests that asked it
    ran_of: Mapping[str, float]
    answered: Mapping[str, int]  # by the function: wrong answers and ends that followed its call
    said: float = 0.0  # failing tests of which a check says what is wrong
    unrefused: float = 0.0  # the failing tests in which a call went through that was to be refused
    torch: Evidence | None = None  # what the tests of PyTorch's layer say, if any ran

    def of(self, test: Test) -> Evidence:
        """Returns what the tests of the same layer say."""
        return self.torch if self.torch is not None and test.layer == "torch" else self

    def suspicion(self, thing: str) -> float:
        """Returns from 0 to 1 how well a fault in it explains the run (Ochiai's coefficient);
        without a name, in what every test rests on: the library itself.
        """
        if not thing:
            return math.sqrt(self.failing / self.ran) if self.ran else 0.0
        failed = self.failed_of.get(thing, 0)
        return failed / math.sqrt(self.failing * self.ran_of[thing]) if failed else 0.0

    def explained(self, thing: str) -> float:
        """Returns the share of the failing tests that asked it."""
        if not thing:
            return 1.0
        return self.failed_of.get(thing, 0) / self.failing if self.failing else 0.0

    def explained_by(self, test: Test, share: float) -> float:
        """Returns how many of the failing tests, of the share that asked what this one did, may
        fail for the same reason: that its clause's refusal is missing harms no legal call."""
        is_refusal = test.label in ("Requires", "Errors") and went_through(test)
        most = self.unrefused / self.failing if is_refusal and self.failing else 1.0
        return min(share, most)

    def together(self, things: set[str]) -> tuple[float, float]:
        """Returns the suspicion of several things as if they were one, and the share of the failing
        tests that asked any of them."""
        ran = failed = 0.0
        for test in (test for tests in self.of_clause.values() for test in tests):
            if not things.isdisjoint(test.asked):
                count = counts_as(test) if test.failed else 1.0
                ran, failed = ran + count, failed + count * test.failed
        if not failed:
            return 0.0, 0.0
        return failed / math.sqrt(self.failing * ran), failed / self.failing

    def at_several(self, tests: Sequence[Test]) -> list[set[str]]:
        """Returns what a clause speaks of that several functions state, where its own tests fail at
        several, by the way of the call: then what is broken may be what these have in common. Empty
        elsewhere."""
        own = self.own(tests)
        spoken = set(map(function_of, own[0].about))
        if len({test.call for test in own} & spoken) < IN_SEVERAL:
            return []
        by_way: dict[str, set[str]] = defaultdict(set)
        for thing in self.things(tests):
            by_way[thing.partition(" ")[2]].add(thing)
        return [by_way[way] for way in sorted(by_way)]

    def things(self, tests: Sequence[Test]) -> set[str]:
        """Returns what the clause of some failing tests speaks of and they asked, in any way."""
        tests = self.own(tests)
        spoken = {name for test in tests for name in test.about}
        exact = {name for name in spoken if name.partition(" ")[2]}
        asked = {name for test in tests for name in self.asked.get(test.id, ())}
        if exact & asked:
            return exact & asked
        other = [way for way, word in UNLESS_SAID.items() if not _says(tests[0], word)]
        return {one for one in asked if one.partition(" ")[0] in spoken
                and not one.endswith(tuple(other))}  # fmt: skip

    def shared(self, tests: Sequence[Test]) -> set[str]:
        """Returns what all tests of a clause asked that names nothing in the spec."""
        tests = self.own(tests)
        ran = self.of_clause.get(tests[0].clause, tests)
        common = set.intersection(*(set(self.asked.get(test.id, ())) for test in ran))
        if tests[0].clause.startswith("THR"):
            return {name for name in common if name.endswith(ON_OTHER_THREAD)} or common
        return common

    def suspect(self, tests: Sequence[Test]) -> str:
        """Returns the most suspicious thing that the clause of some failing tests speaks of."""
        return self._most_suspicious(self.things(tests) or self.shared(tests))

    def _most_suspicious(self, things: set[str]) -> str:
        """Returns one of some things; empty for none. Of two as suspicious ones the plainer:
        "upload" before "upload at an offset"."""
        return max(sorted(things), key=lambda one: (round(self.suspicion(one), 2), " " not in one),
                   default="")  # fmt: skip

    def clause(self, tests: Sequence[Test]) -> str:
        """Returns the clause that some failing tests are held against."""
        return self.accused.get(tests[0].key, tests[0].clause)

    def share_of_its_tests(self, tests: Sequence[Test], thing: str) -> float:
        """Returns the share of a clause's tests asking it that fail; of few tests, less surely."""
        ran = self.of_clause.get(self.clause(tests), ())
        asking = [test for test in ran if not thing or thing in self.asked[test.id]]
        failed = sum(breach(test) for test in asking if test.failed and self.is_own(test))
        others = 0 if any(map(self.is_own, tests)) else len(tests)
        return (failed + others + 0.25) / (len(asking) + others + 0.5)

    def tells(self, test: Test) -> bool:
        """Returns whether a failing test says what its clause rests on: what it asked; or that its
        check failed before it had asked anything, where others tell what they did.
        """
        is_early = test.key in self.accused and test.recorded == "fail"
        return bool(test.asked) or (is_early and bool(self.ran_of))

    def own(self, tests: Sequence[Test]) -> Sequence[Test]:
        """Returns those of some failing tests that are held against their own clause; where none
        is, all, as if they were of the clause that they are held against.
        """
        found = [test for test in tests if self.is_own(test)]
        ran = self.of_clause.get(self.clause(tests), ())
        if found or not ran or ran[0].clause == tests[0].clause:
            return found or tests
        return [_as_of(ran[0], test) for test in tests]

    def is_own(self, test: Test) -> bool:
        """Returns whether a failing test is held against the clause that it is of."""
        return self.accused.get(test.key) == test.clause

    def share(self, clause: str) -> float:
        """Returns the share of a clause's tests that fail by their own checks."""
        ran = self.of_clause.get(clause, ())
        failed = sum(breach(test) for test in ran if test.failed and self.is_own(test))
        return failed / len(ran) if ran else 0.0

    def borne_out(self, clause: str) -> float:
        """Returns the same of those that passed or failed by their own checks: what had no time
        or ended in a crash says little for its clause, and nothing against it."""
        ran = self.of_clause.get(clause, ())
        failed = sum(breach(test) for test in ran if test.failed and self.is_own(test))
        passed = sum(not test.failed for test in ran)
        return (failed + 0.25) / (failed + passed + 0.5)

    def follows(self, tests: Sequence[Test]) -> float:
        """Returns 1 where a clause that this one builds on fails as such; 0 for none."""
        things = self.things(tests) or self.shared(tests)
        most = max(map(self.suspicion, things), default=0.0)
        return float(
            any(
                self.fails_as_such(base, things) and self.may_be_at_fault(base, things, most)
                for base in self.own(tests)[0].bases
            )
        )

    def may_be_at_fault(self, base: str, things: set[str], most: float) -> bool:
        """Returns whether what fails of a clause may be its own fault: where all of its tests ask
        some things, only if those are not distinctly more suspicious than what it speaks of.
        """
        ran = self.of_clause.get(base, ())
        if any(things.isdisjoint(self.asked[test.id]) for test in ran):
            return True
        failing = [test for test in ran if test.failed]
        own = max(map(self.suspicion, self.things(failing)), default=most)
        return most < DISTINCT * own

    def fails_as_such(self, base: str, things: set[str]) -> bool:
        """Returns whether all of a clause's tests fail in any way, or most by their own checks:
        of those that do not ask some things, if any, or of those that ask what is the most
        suspicious of what it speaks of.
        """
        ran = self.of_clause.get(base, ())
        failing = [test for test in ran if test.failed and self.is_own(test)]
        if not failing or len(failing) == len(ran):
            return bool(failing)
        without = [test for test in ran if things.isdisjoint(self.asked[test.id])] or ran
        most = self._most_suspicious(self.things(failing))
        asking = [test for test in ran if most in self.asked[test.id]]
        return self._mostly_fail(without) or self._mostly_fail(asking)

    def _mostly_fail(self, tests: Sequence[Test]) -> bool:
        failed = sum(breach(test) for test in tests if test.failed and self.is_own(test))
        return failed >= MOSTLY * len(tests) and failed > 0

    def is_in_a_way(self, tests: Sequence[Test]) -> bool:
        """Returns whether the fault shows where a function is called from another thread or on
        another device, in the way that the clause of some failing tests is about.
        """
        return self.is_distinct(self.suspect(tests))

    def is_distinct(self, thing: str) -> bool:
        """Returns whether a function fails in this way of calling it, and not in others."""
        if not thing.endswith(SPECIAL):
            return False
        plainly = self.suspicion(thing.partition(" ")[0])
        return self.explained(thing) >= ENOUGH and self.suspicion(thing) >= DISTINCT * plainly

    def is_of_another(self, tests: Sequence[Test]) -> float:
        """Returns the share of a clause's failing tests whose check says that another one is
        broken, which its own tests do not show.
        """
        clause = self.clause(tests)
        own = [test for test in tests if self.is_own(test)]
        return sum(test.checked not in ("", clause) for test in own) / len(own) if own else 0.0

    def named_by_checks(self, tests: Sequence[Test]) -> float:
        """Returns the share of the failed checks that are of this clause, whatever their tests are
        of; less where the clause's own tests do not bear it out."""
        clause = self.clause(tests)
        named = sum(counts_as(test) for test in tests if test.checked == clause)
        # Of crashes, hangs and warnings alone, no check has failed.
        return named / self.said * self.borne_out(clause) if self.said else 0.0


def _as_of(one: Test, test: Test) -> Test:
    """Returns a test as if it were of the clause of another one."""
    return replace(test, clause=one.clause, about=one.about, label=one.label, bases=one.bases,
                   clause_text=one.clause_text)  # fmt: skip


def _says(test: Test, pattern: str) -> bool:
    return bool(re.search(pattern, f"{test.label}: {test.clause_text}"))


def _in_common(failing: Sequence[Test]) -> set[str]:
    """Returns the clauses that nearly all checks name, in tests of several clauses. One fault is
    assumed: then it is none of those circumstances.
    """
    naming: dict[str, list[str]] = defaultdict(list)
    for test in failing:
        if not test.implied and test.checked not in ("", test.clause):
            naming[test.checked].append(test.clause)
    return {name for name, clauses in naming.items()
            if len(set(clauses)) >= IN_SEVERAL and len(clauses) >= MOST * len(failing)}  # fmt: skip


def held_against(
    failing: Iterable[Test],
    of_clause: Mapping[str, Sequence[Test]],
    is_distinct: Callable[[str], bool] = lambda thing: False,
) -> dict[tuple[str, int], str]:
    """Returns the clause that each failing test is held against: that of the check which failed,
    where a test of that clause fails by it too, and more than a few do where no check names it, or
    where tests of several clauses have it in common; else that of the test, whose circumstances are
    what is special. What a call did not do is not held against its function where it fails in one
    way of calling it alone.
    """
    found = list(failing)
    own = Counter(test.clause for test in found if test.checked in ("", test.clause))
    common = {name for name in _in_common(found) if of_clause.get(name)}

    def is_broken(test: Test) -> bool:
        if test.checked in common and not test.implied:
            return True
        if test.implied and any(is_distinct(test.call + way) for way in SPECIAL):
            return False
        least = A_FEW * len(of_clause.get(test.checked, ())) if test.implied else 1
        return own[test.checked] >= max(least, 1)

    return {test.key: test.checked if is_broken(test) else test.clause for test in found}


def _has_run(test: Test) -> bool:
    """Returns whether it says something: what was never begun, since the device had gone, does
    not.
    """
    never_begun = test.recorded == "not-reached" and not test.asked
    return test.verdict not in NOT_RUN and not never_begun


def _elsewhere(test: Test) -> bool:
    return any(thing.endswith(ON_OTHER_DEVICE) for thing in test.asked)


def _comparable(ran: list[Test]) -> list[Test]:
    """Leaves out what passed on the first device alone, where all that failed used another one."""
    failing = [test for test in ran if test.failed]
    is_of_fault = sum(map(_elsewhere, failing)) >= NEARLY_ALL * len(failing)
    if is_of_fault and sum(map(_elsewhere, ran)) < FEW * len(ran):
        return [test for test in ran if test.failed or _elsewhere(test)]
    return ran


def gather(tests: Iterable[Test]) -> Evidence:
    """Returns what the tests say together, each layer by itself; those of other programs left
    out."""
    ran = [test for test in tests if _has_run(test)]
    torch = [test for test in ran if test.layer == "torch" and test.asked]
    found = _gathered(_comparable([test for test in ran if test.layer == "c"]))
    return replace(found, torch=_gathered(torch)) if torch else found


def _asked_for(test: Test) -> frozenset[str]:
    """Returns what a test asked: not the error that a legal call answered, which is what went
    wrong."""
    is_wrong = test.recorded == "fail" and is_refused(test)
    return test.asked - {test.call + WITH_ERROR} if is_wrong else test.asked


def _gathered(ran: list[Test]) -> Evidence:
    ran = [replace(test, asked=_asked_for(test)) for test in ran]
    failing = [test for test in ran if test.failed]
    of_clause = grouped(ran, lambda test: test.clause)
    failed_of: dict[str, float] = defaultdict(float)
    ran_of: dict[str, float] = defaultdict(float)
    for test in ran:
        count = counts_as(test) if test.failed else 1.0
        for thing in test.asked:
            ran_of[thing] += count
            if test.failed:
                failed_of[thing] += count
    evidence = Evidence(
        asked={test.id: test.asked for test in ran},
        of_clause=of_clause,
        accused={},
        ran=float(len(ran)),
        failing=sum(map(counts_as, failing)),
        failed_of=failed_of,
        ran_of=ran_of,
        answered=Counter(test.call for test in failing if test.call and is_answer(test)),
        said=float(sum(test.recorded == "fail" for test in failing)),
        unrefused=sum(map(counts_as, filter(went_through, failing))),
    )
    return replace(evidence, accused=held_against(failing, of_clause, evidence.is_distinct))
