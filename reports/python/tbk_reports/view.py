# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What there is to say about a judged run, worked out once for all renderers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from . import text
from .extent import Extent, extent, selected_words
from .generated.areas import AREAS
from .model import VERDICTS, Judged, Test, as_count
from .operators import operators
from .ranking import Evidence, best, gather, may_follow, rank, subject
from .words import (
    ADVICE,
    EARLY_PHASES,
    ERROR_WORDS,
    FOREIGN_BLAME,
    HOLDING,
    OTHERS,
    STATES,
    UNDECLARED,
    cause_of,
    fingerprint_words,
    state_words,
)


def worst(states: Iterable[str]) -> str:
    return min(states, key=STATES.index)


def clause_state(states: Iterable[str]) -> str:
    """The worst, but for a clause that was shown and only not in every way."""
    found = set(states)
    lowest = worst(found)
    return "partly" if lowest in ("not-shown", "unsupported") and found & HOLDING else lowest


@dataclass(frozen=True)
class Cause:
    """Failures that have one cause."""

    key: str
    anchor: str
    tests: tuple[Test, ...]  # its own, the simplest first, then those that may follow from it
    own: int = 0  # how many are its own; 0: all
    subject: str = ""  # the function that it accuses, where that is known
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
        """How many of the failures are its own, and how many may follow from it."""
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
        """The clauses of its own tests."""
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
            first.blame in FOREIGN_BLAME or first.verdict == "not-reached",
            first.phase not in EARLY_PHASES,
            self.must == 0,
            not self.ranked,  # the C layer before PyTorch, which stands on it
            *self.ranked,
            -self.weight,
            -self.must,
            -len(self.tests),
            first.index,
        )


@dataclass(frozen=True)
class Reason:
    """Tests that were not run, or showed nothing, for one reason."""

    words: str
    tests: tuple[Test, ...]

    @property
    def subject(self) -> str:
        """The capability that is not declared; empty for other reasons."""
        return self.words.removesuffix(UNDECLARED) if self.words.endswith(UNDECLARED) else ""

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

    @property
    def haystack(self) -> str:
        names = " ".join(test_id for test_id, _, _ in self.tests)
        return f"{self.id} {self.area} {self.sentence} {self.source} {names}".lower()


@dataclass(frozen=True)
class Area:
    name: str
    clauses: tuple[Clause, ...]

    @property
    def holding(self) -> int:
        return sum(clause.state in HOLDING for clause in self.clauses)


def _grouped(tests: Iterable[Test], key: Callable[[Test], str]) -> dict[str, list[Test]]:
    found: dict[str, list[Test]] = {}
    for test in tests:
        found.setdefault(key(test), []).append(test)
    return found


def _cause_key(test: Test) -> str:
    if test.verdict == "xpass":
        return "xpass\0" + test.waiver
    if _names_its_clause(test):
        return f"{test.blame}\0{test.clause}"
    cause = cause_of(test)
    return f"{test.blame}\0{cause}" if cause else f"{test.clause}\0{test.verdict}"


def _names_its_clause(test: Test) -> bool:
    """Whether it is a failed check of the C layer in a test, of which the clause is the cause."""
    return bool(test.asked) and test.recorded == "fail" and test.phase == "body"


def _group(key: str, tests: list[Test], evidence: Evidence) -> Cause:
    if not any(test.asked for test in tests):
        return Cause(key, "", tuple(tests))
    first = best(tests, evidence)
    ordered = (first, *(test for test in tests if test is not first))
    return Cause(key, "", ordered, 0, subject(first, evidence), rank(first, evidence))


def _folded(ranked: list[Cause], evidence: Evidence) -> list[Cause]:
    """Each cause that may follow from one before it joins that one."""
    heads: list[Cause] = []
    for cause in ranked:
        for at, head in enumerate(heads):
            own = head.own or len(head.tests)
            if cause.ranked and head.ranked and may_follow(cause.tests, head.first, evidence):
                heads[at] = replace(head, tests=head.tests + cause.tests, own=own)
                break
        else:
            heads.append(cause)
    return heads


def unfolded(tests: Iterable[Test], evidence: Evidence) -> list[Cause]:
    """Tests grouped by cause, what to mend first coming first."""
    groups = _grouped(tests, _cause_key)
    made = [_group(key, members, evidence) for key, members in groups.items()]
    return sorted(made, key=lambda cause: cause.rank)


def causes(
    tests: Iterable[Test], name: str = "cause", among: Iterable[Test] = ()
) -> tuple[Cause, ...]:
    """The same, with what may follow from a cause folded under it; `among` are all of the run."""
    evidence = gather(among)
    ranked = _folded(unfolded(tests, evidence), evidence)
    return tuple(replace(one, anchor=f"{name}-{at}") for at, one in enumerate(ranked, 1))


