# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Hundreds of tests against one mutant of the torch layer, likely ones first, until one notices it.

Several tests run in one process, as a user's do; one that notices the mutant has to do so alone as
well, and to pass on the sound device.
"""

from __future__ import annotations

import mmap
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tbk_contracts.torch.plugin import Case

from tbk_harness.kill_fork import Job, Result, Task

KILLS = frozenset({"fail", "crash", "hang"})
TOGETHER = 16  # tests in one process
BATCH_LIMIT_S = 90.0  # of these
LIMIT_S = 10.0  # of one alone, beside what the sound device takes
SOUND_LIMIT_S = 300.0
SHORTEST_WORD = 3
MOST = 400  # tests for one mutant
LARGE, FEW, MANY = 1000, 4, 24  # tests of a large suite, and of one function at first

Judge = Callable[[str], Result]


def in_order(cases: Iterable[Case], name: str, clauses: Sequence[str]) -> list[Case]:
    """Returns the likely tests: a few parameters of each that shares a word with the mutant's name,
    cites a clause of it or lies beside such tests, then the others of these. A suite with one test
    for each operator comes last, but for those that share a word."""
    cases = list(cases)
    words = {word for word in name.split("_") if len(word) >= SHORTEST_WORD}
    sizes = Counter(case.suite for case in cases)
    functions = Counter(_function(case) for case in cases)
    beside = {case.suite for case in cases if case.clause in clauses}
    met: Counter[str] = Counter()

    def order(case: Case) -> tuple[bool, int, bool, bool]:
        function = _function(case)
        met[function] += 1
        large = sizes[case.suite] > LARGE
        step = max(1, functions[function] // (FEW if large else MANY))
        later = (met[function] - 1) % step != 0
        shares = bool(words & set(re.split(r"\W|_", function)))
        if shares or (case.clause in clauses and not large):
            return later, 0 if case.clause in clauses else 1, large, case.thorough
        return later, (3 if large else 2) if case.suite in beside else 4, large, case.thorough

    return sorted(cases, key=order)[:MOST]


def _function(case: Case) -> str:
    return case.id.partition("[")[0]


def batches(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Yields a few tests first, then as many as one process takes."""
    start, size = 0, 4
    while start < len(cases):
        yield list(cases[start : start + size])
        start, size = start + size, TOGETHER


class Batch:
    """Tests in one process; the parent knows how far it came."""

    def __init__(self, tests: list[str], prepare: Callable[[], None], judge: Judge) -> None:
        self.tests, self.prepare, self.judge = tests, prepare, judge
        self.at = mmap.mmap(-1, 4)

    def run(self) -> Result:
        """In a forked process: until a test notices something."""
        self.prepare()
        for index, test in enumerate(self.tests):
            self.at[:] = index.to_bytes(4, "little")
            found = self.judge(test)
            if found["verdict"] in KILLS:
                return found
        return {"verdict": "pass"}

    def last(self) -> str:
        """Returns the test that was the last one to begin."""
        return self.tests[int.from_bytes(self.at[:], "little")]


def hunt(
    cases: Sequence[Case],
    batch: Callable[[list[str]], Batch],
    alone: Callable[[str], Job],
    sound: Callable[[str], Job],
    tell: Callable[[list[dict[str, Any]]], None],
) -> Task:
    """Runs tests against one mutant until one of them kills it; tells what was run."""
    ran: list[dict[str, Any]] = []
    for several in batches(cases):
        tests = [case.id for case in several]
        while tests:
            together = batch(tests)
            result = yield together.run, BATCH_LIMIT_S
            if result["verdict"] not in KILLS:
                ran += [{"test": test, **result} for test in tests]
                break
            suspect = together.last()
            place = tests.index(suspect)
            ran += [{"test": test, "verdict": "pass", "seconds": 0.0} for test in tests[:place]]
            tests = tests[place + 1 :]
            result = yield from _alone(suspect, alone, sound)
            ran.append({"test": suspect, **result})
            if result["verdict"] in KILLS:
                tell(ran)
                return
    tell(ran)


def _alone(test: str, alone: Callable[[str], Job], sound: Callable[[str], Job]) -> Task:
    """Returns what the mutant makes of a test that the sound device passes."""
    result = yield sound(test), SOUND_LIMIT_S
    if result["verdict"] in (*KILLS, "error"):
        return {**result, "verdict": "pass", "seen": "the sound device fails it, too"}
    result = yield alone(test), LIMIT_S + 4 * result["seconds"]
    return result
