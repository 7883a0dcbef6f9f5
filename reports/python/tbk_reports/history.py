# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What many runs say together: since when causes are there, what holds, what changes by itself."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from . import text
from .history_read import Collected
from .history_shards import whole_runs
from .history_summary import LETTER, STATE, Failures, Summary, Table
from .model import FAILING
from .words import HOLDING

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
NO_DAY = "no date"
_HOLDS = frozenset(LETTER[state] for state in HOLDING)
_FAILS = frozenset(LETTER[state] for state in FAILING - {"not-reached"})
# What says nothing of a test: that it was not run, or that it ran and proved nothing.
_SILENT = frozenset(LETTER[state] for state in ("left-out", "not-reached", "not-shown"))
OPEN, MENDED, MOVED, UNTESTED = "open", "mended", "moved", "not tested since"
STILL = (OPEN, UNTESTED)


def day(run: Summary) -> str:
    """Returns the day on which a run began, in UTC as it is recorded."""
    found = _DAY.match(run.started)
    return found[0] if found else NO_DAY


@dataclass(frozen=True)
class CauseLine:
    """A cause over the runs of a series. `seen` has the places of the runs that failed by it."""

    failures: Failures  # of the last of them
    seen: tuple[int, ...]
    tests: int  # in all runs together, each once
    first: str
    last: str
    state: str
    since: str = ""  # the day of the first run that says so, where it is open no longer

    @property
    def still(self) -> bool:
        return self.state in STILL


@dataclass(frozen=True)
class Flaky:
    """A test that had different verdicts in runs of the same thing."""

    test: str
    clause: str
    letters: str  # of each run of the series; blank where it says nothing, or of other digests
    flips: int
    differ: tuple[str, ...]  # what was not equal in these runs, beside the digests

    @property
    def verdicts(self) -> tuple[str, ...]:
        return tuple(STATE[one] for one in sorted(set(self.letters) - {" "}))

    @property
    def runs(self) -> int:
        return len(self.letters) - self.letters.count(" ")


@dataclass(frozen=True)
class AreaLine:
    """How long the tests of an area took in each run; 0 where it had none."""

    name: str
    spent_ns: tuple[int, ...]

    @property
    def latest(self) -> int:
        return self.spent_ns[-1]

    @cached_property
    def median(self) -> int:
        return int(statistics.median([one for one in self.spent_ns if one] or [0]))


def _told_apart(lines: Sequence[CauseLine]) -> list[CauseLine]:
    """Returns them with an example, where several causes of one clause have the same title."""
    often = Counter(one.failures.title for one in lines)
    return [_with_example(one) if often[one.failures.title] > 1 else one for one in lines]


def _with_example(one: CauseLine) -> CauseLine:
    title = f"{one.failures.title.removesuffix('.')}, as in {one.failures.tests[0]}"
    return replace(one, failures=replace(one.failures, title=title))


