# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The torch layer's kill matrix from inside: PyTorch imported and the tests collected, once.

`python -m tbk_harness.kill_worker ...` forks for each pair of mutant and test, which would each
take seconds otherwise, and prints JSON, one object on each line: tests, then mutants.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
import torch._dynamo  # optimizers import it: once, not in each child
from tbk_contracts.torch import capability, check, process
from tbk_contracts.torch.plugin import Case, describe, missing_word

from tbk_harness import kill_full
from tbk_harness.kill_fork import Forks, Job, Task
from tbk_harness.kill_full import KILLS, LIMIT_S, SOUND_LIMIT_S
from tbk_harness.torch_worker import memory

CONTRACTS = Path(check.__file__).parent

# Of the tests of one clause, for one mutant.
MOST_FUNCTIONS = 24
MOST_PARAMETERS = 4
MOST_NAMED = 24  # where the row names which
Some = TypeVar("Some")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="the sound backend")
    parser.add_argument("--broken", required=True, help="the C layer's mutants")
    parser.add_argument("--mutants", required=True, help="the folder of tbk_torch_mutants")
    parser.add_argument("--only", action="append", default=[], help="a mutant or a clause")
    parser.add_argument("--brief", action="store_true", help="the first mutant of each clause")
    parser.add_argument("--full", action="store_true", help="every test, until one notices")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="what children print")
    return parser.parse_args()


class Killer:
    """A pytest plugin whose loop runs mutants against tests, in place of tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.out = os.dup(1)
        log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)  # of pytest
        self.forks = Forks(options.jobs, log)
        self.items: dict[str, tuple[Case, pytest.Item]] = {}
        self.sound: dict[str, float | None] = {}  # seconds on the sound device; None: it fails
        self.start = ""  # how a fresh interpreter has the device
        self.useful: set[str] = set()  # functions that have killed something
        self.survivors: list[tuple[Any, str]] = []  # with their clause; they are run again

    def tell(self, **members: Any) -> None:
        os.write(self.out, (json.dumps(members) + "\n").encode())

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        table = importlib.import_module("tbk_torch_mutants.table")
        wanted = set(self.options.only)
        pairs = [
            (row, clause)
            for row in table.rows().values()
            for clause in row.clauses.split()
            if not wanted or wanted & {row.name, clause}
        ]
        if self.options.brief:
            first = {clause: row.name for row, clause in reversed(pairs)}
            pairs = [(row, clause) for row, clause in pairs if first[clause] == row.name]
        _import_ahead()
        memory.settle()
        if self.options.full:
            self._take(session, None)
            chosen = {row.name: row for row, _ in pairs}
            self.forks.run(self._hunt(table, row) for row in chosen.values())
        else:
            self._take(session, {clause for _, clause in pairs})
            self.forks.run(self._kill(table, row, clause, 1) for row, clause in pairs)
            self.forks.jobs = 1
            self.forks.run(self._kill(table, row, clause, 2) for row, clause in self.survivors)
        self.tell(kind="end")
        return True

    def _take(self, session: pytest.Session, clauses: set[str] | None) -> None:
        """The tests of these clauses, or all, whose needs are met by the sound device."""
        held: dict[str, Any] = {}

        def ask() -> Task:
            held.update((yield self._probe, SOUND_LIMIT_S))

        self.forks.run(iter([ask()]))
        if "name" not in held:
            raise RuntimeError(f"the device can't be probed: {held}")
        session.config.option.tbk_device = held["name"]
        for item in session.items:
            case = describe(item)
            if case is None or (clauses is not None and case.clause not in clauses):
                continue
            missing = missing_word(case, held["words"])
            if missing is None:
                self.items[case.id] = case, item
            else:
                self.tell(kind="test", id=case.id, clause=case.clause, verdict="unsupported",
                          seen=missing)  # fmt: skip

    def _probe(self) -> dict[str, Any]:
        module = self._load(self.options.library)
        found = capability.probe_all(torch.device(module.backend_name, 0))
        return {"name": module.backend_name,
                "words": {word: answer.held for word, answer in found.items()}}  # fmt: skip

    def _load(self, library: str, options: dict[str, str] | None = None) -> Any:
        """The device as a vendor's package would have it."""
        package = importlib.import_module("tbk_torch_package")
        os.environ[package.LIBRARY] = library
        module = importlib.import_module("torch_tbk").load(library, options=options)
        package.register_interface(module.backend_name)
        return module

    def _citing(self, row: Any, clause: str) -> list[Case]:
        """Returns the tests of a clause; of one with many parameters, some that lie apart."""
        hints = row.tests.split() or [""]
        functions: dict[str, list[Case]] = {}
        for case, _ in self.items.values():
            if case.clause == clause and any(hint in case.id for hint in hints):
                functions.setdefault(_function(case.id), []).append(case)
        return [case for cases in _some(list(functions.values()), MOST_FUNCTIONS)
                for case in _some(cases, MOST_NAMED if row.tests else MOST_PARAMETERS)]  # fmt: skip

    def _kill(self, table: Any, row: Any, clause: str, run: int) -> Task:
        """Tests that have killed nothing yet come first, and have their turn in any case. What
        survives the first run is told of after the second one, with nothing beside it."""
        cases = self._citing(row, clause)
        cases.sort(key=lambda case: (_function(case.id) in self.useful, case.id not in self.sound))
        ran: list[dict[str, Any]] = []
        killed = False
        for case in cases:
            if killed and _function(case.id) in self.useful:
                continue
            if case.id not in self.sound:
                result = yield self._job(None, None, case.id), SOUND_LIMIT_S
                passes = result["verdict"] not in (*KILLS, "error")
                self.sound[case.id] = result["seconds"] if passes else None
                self.tell(kind="test", id=case.id, clause=clause, **result)
            seconds = self.sound[case.id]
            if seconds is None:
                continue
            result = yield self._job(table, row, case.id), LIMIT_S + 4 * seconds
            ran.append({"test": case.id, **result})
            if result["verdict"] in KILLS:
                killed = True
                self.useful.add(_function(case.id))
        if ran and not killed and run == 1:
            self.survivors.append((row, clause))
            return
        self._told_of(row, clause, ran, run)

    def _hunt(self, table: Any, row: Any) -> Task:
        """Tries every test, the likely ones first."""
        clauses = row.clauses.split()
        cases = kill_full.in_order((case for case, _ in self.items.values()), row.name, clauses)
        return kill_full.hunt(
            cases,
            lambda tests: kill_full.Batch(tests, lambda: self._break(table, row), self._judge),
            lambda test: self._job(table, row, test),
            lambda test: self._job(None, None, test),
            lambda ran: self._told_of(row, clauses[0], ran, 1),
        )

    def _told_of(self, row: Any, clause: str, ran: list[dict[str, Any]], runs: int) -> None:
        killed = any(one["verdict"] in KILLS for one in ran)
        self.tell(kind="mutant", clause=clause, killed=killed, row=asdict(row), ran=ran, runs=runs)

    def _job(self, table: Any, row: Any, test: str) -> Job:
        return lambda: self._run(table, row, test)

    def _run(self, table: Any, row: Any, test: str) -> dict[str, Any]:
        """In a forked process: load, break, test."""
        self._break(table, row)
        return self._judge(test)

    def _break(self, table: Any, row: Any) -> None:
        """Loads the device, and breaks it."""
        library, options = self.options.library, {}
        if row is not None and row.mechanism == "backend":
            library, options = self.options.broken, {"mutant": row.name.partition(":")[2]}
        self._load(library, options)
        start = ["import torch, torch_tbk", f"torch_tbk.load({library!r}, options={options!r})"]
        if row is not None and row.mechanism != "backend":
            table.apply(row.name)
            start += ["from tbk_torch_mutants import table", f"table.apply({row.name!r})"]
        self.start = "\n".join(start)

    def _judge(self, test: str) -> dict[str, Any]:
        item = self.items[test][1]
        item.config.option.tbk_start = self.start
        return _judge(item)


