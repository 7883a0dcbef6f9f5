# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What there is to say about a judged run, worked out once for all renderers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from . import text
from .model import VERDICTS, Judged, Test

# Worst first. Two are no verdicts: "trivial" is a pass that shows nothing about ordering, "partly"
# is a clause of which some tests pass while others could not be run or showed nothing.
STATES = (*VERDICTS[:-1], "partly", "trivial", "pass")
HOLDING = frozenset({"pass", "trivial"})
LEVELS = ("must", "should", "may")
EARLY_PHASES = ("load", "create", "open")
UNDECLARED = " is not declared"
OTHERS = " is declared, and these are for backends without it"
# After the vendor's own causes: nothing that the vendor can mend.
FOREIGN_BLAME = ("suite", "harness")

STATE_WORDS = {
    "suite-error": "suite error",
    "trivial": "holds trivially",
    "partly": "holds in part",
    "not-shown": "not shown",
    "not-reached": "not reached",
    "xfail": "expected failure",
    "xpass": "unexpected pass",
}
STATE_MEANING = {
    "pass": "checked, and it holds",
    "trivial": "holds, but this device could not have shown the fault",
    "partly": "some of its tests pass, others could not be run or showed nothing",
    "not-shown": "ran, but proved nothing on this device",
    "unsupported": "not run: the backend does not declare what it needs",
    "xfail": "fails as a waiver says",
    "xpass": "a waiver says that it fails, and it passes",
    "not-reached": "planned, but the run ended before it",
    "unstable": "passes and fails from one repeat to the next",
    "polluted": "fails in company, passes alone",
    "fail": "a check does not hold",
    "hang": "did not end in its time",
    "crash": "the process died",
    "poisoned": "the device no longer computes after it",
    "suite-error": "the test itself is at fault",
}
PHASE_WORDS = {
    "load": "while the library was loaded",
    "create": "in the entry point",
    "open": "while the device was opened",
    "body": "in the test",
    "clean": "in the checks after the test",
    "close": "while the device was closed",
    "exit": "while the process ended",
}
GATE_WORDS = {
    "full": "a closed gate holds one stream; others go on",
    "one_queue": "a closed gate holds every stream of the device",
    "synchronous": "the device executes at once: ordering holds trivially",
    "none": "no stream can be held: ordering is not shown",
}
# What helps where there is no verdict, by exit code.
ADVICE = {
    2: "Look at the message above and at tbk run --help.",
    3: "Look at --only and --shard, and with tbk list at what the backend declares.",
    4: "Look at the path; whether the library loads (ldd) and exports tbk_backend_create (nm -D).",
    5: "Look at whether the driver sees the device, and whether another process holds it.",
    6: "This is not the backend's fault. Please report it with the result file.",
    7: "The same command with --resume goes on where the run ended.",
    8: "Look at the free space and the permissions of the folder, then use --resume.",
}
ERROR_WORDS = {
    2: "the command could not be used",
    3: "nothing was selected",
    4: "the library is no backend",
    5: "there is no device",
    6: "the suite itself is at fault",
    7: "the run was interrupted",
    8: "the results could not be written",
}


# Areas by the letters of a clause's id; its tests may stand in several suites.
AREAS = {
    "LIB": "library",
    "DEV": "device",
    "MEM": "memory",
    "CPY": "copy",
    "STR": "stream",
    "EVT": "event",
    "CBK": "callback",
    "PIN": "pinned",
    "PER": "peer",
    "SOM": "async_memory",
    "KRN": "kernel",
    "RNG": "random",
    "ERR": "error",
    "FLT": "fault",
    "THR": "thread",
    "FRK": "fork",
    "TDN": "teardown",
    "CAP": "capability",
}


def state_words(state: str) -> str:
    return STATE_WORDS.get(state, state)


def worst(states: Iterable[str]) -> str:
    return min(states, key=STATES.index)


def clause_state(states: Iterable[str]) -> str:
    """The worst, but for a clause that was shown and only not in every way."""
    found = set(states)
    lowest = worst(found)
    return "partly" if lowest in ("not-shown", "unsupported") and found & HOLDING else lowest


ENDINGS = {
    "exited": "The process exits",
    "memory": "The memory limit is exceeded",
    "killed-its-parent": "The process kills its parent",
    "stopped": "The process stops itself",
    "unkillable": "A hang that SIGKILL does not end",
}


def _fingerprint_words(test: Test, clauses: int) -> str:
    """tbk-run's fingerprints in words: crash/PHASE/SIGNAL, hang/PHASE, fail/FILE/CHECK/SEEN."""
    kind, *rest = test.cause.split("/")
    if kind in ("crash", "hang") and rest and rest[0] in PHASE_WORDS:
        how = rest[1] if len(rest) > 1 else ""
        said = ENDINGS.get(how) or ("Hang" if kind == "hang" else f"Crash ({how})")
        return f"{said} {PHASE_WORDS[rest[0]]}"
    if kind == "fail" and len(rest) > 2:
        more = f" (and {text.count_words(clauses - 1, 'more clause')})" if clauses > 1 else ""
        said = text.shorten(test.clause_text, 150 - len(more)) if test.clause_text else test.what
        return f"{test.clause}: {said}{more}"
    return ""


