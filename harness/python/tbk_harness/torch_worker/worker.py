# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A worker: one job, then the end of the process."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from tbk_contracts.torch import check, process
from tbk_contracts.torch.plugin import is_only_should

from tbk_harness.torch_worker import item_report, launcher, preflight
from tbk_harness.torch_worker.speech import Speech, told
from tbk_harness.torch_worker.subject import Subject

HEALTH_EVERY_NS = 250_000_000
FIRST = 0  # the item of the plan whose process always ends as an interpreter does


class Worker:
    """Runs a job's pytest items, and says what came of them. A plugin of pytest's, too."""

    def __init__(self, subject: Subject, items: Sequence[pytest.Item], folder: Path) -> None:
        self._subject, self._items, self._folder = subject, items, folder
        self.plan: Sequence[int] = range(len(items))
        self.held: dict[str, bool] | None = None
        self._cell = launcher.Cell()
        self._seen = item_report.Seen(folder)

    def work(self, job: launcher.Job) -> None:
        """Returns where the process shall end as an interpreter does, with WORKER_EXIT."""
        # The launcher has set all signals to their defaults; Python ignores this one.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        faulthandler.enable(all_threads=False)
        process.renew_after_fork()
        self._cell = job.cell
        self._cell.phase = launcher.PHASE_LOAD
        self._speech = Speech(job.key)
        self._begun = 0
        ends_itself = self._run(job)
        self._say_done()
        if not ends_itself:
            os._exit(launcher.WORKER_EXIT)

    def _say_done(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._cell.phase = launcher.PHASE_EXIT
        self._speech.say("done", begun=self._begun)

    def _run(self, job: launcher.Job) -> bool:
        if job.kind == launcher.PREFLIGHT:
            return self._run_preflight(job.argument)
        if job.kind == launcher.HEALTH:
            self._introduce()
            preflight.say_health(self._subject, self._speech)
            return False
        return self._run_tests(job)

    def _run_preflight(self, argument: int) -> bool:
        if argument == launcher.BASICS:
            preflight.Basics(self._subject, self._speech, self._cell).run()
            return False
        if argument == launcher.WARMTH:
            preflight.say_warmth(self._subject, self._speech)
        else:
            preflight.say_words(self._subject, self._speech, argument - launcher.WORDS)
        return False

    # -------------------------------------------------------------------------------- tests ---

    def _introduce(self) -> None:
        self._subject.introduce()
        if self._items:
            option = self._items[0].config.option
            option.tbk_device, option.tbk_start = self._subject.name, self._subject.start

    def _run_tests(self, job: launcher.Job) -> bool:
        try:
            self._introduce()
        except Exception as error:
            self._say_no_import(error)
            return False
        probed = time.monotonic_ns()
        items = [self._items[self.plan[at]] for at in job.items]
        for number, item in enumerate(items):
            last = number + 1 == len(items)
            self._run_item(number, item, None if last else items[number + 1])
            if job.watch_health and (last or time.monotonic_ns() - probed > HEALTH_EVERY_NS):
                if not preflight.say_health(self._subject, self._speech):
                    return False
                probed = time.monotonic_ns()
        return not self._seen.fails and self._ends_as_interpreter(job)

    def _ends_as_interpreter(self, job: launcher.Job) -> bool:
        if job.argument & launcher.LEAVE_AT_ONCE:
            return False
        mark = self._items[self.plan[job.items[0]]].get_closest_marker("clause")
        fresh = mark is not None and bool(mark.kwargs.get("fresh"))
        return len(job.items) > 1 or job.items[0] == FIRST or fresh

    def _say_no_import(self, error: Exception) -> None:
        """It could be imported in the preflight, and can't be now: the test fails by it."""
        traceback.print_exception(error)
        self._begun = 1
        self._speech.say(
            "end", n=0, checks=1, failures=1, duration_ns=0, phase=launcher.PHASE_LOAD,
            what="importing what makes PyTorch know the device",
            expected="it can be imported each time", seen=told(error)[:500],
        )  # fmt: skip

    def _run_item(self, number: int, item: pytest.Item, following: pytest.Item | None) -> None:
        self._cell.position = number
        self._begun = number + 1
        self._cell.phase = launcher.PHASE_OPEN
        self._seen = item_report.Seen(
            self._folder, item_report.source_of(item), only_should=is_only_should(item)
        )
        check.begin()
        runtestprotocol(item, log=False, nextitem=following)
        for name in item_report.NO_MARKS:
            if item.get_closest_marker(name) is not None:
                self._seen.raised = {"setup": pytest.fail.Exception(f"it is marked {name}")}
        for error in self._seen.raised.values():
            traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
        self._speech.say("end", n=number, **item_report.members(self._seen))

    @staticmethod
    def _leave(asked: SystemExit) -> None:
        """As sys.exit in a program would, and just as little a verdict."""
        code = asked.code
        os._exit(code & 0xFF if isinstance(code, int) else (1 if code else 0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keeps the exception itself; a report costs more than most tests."""
        if call.excinfo is not None:
            if isinstance(call.excinfo.value, SystemExit):
                self._leave(call.excinfo.value)
            self._seen.raised[call.when] = call.excinfo.value
        if call.when == "call":
            self._seen.duration_ns = int(call.duration * 1e9)
            self._cell.phase = launcher.PHASE_CLEAN
        elif call.when == "setup":
            self._cell.phase = launcher.PHASE_BODY
        assert call.when != "collect"  # noqa: S101  # that has no item
        passed = call.excinfo is None
        return pytest.TestReport(
            item.nodeid, item.location, {}, "passed" if passed else "failed", None, call.when
        )
