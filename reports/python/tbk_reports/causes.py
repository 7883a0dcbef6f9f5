# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Failures by cause, what to mend first coming first, and what may follow from a cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from . import text
from .evidence import Evidence, gather
from .litmus import is_litmus
from .model import VERDICTS, Test, grouped
from .ranking import best, builds_on, may_follow, rank, rank_missing, subject
from .words import EARLY_PHASES, FOREIGN_BLAME, cause_of, fingerprint_words, state_words

# What causes of PyTorch's layer begin with that many clauses may share (words.cause_of).
MISSING, RAISES = "missing/", "raises/"
REQUIRED = "required/"  # what --require asks for is one thing to mend, however many tests need it


@dataclass(frozen=True)
class Cause:
    """Failures that have one cause."""

    key: str
    anchor: str
    tests: tuple[Test, ...]  # its own, the simplest first, then those that may follow from it
    own: int = 0  # how many are its own; 0: all
    subject: str = ""  # the function that it accuses, where that is known
    clause: str = ""  # that its own tests are held against, where the order goes by clauses
    ranked: tuple[float, ...] = ()

    @cached_property
    def following(self) -> tuple[Test, ...]:
        """Failures that may follow from this one: their tests stand on what it breaks."""
        return self.tests[self.own :] if self.own else ()

    @cached_property
    def following_words(self) -> str:
        if not self.following:
            return ""
        clauses = {test.clause for test in self.following}
        count = text.count_words(len(self.following), "failure")
        return f"{count} of {text.count_words(len(clauses), 'clause')} may follow from it"

    @cached_property
    def count_words(self) -> str:
        """Returns how many of the failures are its own, and how many may follow from it."""
        own = text.count_words(self.own or len(self.tests), "test")
        return f"{own}; {self.following_words}" if self.following else own

    @property
    def first(self) -> Test:
        return self.tests[0]

    @cached_property
    def title(self) -> str:
        first = self.first
        if first.verdict == "xpass":
            return "waived, but passes"
        said = fingerprint_words(first, len(self.clauses), self.subject)
        if said:
            return text.line(said, 160)
        said = first.cause or first.what or f"{first.clause} {state_words(first.verdict)}"
        return text.line(said, 160)

    @cached_property
    def verdicts(self) -> dict[str, int]:
        found = Counter(test.verdict for test in self.tests)
        return {name: found[name] for name in VERDICTS if found[name]}

    @cached_property
    def clauses(self) -> tuple[str, ...]:
        """Returns the clauses of its own tests, or the one that they are held against."""
        if self.clause:
            return (self.clause,)
        own = self.tests[: self.own or None]
        return tuple(dict.fromkeys(test.clause for test in own))

    @cached_property
    def must(self) -> int:
        return sum(test.level == "must" for test in self.tests)

    @property
    def weight(self) -> int:
        """Mandatory tests; of a failed check those of one clause, since a check that many clauses
        share shows the symptom, and the check of one clause names the fault."""
        if not cause_of(self.first).startswith("fail/"):
            return self.must
        counted = Counter(test.clause for test in self.tests if test.level == "must")
        return max(counted.values(), default=0)

    @property
    def rank(self) -> tuple[object, ...]:
        first = self.first
        return (
            first.blame in FOREIGN_BLAME or (not self.ranked and first.verdict == "not-reached"),
            not cause_of(first).startswith(REQUIRED),
            first.phase not in EARLY_PHASES,
            self.must == 0,
            first.layer == "torch",  # the C layer before PyTorch, which stands on it
            not self.ranked,
            *self.ranked,
            -self.weight,
            -self.must,
            -len(self.tests),
            first.index,
        )


def _cause_key(test: Test, evidence: Evidence) -> str:
    if test.verdict == "xpass":
        return "xpass\0" + test.waiver
    cause = cause_of(test)
    if cause.startswith(REQUIRED):
        return cause
    if evidence.of(test).tells(test) and not cause.startswith(MISSING):
        # Then the run says how much speaks for the clause. Wrong values of two operators are two.
        of_operator = test.layer == "torch" and "operator" in test.facts
        one = cause if of_operator and not cause.startswith(RAISES) else ""
        return f"{test.blame}\0{evidence.of(test).clause([test])}\0{one}"
    return f"{test.blame}\0{cause}" if cause else f"{test.clause}\0{test.verdict}"


def _group(key: str, tests: list[Test], among: Evidence) -> Cause:
    evidence = among.of(tests[0])
    required = cause_of(tests[0]).startswith(REQUIRED)
    if required or not any(map(evidence.tells, tests)):
        return Cause(key, "", tuple(tests))
    if cause_of(tests[0]).startswith(MISSING):
        return Cause(key, "", tuple(tests), ranked=rank_missing(tests, evidence))
    first, clause = best(evidence.own(tests)).key, evidence.clause(tests)
    ordered = tuple(sorted(tests, key=lambda test: test.key != first))
    accused = "" if tests[0].layer == "torch" else subject(tests, evidence)
    return Cause(key, "", ordered, 0, accused, clause, rank(tests, evidence))


def _has_same_clause(cause: Cause, head: Cause) -> bool:
    """Returns whether litmus programs accuse, among others, the clause of a cause that tests of it
    have found: then that is the one."""
    of_order = all(map(is_litmus, cause.tests)) and bool(head.ranked)
    return of_order and not {head.clause}.isdisjoint(cause.clauses)


def _follows(cause: Cause, first: tuple[Test, ...], evidence: Evidence) -> bool:
    """Returns whether a cause may follow from another one's own tests, in the same layer."""
    if cause.first.layer != first[0].layer:
        return False
    if cause.first.layer != "torch":
        return may_follow(cause.tests, first, evidence)
    same = cause_of(cause.first) == cause_of(first[0]) and cause_of(first[0]).startswith(RAISES)
    return same or builds_on(cause.tests, first, evidence.of(cause.first))


def _folded(ranked: list[Cause], evidence: Evidence) -> list[Cause]:
    """Each cause that may follow from one before it joins that one."""
    heads: list[Cause] = []
    for cause in ranked:
        for at, head in enumerate(heads):
            own = head.own or len(head.tests)
            ranked_both = cause.ranked and head.ranked
            if _has_same_clause(cause, head) or (
                ranked_both and _follows(cause, head.tests[:own], evidence)
            ):
                heads[at] = replace(head, tests=head.tests + cause.tests, own=own)
                break
        else:
            heads.append(cause)
    return heads


def unfolded(tests: Iterable[Test], evidence: Evidence) -> list[Cause]:
    """Tests grouped by cause, what to mend first coming first."""
    groups = grouped(tests, lambda test: _cause_key(test, evidence))
    made = [_group(key, members, evidence) for key, members in groups.items()]
    return sorted(made, key=lambda cause: cause.rank)


def causes(
    tests: Iterable[Test], name: str = "cause", among: Iterable[Test] = ()
) -> tuple[Cause, ...]:
    """Returns the same, with what may follow from a cause folded under it; `among` are all of the
    run."""
    evidence = gather(among)
    ranked = _folded(unfolded(tests, evidence), evidence)
    return tuple(replace(one, anchor=f"{name}-{at}") for at, one in enumerate(ranked, 1))