def _import_ahead() -> None:
    """Imports what each child would: most of its processor time went into mapping and binding the
    bridge's compiled part. That registers kernels, and knows no device before one is loaded."""
    for name in ("torch_tbk.device_module", "tbk_torch_package"):
        importlib.import_module(name)


def _some(all_of_them: list[Some], most: int) -> list[Some]:
    """As many as that, which lie apart."""
    return all_of_them[:: -(-len(all_of_them) // most) or 1]


def _function(test: str) -> str:
    return test.partition("[")[0]


def _judge(item: pytest.Item) -> dict[str, Any]:
    from _pytest.runner import runtestprotocol  # noqa: PLC0415  # what pytest-forked uses as well

    process.renew_after_fork()
    check.begin()
    reports = runtestprotocol(item, log=False, nextitem=None)
    totals = check.totals()
    failed = [report for report in reports if report.failed]
    if failed or totals.failure is not None:
        return {"verdict": "fail", **_failure(totals.failure, failed)}
    if any(report.skipped for report in reports):
        return {"verdict": "unsupported", "seen": "skipped"}
    if totals.checks == 0:
        return {"verdict": "error", "seen": "no check"}
    return {"verdict": totals.evidence or "pass"}


def _failure(failure: check.ContractFailure | None, reports: list[Any]) -> dict[str, Any]:
    if failure is not None:
        return {"what": failure.what, "expected": failure.expected[:200],
                "seen": failure.seen[:200]}  # fmt: skip
    crash = getattr(reports[0].longrepr, "reprcrash", None)
    return {"what": "the test raised", "seen": str(getattr(crash, "message", ""))[:300]}


def main() -> int:
    options = arguments()
    sys.path[:0] = [options.mutants, str(Path(options.mutants) / "package")]
    torch.set_num_threads(1)  # a child of a parent with OpenMP threads would wait for them
    plugin = Killer(options)
    # The checkout's own pytest options are not for these tests.
    return int(pytest.main(
        ["-c", os.devnull, "--rootdir", str(Path.cwd()), f"--confcutdir={CONTRACTS}", "-q",
         "-p", "no:cacheprovider", "-p", "no:faulthandler",
         "-W", "ignore", "--pyargs", "tbk_contracts", "--tbk-device=unknown", "--tbk-supervised"],
        plugins=[plugin],
    ))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
