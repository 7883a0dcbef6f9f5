# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The kill matrix: every broken backend against the tests that must notice it."""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

from tbk_contracts import Clause
from tbk_reports.calls import function_of
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NO_DEVICE,
    EXIT_PASS,
    Test,
    read_results,
)
from tbk_reports.text import line
from tbk_reports.words import sentence

from tbk_harness import runner
from tbk_harness.mutants import Mutant

# Verdicts by which a test notices a fault: of a *should*, a warning. Not among them: what is the
# suite's own trouble.
KILLS = frozenset({"fail", "warning", "crash", "hang", "poisoned", "polluted", "unstable"})
SAMPLE = 0.02
EQUIVALENT_SHARE = 0.02
WHOLE_JOBS = 4
MUTANT_TIMEOUT_S = 9
THOROUGH_TIMEOUT_S = 60
FEW_JOBS = 2  # so that several tests that hang hang together


@dataclass(frozen=True)
class Row:
    """What became of one mutant, anti-mutant or cheat."""

    mutant: Mutant
    ran: tuple[str, ...]
    killers: tuple[str, ...]
    citing: tuple[str, ...]  # those of the killers that cite the clause
    exit_code: int
    said: str
    seconds: float = 0.0
    runs: int = 1  # the second alone, where the first, among others, noticed nothing
    first: str = ""  # what the first of the killers said

    @property
    def refused(self) -> bool:
        """The run ended before any test: no backend, or no device. Noticed, by no test."""
        return self.exit_code in (EXIT_BAD_LIBRARY, EXIT_NO_DEVICE)


@dataclass
class Matrix:
    """All rows, and what a reader has to know about them."""

    tests: dict[str, str]  # id: clause
    thorough: frozenset[str] = frozenset()  # those of the thorough tier
    rows: list[Row] = field(default_factory=list)
    calls: dict[str, frozenset[str]] = field(default_factory=dict)  # test: functions it calls
    equivalents: dict[str, str] = field(default_factory=dict)
    must: tuple[str, ...] = ()  # checked must clauses of the C layer
    full: bool = False
    seed: int = 1
    share: float = SAMPLE  # of the tests that do not cite the clause
    legal_parts: int = 1  # each legal device meets one of so many parts of the tests
    partial: bool = False
    brief: bool = False  # one mutant of each clause
    wrong: tuple[str, ...] = ()  # what kept mutants from being judged

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.mutant.kind == kind]

    @property
    def survivors(self) -> list[Row]:
        """Not killed by a test that cites its clause, and not known to be equivalent."""
        return [
            row
            for row in self.of("mutant")
            if not row.citing and not row.refused and row.mutant.name not in self.equivalents
        ]

    @property
    def surviving_pairs(self) -> list[Row]:
        """Pairs of clause and function whose fault no test that cites the clause notices."""
        return [row for row in self.of("pair") if not row.citing]

    @property
    def unproven(self) -> list[str]:
        """Checked must clauses that no citing test defends."""
        killed = {
            clause for row in self.of("mutant") if row.citing for clause in row.mutant.clauses
        }
        return [clause for clause in self.must if clause not in killed]

    @property
    def idle_tests(self) -> list[str]:
        """Tests that ran against mutants and killed none of them."""
        rows = [*self.of("mutant"), *self.of("pair")]
        ran = {test for row in rows for test in row.ran}
        killed = {test for row in rows for test in row.killers}
        return sorted(ran - killed)

    @property
    def false_failures(self) -> list[Row]:
        return [row for row in self.of("anti") if row.exit_code != EXIT_PASS]

    @property
    def passing_cheats(self) -> list[Row]:
        return [
            row
            for row in self.of("cheat")
            if not row.refused and (row.exit_code != EXIT_FINDINGS or not row.killers)
        ]

    @property
    def problems(self) -> list[str]:
        """Why the matrix is not good; empty when it is."""
        found = list(self.wrong)
        found += [f"{row.mutant.name} survives: {_survival(row)}" for row in self.survivors]
        found += [
            f"{row.mutant.name}: {' '.join(row.mutant.clauses)} is not proved of "
            f"{row.mutant.function}: {_survival(row)}"
            for row in self.surviving_pairs
        ]
        found += [
            f"{row.mutant.name}: a legal device fails: {_why(row)}" for row in self.false_failures
        ]
        found += [f"{row.mutant.name}: a cheat passes: {_why(row)}" for row in self.passing_cheats]
        if not self.partial:
            found += [f"{clause} is a checked must, and nothing that breaks it is killed"
                      for clause in self.unproven]  # fmt: skip
        return found + self._equivalent_problems()

    def _equivalent_problems(self) -> list[str]:
        rows = {row.mutant.name: row for row in self.of("mutant")}
        found = [
            f"{name} is called equivalent, and is killed by {rows[name].citing[0]}"
            for name in self.equivalents
            if name in rows and rows[name].citing
        ]
        if self.partial or self.brief:
            return found
        found += [f"{name} is called equivalent, and is no mutant"
                  for name in self.equivalents if name not in rows]  # fmt: skip
        if rows and len(self.equivalents) > EQUIVALENT_SHARE * len(rows):
            found.append(f"{len(self.equivalents)} of {len(rows)} mutants are called equivalent, "
                         f"more than {EQUIVALENT_SHARE:.0%}")  # fmt: skip
        return found