def _reasons(tests: Iterable[Test], key: Callable[[Test], str]) -> tuple[Reason, ...]:
    groups = _grouped(tests, key)
    found = [Reason(text.line(words, 200), tuple(members)) for words, members in groups.items()]
    return tuple(sorted(found, key=lambda reason: (-len(reason.tests), reason.words)))


def _worst_first(by_id: dict[str, list[Test]]) -> tuple[tuple[str, str, int], ...]:
    found = [
        (test_id, worst(test.state for test in members), len(members))
        for test_id, members in by_id.items()
    ]
    return tuple(sorted(found, key=lambda item: STATES.index(item[1])))


def _clause(clause_id: str, tests: list[Test]) -> Clause:
    by_id = _grouped(tests, lambda test: test.id)
    first = next((test for test in tests if test.clause_text), tests[0])
    return Clause(
        id=clause_id,
        area=AREAS.get(clause_id.partition("-")[0], tests[0].suite),
        level=first.level,
        profile=first.profile,
        sentence=text.line(first.clause_text, 400),
        source=text.line(first.clause_source, 300),
        state=clause_state(test.state for test in tests),
        tests=_worst_first(by_id),
    )


def areas(tests: Iterable[Test]) -> tuple[Area, ...]:
    found: dict[str, list[Clause]] = {}
    for clause_id, members in _grouped(tests, lambda test: test.clause).items():
        clause = _clause(clause_id, members)
        found.setdefault(clause.area, []).append(clause)
    return tuple(
        Area(name, tuple(sorted(clauses, key=lambda clause: clause.id)))
        for name, clauses in found.items()
    )


def _need_words(test: Test) -> str:
    missing = test.needs_missing or test.evidence_reason
    if not missing:
        return "the reason is not recorded"
    if missing.startswith("!"):
        return f"{missing[1:]}{OTHERS}"
    return f"{missing}{UNDECLARED}"