class Series:
    """Runs that can be compared: of one backend, simulated or not, one tier, the same layers."""

    def __init__(self, runs: Sequence[Summary], tables: Mapping[str, Table]) -> None:
        self.runs = tuple(runs)
        self._tables = tables
        self._places = {key: dict(zip(one.tests, range(len(one.tests)), strict=True))
                        for key, one in tables.items()}  # fmt: skip

    @property
    def latest(self) -> Summary:
        return self.runs[-1]

    @property
    def simulated(self) -> bool:
        return self.latest.extent.simulated

    @cached_property
    def title(self) -> str:
        layers = " and ".join({"c": "C", "torch": "PyTorch"}.get(one, one)
                              for one in self.latest.extent.layers)  # fmt: skip
        simulated = ", simulated" if self.simulated else ""
        told = f"{layers or 'all'} {'layers' if ' and ' in layers else 'layer'}"
        name = self.latest.name or "unknown backend"
        return f"{name} ({self.latest.extent.tier}{simulated}), {told}"

    @cached_property
    def partial(self) -> tuple[bool, ...]:
        return tuple(run.extent.partial or run.verdict not in ("pass", "fail") for run in self.runs)

    @cached_property
    def days(self) -> int:
        return len({day(run) for run in self.runs})

    def letter(self, at: int, test: str) -> str:
        """Returns what a run says of a test; a blank where it has not got it."""
        run = self.runs[at]
        place = self._places[run.table].get(test)
        return " " if place is None else run.states[place]

    @cached_property
    def causes(self) -> tuple[CauseLine, ...]:
        """Returns those that are there still, the oldest first; then those that are gone, the
        latest first."""
        found: dict[str, list[tuple[int, Failures]]] = {}
        for at, run in enumerate(self.runs):
            for one in run.failures:
                found.setdefault(one.cause, []).append((at, one))
        lines = _told_apart([self._cause(told) for told in found.values()])
        still = sorted((one for one in lines if one.still), key=lambda one: one.seen[0])
        gone = sorted((one for one in lines if not one.still), key=lambda one: -one.seen[-1])
        return (*still, *gone)

    def _cause(self, told: list[tuple[int, Failures]]) -> CauseLine:
        seen = tuple(dict.fromkeys(at for at, _ in told))
        last, failures = told[-1]
        tests = {test for _, one in told for test in one.tests}
        # Of several shards each may have failed by it.
        latest = {test for at, one in told if at == last for test in one.tests}
        state, since = self._became(last, latest)
        first, final = day(self.runs[seen[0]]), day(self.runs[last])
        return CauseLine(failures, seen, len(tests), first, final, state, since)

    def _became(self, last: int, tests: Iterable[str]) -> tuple[str, str]:
        """Returns what later runs say of the tests that failed by a cause last, and since when."""
        moved = ""
        for at in range(last + 1, len(self.runs)):
            letters = {self.letter(at, test) for test in tests}
            if letters & _HOLDS:
                return MENDED, day(self.runs[at])
            if letters & _FAILS and not moved:
                moved = day(self.runs[at])
        if moved:
            return MOVED, moved
        return (OPEN if last == len(self.runs) - 1 else UNTESTED), ""

    @property
    def new(self) -> tuple[CauseLine, ...]:
        """Returns the causes that the latest run was the first to have."""
        latest = len(self.runs) - 1
        return tuple(one for one in self.causes if latest and one.seen == (latest,))

    @cached_property
    def flaky(self) -> tuple[Flaky, ...]:
        """Returns the tests that changed on equal digests, those that changed most often first."""
        groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
        for at, run in enumerate(self.runs):
            groups.setdefault(tuple(sorted(run.digests.items())), []).append(at)
        changed: dict[str, list[int]] = {}
        for places in groups.values():
            for test in self._changing(places) if len(places) > 1 else ():
                changed.setdefault(test, []).extend(places)
        lines = [self._flaky(test, sorted(places)) for test, places in changed.items()]
        return tuple(sorted(lines, key=lambda one: (-one.flips, one.test)))

    def _changing(self, places: Sequence[int]) -> list[str]:
        """Returns the tests of which these runs say different things."""
        by_table: dict[str, set[str]] = {}
        for at in places:
            by_table.setdefault(self.runs[at].table, set()).add(self.runs[at].states)
        said: dict[str, set[str]] = {}
        for key, states in by_table.items():
            for test, letters in zip(
                self._tables[key].tests, zip(*states, strict=True), strict=True
            ):
                if len(told := set(letters)) > 1 or len(by_table) > 1:
                    said.setdefault(test, set()).update(told)
        return [test for test, letters in said.items() if len(_answers(letters)) > 1]

    def _flaky(self, test: str, places: list[int]) -> Flaky:
        letters = [" "] * len(self.runs)
        flips, before = 0, ("", "")
        for at in places:
            letter = self.letter(at, test)
            if letter in _SILENT or letter == " ":
                continue
            letters[at] = letter
            answer = "".join(_answers({letter}))
            group = str(sorted(self.runs[at].digests.items()))
            flips += before[0] == group and before[1] != answer
            before = (group, answer)
        table = self._tables[self.runs[places[-1]].table]
        place = self._places[self.runs[places[-1]].table].get(test)
        clause = table.clauses[place] if place is not None else ""
        return Flaky(test, clause, "".join(letters), flips, self._differ(places))

    def _differ(self, places: Iterable[int]) -> tuple[str, ...]:
        settings = [self.runs[at].settings for at in places]
        return tuple(name for name in settings[0] if len({one[name] for one in settings}) > 1)

    @cached_property
    def areas(self) -> tuple[AreaLine, ...]:
        """Returns all areas, the longest of late first."""
        names = dict.fromkeys(name for run in self.runs for name in run.area_ns)
        lines = [
            AreaLine(text.line(name, 60), tuple(run.area_ns.get(name, 0) for run in self.runs))
            for name in names
        ]
        return tuple(sorted(lines, key=lambda one: (-one.median, one.name)))

    @cached_property
    def whole_time(self) -> AreaLine:
        return AreaLine("all areas", tuple(sum(run.area_ns.values()) for run in self.runs))


def _answers(letters: Iterable[str]) -> set[str]:
    """Returns the different verdicts among states; one that holds trivially has passed."""
    return {
        "pass" if one in _HOLDS else one for one in letters if one not in _SILENT and one != " "
    }


class History:
    """All series, that of the latest run first, and what could not be read."""

    def __init__(self, found: Collected) -> None:
        self.torn, self.copies, self.others = found.torn, found.copies, found.others
        tables = dict(found.tables)
        runs = sorted(whole_runs(found.summaries, tables), key=lambda run: (run.started, run.path))
        groups: dict[tuple[object, ...], list[Summary]] = {}
        for run in runs:
            told = run.extent
            groups.setdefault((run.name, told.simulated, told.tier, told.layers), []).append(run)
        ordered = sorted(groups.values(), key=lambda one: one[-1].started, reverse=True)
        self.series = tuple(
            Series(one, {run.table: tables[run.table] for run in one}) for one in ordered
        )

    @property
    def runs(self) -> int:
        return sum(len(one.runs) for one in self.series)