def _survival(row: Row) -> str:
    if row.killers:
        return f"killed by {row.killers[0]}, which does not cite {' '.join(row.mutant.clauses)}"
    return f"{len(row.ran)} tests ran and none failed" if row.ran else _why(row)


def _why(row: Row) -> str:
    if row.killers:
        return f"{', '.join(row.killers[:3])} ({len(row.killers)} failing); {row.first}"
    return row.said or f"exit code {row.exit_code}"


def sample(tests: Iterable[str], mutant: str, seed: int, share: float) -> list[str]:
    """Returns a part of the tests: for the same seed and mutant the same on every machine."""
    ordered = sorted(tests)
    count = min(len(ordered), max(1, round(share * len(ordered)))) if share else 0
    digest = hashlib.sha256(f"{seed} {mutant}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big")).sample(ordered, count)  # noqa: S311


def part(device: str, parts: int) -> int:
    """Returns which part of the tests a legal device meets: on every machine the same."""
    digest = hashlib.sha256(device.encode()).digest()
    return int.from_bytes(digest[:8], "big") % parts + 1


def selection(mutant: Mutant, matrix: Matrix) -> tuple[list[str], list[str]]:
    """Returns the quick tests to run against a mutant, and the thorough ones should those not
    notice it.

    Pairs meet the citing tests that call their function. Anti-mutants and cheats meet all tests,
    said by two empty lists.
    """
    if mutant.kind == "pair":
        citing = [test for test, clause in matrix.tests.items() if clause in mutant.clauses]
        citing = [test for test in citing if _calls(matrix, test, mutant.function)]
        return (
            [test for test in citing if test not in matrix.thorough],
            [test for test in citing if test in matrix.thorough],
        )
    if matrix.full or mutant.kind != "mutant":
        return [], []
    citing = [test for test, clause in matrix.tests.items() if clause in mutant.clauses]
    rest = [test for test in matrix.tests if test not in citing and test not in matrix.thorough]
    quick = [test for test in citing if test not in matrix.thorough]
    thorough = [test for test in citing if test in matrix.thorough]
    return quick + sample(rest, mutant.name, matrix.seed, matrix.share), thorough


def _calls(matrix: Matrix, test: str, function: str) -> bool:
    """Returns whether a test calls the function on the sound device, or nobody can tell."""
    traced = any(function in names for names in matrix.calls.values())
    seen = matrix.calls.get(test)
    return not traced or not seen or function in seen


def trace(library: Path, matrix: Matrix, pairs: Sequence[Mutant]) -> dict[str, frozenset[str]]:
    """Returns which functions the tests call that cite a clause of the pairs, on the sound
    device.
    """
    clauses = {clause for pair in pairs for clause in pair.clauses}
    wanted = [test for test, clause in matrix.tests.items()
              if clause in clauses and test not in matrix.thorough]  # fmt: skip
    if not wanted:
        return {}
    with tempfile.TemporaryDirectory(prefix="tbk-kill-") as folder:
        output = Path(folder) / "results.jsonl"
        runner.run([str(library), *(f"--only={test}" for test in wanted)], output, alone=False)
        results = read_results(output) if output.exists() else None
    return {test.id: frozenset(function_of(one) for one in test.asked)
            for test in (results.tests if results else ())}  # fmt: skip


def parse_thorough(listed: str) -> frozenset[str]:
    """Ids of the thorough tier from what tbk-run --list prints."""
    rows = [row.split() for row in listed.splitlines()]
    return frozenset(row[0] for row in rows if len(row) >= 3 and row[-1] == "thorough")


def parse_list(listed: str) -> dict[str, str]:
    """Ids and clauses from what tbk-run --list prints."""
    found: dict[str, str] = {}
    for row in listed.splitlines():
        words = row.split()
        if len(words) >= 2 and "/" in words[0]:
            found[words[0]] = words[1]
    return found


def _row(mutant: Mutant, tests: Sequence[Test], exit_code: int, said: str, seconds: float) -> Row:
    killers = tuple(dict.fromkeys(test.id for test in tests if test.verdict in KILLS))
    clauses = {test.id: test.clause for test in tests}
    return Row(
        mutant=mutant,
        ran=tuple(dict.fromkeys(t.id for t in tests if t.verdict not in ("unsupported",))),
        killers=killers,
        citing=tuple(test for test in killers if clauses[test] in mutant.clauses),
        exit_code=exit_code,
        said=line(said, 300),
        seconds=seconds,
        first=next((sentence(test) for test in tests if test.verdict in KILLS), ""),
    )