@dataclass(frozen=True)
class Cause:
    """Failures that have one cause."""

    key: str
    anchor: str
    tests: tuple[Test, ...]

    @property
    def first(self) -> Test:
        return self.tests[0]

    @cached_property
    def title(self) -> str:
        first = self.first
        if first.verdict == "xpass":
            return "waived, but passes"
        said = _fingerprint_words(first, len(self.clauses))
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
        return tuple(dict.fromkeys(test.clause for test in self.tests))

    @cached_property
    def must(self) -> int:
        return sum(test.level == "must" for test in self.tests)

    @property
    def rank(self) -> tuple[object, ...]:
        first = self.first
        return (
            first.blame in FOREIGN_BLAME or first.verdict == "not-reached",
            first.phase not in EARLY_PHASES,
            self.must == 0,
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
    return f"{test.blame}\0{test.cause}" if test.cause else f"{test.clause}\0{test.verdict}"


def causes(tests: Iterable[Test]) -> tuple[Cause, ...]:
    """Failures grouped by cause, what to mend first coming first."""
    groups = _grouped((test for test in tests if test.failed), _cause_key)
    ranked = sorted(
        (Cause(key, "", tuple(members)) for key, members in groups.items()),
        key=lambda cause: cause.rank,
    )
    return tuple(
        Cause(cause.key, f"cause-{number}", cause.tests) for number, cause in enumerate(ranked, 1)
    )


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
        self.causes = causes(judged.tests)
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
        self.waived = tuple(test for test in judged.tests if test.verdict == "xfail")
        self.notes = tuple(test for test in judged.tests if test.notes)
        self.failing = tuple(test for test in judged.tests if test.failed)

    @property
    def total(self) -> int:
        return len(self.judged.tests)

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
        header = self.judged.header
        selection = header.get("selection")
        parts = []
        if isinstance(selection, list) and selection:
            parts.append("only " + ", ".join(text.line(str(item), 60) for item in selection[:5]))
            if len(selection) > 5:
                parts.append(f"and {len(selection) - 5} more selections")
        shard = str(header.get("shard") or "")
        if shard not in ("", "1/1", "None"):
            parts.append(f"shard {text.line(shard, 20)}")
        return ", ".join(parts)

    @cached_property
    def headline(self) -> str:
        verdict = self.judged.verdict
        if verdict == "error":
            if self.judged.exit_code == 6:
                return f"The run on {self.title_name} cannot be trusted"
            return f"No verdict on {self.title_name}"
        if verdict == "fail":
            return (
                f"{self.title_name} does not conform" if self.failing else "The waivers do not fit"
            )
        if self.limited_to:
            return f"{self.title_name} passes what was selected"
        return f"{self.title_name} conforms"

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
            failing = f"{len(self.failing)} of {text.count_words(self.total, 'test')} {verb}"
            cause = text.count_words(len(self.causes), "cause")
            return f"{failing}, from {cause}. {mandatory}"
        if self.judged.verdict == "fail":
            return "No test fails unexpectedly, but the list of waivers is out of date."
        return self._passing_words()

    def _so_far(self) -> str:
        return f", after {text.count_words(self.total, 'test')}" if self.total else ""

    def _passing_words(self) -> str:
        passed = self.counts.get("pass", 0)
        words = [f"{passed} of {text.count_words(self.total, 'test')} passed."]
        for name, what in (
            ("xfail", "failed as waived"),
            ("unsupported", "were not run: the backend does not declare what they need"),
            ("not-shown", "could not show anything on this device"),
        ):
            if self.counts.get(name):
                words.append(f"{self.counts[name]} {what}.")
        return " ".join([*words, "Nothing to fix."])

    @property
    def advice(self) -> str:
        return ADVICE.get(self.judged.exit_code, "")

    @cached_property
    def verdict_line(self) -> str:
        """The one line that a terminal ends with."""
        word = {"pass": "PASS", "fail": "FAIL"}.get(self.judged.verdict, "ERROR")
        counted = ", ".join(
            f"{count} {state_words(verdict)}" for verdict, count in self.counts.items()
        )
        if word == "ERROR" and self.problems and not self.total:
            return f"{word}  {self.title_name}: {self.problems[0]}"
        tail = f" ({counted})" if counted else ""
        reason = f": {self.problems[0]}" if word == "ERROR" and self.problems else ""
        return f"{word}  {self.title_name}: {text.count_words(self.total, 'test')}{tail}{reason}"

    @cached_property
    def problems(self) -> tuple[str, ...]:
        return tuple(text.line(problem, 300) for problem in self.judged.problems)


def difference_words(test: Test) -> str:
    """What was expected and seen, in one line; a bare condition says nothing by its value."""
    if test.expected == "true" and test.seen == "false" and test.what:
        return f"does not hold: {text.line(test.what, 160)}"
    if test.expected:
        return f"expected {text.line(test.expected, 110)}, seen {text.line(seen_words(test), 130)}"
    return f"seen: {text.line(seen_words(test), 200)}"


def seen_words(test: Test) -> str:
    """What was seen, also where no check had the time to say so."""
    if test.seen:
        return test.seen
    if test.verdict == "crash":
        if test.signal not in ("", "0"):
            return f"the process died of signal {test.signal}"
        return f"the process ended with status {test.exit_status or 'unknown'}"
    if test.verdict == "hang":
        return f"no end after {text.time_words(test.wall_ns or test.duration_ns)}"
    return state_words(test.verdict)