class View:
    """A judged run with everything worked out that a reader wants to know first."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.counts = judged.counts
        self.failing = tuple(test for test in judged.tests if test.failed)
        self.causes = causes(self.failing, among=judged.tests)
        if self.health:  # then what all else stands on is where to look
            self.causes = tuple(sorted(self.causes, key=lambda one: one.first.profile != "core"))
        self.warnings = causes((test for test in judged.tests if test.warns), name="warning")
        self.areas = areas(judged.tests)
        self.not_tested = _reasons(
            (test for test in judged.tests if test.verdict == "unsupported"), _need_words
        )
        self.not_shown = _reasons(
            (test for test in judged.tests if test.state == "not-shown"),
            lambda test: test.evidence_reason or "no reason was given",
        )
        self.trivial = _reasons(
            (test for test in judged.tests if test.state == "trivial"),
            lambda test: test.evidence_reason or "the device could not have shown the fault",
        )
        self.left_out = tuple(test for test in judged.tests if test.verdict == "left-out")
        self.waived = tuple(test for test in judged.tests if test.verdict == "xfail")
        self.known = _reasons(self.waived, lambda test: test.waiver or "known")
        self.operators = operators(judged.tests)
        self.notes = tuple(test for test in judged.tests if test.notes)

    @property
    def total(self) -> int:
        return len(self.judged.tests)

    @cached_property
    def health(self) -> str:
        """What the probe of the device said where it did not compute; empty where it did."""
        said = text.line(str(self.judged.footer.get("health") or ""), 300)
        return said if said != "ok" else ""

    @property
    def unsound_from_the_start(self) -> bool:
        """Then all that fails may follow from that one thing."""
        return self.health.startswith("not sound before the first test")

    @cached_property
    def name(self) -> str:
        return text.line(self.judged.backend_name, 80)

    @cached_property
    def version(self) -> str:
        return text.line(self.judged.backend_version, 60)

    @cached_property
    def title_name(self) -> str:
        return f"{self.name} {self.version}".strip()

    @cached_property
    def started(self) -> str:
        stated = text.line(str(self.judged.header.get("started") or ""), 40)
        found = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", stated)
        return f"{found[1]} {found[2]} UTC" if found else stated

    @cached_property
    def limited_to(self) -> str:
        """In words, when the run covers only a part of the suite."""
        return ", ".join(selected_words(self.judged.header))

    @cached_property
    def extent(self) -> Extent:
        return extent(self.judged)

    @property
    def word(self) -> str:
        """The verdict in one word: a pass of a part of the tier has a word of its own."""
        if self.judged.verdict == "pass":
            return "partial" if self.extent.partial else "pass"
        return self.judged.verdict if self.judged.verdict == "fail" else "error"

    @property
    def stamp(self) -> str:
        """The word, and of what it is the verdict: "PASS (quick)"."""
        said = self.extent.tier if self.word == "partial" else self.extent.words
        return self.word.upper() if self.word == "error" else f"{self.word.upper()} ({said})"

    @cached_property
    def partial_words(self) -> str:
        """What the run did not record of its tier; empty where it is complete."""
        return "; ".join(self.extent.missing)

    @cached_property
    def duration(self) -> str:
        """From start to end."""
        spent = as_count(self.judged.footer.get("duration_ns"))
        return text.time_words(spent) if spent else ""

    @cached_property
    def left_out_words(self) -> str:
        """What the budget left out; empty where it left out nothing."""
        if not self.left_out:
            return ""
        suites = tuple(dict.fromkeys(test.suite for test in self.left_out))
        clauses = {test.clause for test in self.left_out}
        more = ", …" if len(suites) > 6 else ""
        return (
            f"the budget left out {text.count_words(len(self.left_out), 'test')} of "
            f"{text.count_words(len(clauses), 'clause')}, in "
            f"{text.line(', '.join(suites[:6]), 160)}{more}"
        )

    @cached_property
    def headline(self) -> str:
        if self.word == "error":
            if self.judged.exit_code == 6:
                return f"The run on {self.title_name} cannot be trusted"
            return f"No verdict on {self.title_name}"
        if self.word == "fail":
            if self.failing:
                return f"{self.title_name} does not conform"
            return "No test fails, and the run does"
        if self.word == "partial":
            return f"{self.title_name} passes the part that was run"
        where = f" in the {self._layer} layer" if self._layer else ""
        how = "conforms" if self.extent.whole else f"passes the {self.extent.tier} tier"
        return f"{self.title_name} {how}{where}"

    @property
    def _layer(self) -> str:
        """The one layer that was run; empty where there were more."""
        layers = self.extent.layers
        return {"c": "C", "torch": "PyTorch"}.get(layers[0], layers[0]) if len(layers) == 1 else ""

    @cached_property
    def lead(self) -> str:
        """One or two sentences below the headline."""
        if self.judged.verdict == "error" and not self.failing:
            why = ERROR_WORDS.get(self.judged.exit_code, "the run could not be completed")
            return f"{why[0].upper()}{why[1:]}{self._so_far()}."
        if self.failing:
            clauses = {test.clause for test in self.failing if test.level == "must"}
            mandatory = text.count_words(len(clauses), "mandatory clause") + (
                " is violated." if len(clauses) == 1 else " are violated."
            )
            verb = "fails" if len(self.failing) == 1 else "fail"
            failing = f"{len(self.failing):,} of {text.count_words(self.total, 'test')} {verb}"
            least = "at least " if any(cause.following for cause in self.causes) else ""
            cause = least + text.count_words(len(self.causes), "cause")
            return f"{failing}, from {cause}. {mandatory}"
        if self.judged.verdict == "fail":
            return (
                f"No test fails unexpectedly. {self.problems[0] if self.problems else ''}".strip()
            )
        return self._passing_words()

    def _so_far(self) -> str:
        recorded, planned = self.extent.recorded, self.extent.planned
        if not recorded:
            return ""
        if recorded < planned:
            return f", after {recorded:,} of {text.count_words(planned, 'test')}"
        return f", after {text.count_words(recorded, 'test')}"

    def _passing_words(self) -> str:
        passed = self.counts.get("pass", 0)
        words = [f"{passed:,} of {text.count_words(self.total, 'test')} passed."]
        for name, what in (
            ("warning", "showed that a recommendation is not met"),
            ("xfail", "failed as they are known to"),
            ("unsupported", "were not run: the backend does not declare what they need"),
            ("not-shown", "could not show anything on this device"),
            ("left-out", "were left out by the budget"),
        ):
            if self.counts.get(name):
                words.append(f"{self.counts[name]:,} {what}.")
        return " ".join(words if self.warnings else [*words, "Nothing to fix."])

    @property
    def advice(self) -> str:
        return ADVICE.get(self.judged.exit_code, "")

    @cached_property
    def verdict_line(self) -> str:
        """The one line that a terminal ends with."""
        counted = ", ".join(
            f"{count:,} {state_words(verdict)}" for verdict, count in self.counts.items()
        )
        error = self.word == "error"
        if error and self.problems and not self.total:
            return f"{self.stamp}  {self.title_name}: {self.problems[0]}"
        tail = f" ({counted})" if counted else ""
        reason = f": {self.problems[0]}" if error and self.problems else ""
        return (
            f"{self.stamp}  {self.title_name}: {text.count_words(self.total, 'test')}{tail}{reason}"
        )

    @cached_property
    def problems(self) -> tuple[str, ...]:
        return tuple(text.line(problem, 300) for problem in self.judged.problems)