def run_one(library: Path, mutant: Mutant, only: Sequence[str], options: Sequence[str]) -> Row:
    """Runs tbk-run once against one mutant."""
    # Whole runs against odd devices are mostly waiting: for a slow open, a delay, a single queue.
    workers = FEW_JOBS if only else WHOLE_JOBS
    arguments = [str(library), f"--backend-option=mutant={mutant.name}", f"--jobs={workers}"]
    # A test that waits for what a broken backend never does shall not wait for long; a legal device
    # gets all the time that a user's would.
    broken = mutant.kind in ("mutant", "pair")
    arguments += [f"--timeout={MUTANT_TIMEOUT_S}"] if broken else []
    arguments += options
    arguments += [f"--only={test}" for test in only]
    with tempfile.TemporaryDirectory(prefix="tbk-kill-") as folder:
        output = Path(folder) / "results.jsonl"
        # A mutant of the entry, without options, reads its name here; what is locked is the run's.
        environment = {"TBK_MUTANT": mutant.name, "TMPDIR": folder}
        ended = runner.run(arguments, output, alone=False, environment=environment)
        if not output.exists():
            return _row(mutant, (), ended.exit_code, ended.said, 0.0)
        results = read_results(output)
    footer = results.footer or {}
    said = str(footer.get("reason") or ended.said)
    spent = footer.get("duration_ns")
    seconds = spent / 1e9 if isinstance(spent, int) else 0.0
    return _row(mutant, results.tests, ended.exit_code, said, seconds)


@dataclass(frozen=True)
class Task:
    """What is to be run against one mutant, wherever that is."""

    mutant: Mutant
    quick: tuple[str, ...]
    thorough: tuple[str, ...]
    options: tuple[str, ...]


def task(matrix: Matrix, mutant: Mutant, options: Sequence[str]) -> Task:
    """Returns it; thorough tests run where quick ones do not notice a mutant."""
    whole = matrix.full and mutant.kind != "pair"
    more = ["--tier=thorough"] if whole else []
    if mutant.kind == "anti" and matrix.legal_parts > 1:
        more.append(f"--shard={part(mutant.name, matrix.legal_parts)}/{matrix.legal_parts}")
    quick, thorough = selection(mutant, matrix)
    return Task(mutant, tuple(quick), tuple(thorough), (*options, *more))


def judge(library: Path, matrix: Matrix, mutant: Mutant, options: Sequence[str]) -> Row:
    """Returns what becomes of one mutant."""
    return judge_task(library, task(matrix, mutant, options))


def judge_task(library: Path, asked: Task) -> Row:
    """Returns what becomes of its mutant."""
    mutant = asked.mutant
    if not asked.quick and mutant.kind == "pair":
        return _row(mutant, (), EXIT_FINDINGS, "no quick test that cites it calls it", 0.0)
    thorough_alone = asked.thorough and not asked.quick
    row = (_row(mutant, (), EXIT_PASS, "", 0.0) if thorough_alone
           else run_one(library, mutant, asked.quick, asked.options))  # fmt: skip
    if row.citing or row.refused or not asked.thorough:
        return row
    more = run_one(library, mutant, asked.thorough, [f"--timeout={THOROUGH_TIMEOUT_S}"])
    return replace(
        more, ran=row.ran + more.ran, killers=row.killers + more.killers,
        seconds=row.seconds + more.seconds,
    )  # fmt: skip


def run_all(
    library: Path,
    matrix: Matrix,
    mutants: Sequence[Mutant],
    jobs: int,
    options: Sequence[str],
    tell: Callable[[Row], None],
) -> None:
    """Adds rows to the matrix, in the order of the mutants; whole runs come first, since they take
    longest.
    """
    planned = sorted(mutants, key=lambda mutant: bool(selection(mutant, matrix)[0]))
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(judge, library, matrix, mutant, options) for mutant in planned]
        try:
            for future in as_completed(futures):
                row = future.result()
                matrix.rows.append(row)
                tell(row)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    again(library, matrix, options)
    order = {mutant.name: at for at, mutant in enumerate(mutants)}
    matrix.rows.sort(key=lambda row: order.get(row.mutant.name, -1))


def again(library: Path, matrix: Matrix, options: Sequence[str]) -> None:
    """Runs what survived once more, with nothing beside it: on a busy machine a test of order or
    duration may find that it has shown nothing. What fails a legal device is never run again.
    """
    for row in [*matrix.survivors, *matrix.surviving_pairs]:
        if row.ran:
            second = judge(library, matrix, row.mutant, options)
            matrix.rows[matrix.rows.index(row)] = replace(second, runs=2)


def must_clauses(clauses: Iterable[Clause]) -> tuple[str, ...]:
    return tuple(one.id for one in clauses if one.checked_must and "c" in one.layer)


def default_jobs() -> int:
    return 2 * len(os.sched_getaffinity(0))  # a good part of each run is waiting
