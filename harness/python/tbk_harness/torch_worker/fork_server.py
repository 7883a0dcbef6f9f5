# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Imports all that is slow, and forks launchers when it is asked (harness/src/fork_server.h)."""

from __future__ import annotations

import array
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import tbk_contracts.torch
import torch

from tbk_harness.torch_worker import early_name, launcher, listing, memory
from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.speech import told
from tbk_harness.torch_worker.subject import Subject
from tbk_harness.torch_worker.worker import Worker

MOST_BYTES = 65_536
FOLDER = "TBK_TORCH_CONTRACTS"  # a folder of other tests, for the harness's own
PLUGINS_OFF = (
    "cacheprovider", "terminal", "faulthandler", "logging", "doctest", "junitxml",
    "pastebin", "stepwise", "unraisableexception", "threadexception",
)  # fmt: skip


CONTRACTS = Path(str(tbk_contracts.torch.__file__)).resolve().parent


def contracts() -> Path:
    """Returns the folder of the contract tests."""
    return Path(os.environ[FOLDER]).resolve() if os.environ.get(FOLDER) else CONTRACTS


def _arguments(request: Request, folder: Path) -> list[str]:
    off = [word for name in PLUGINS_OFF for word in ("-p", f"no:{name}")]
    files = [] if folder == CONTRACTS else ["-o", "python_files=test_*.py act_*.py"]
    return [
        *files, *off, "-p", "tbk_contracts.torch.plugin", "-c", os.devnull, f"--rootdir={folder}",
        f"--confcutdir={folder}",  # what lies above is no part of the suite
        "--import-mode=importlib", "--assert=plain", "--capture=no", "--strict-markers",
        "--tbk-supervised", f"--tbk-device={request.device_name}", f"--tbk-seed={request.seed}",
        *(f"--ignore={path}" for path in request.left_out(folder)), str(folder),
    ]  # fmt: skip


class Collection:
    """A plugin that takes over where pytest would begin to run what it has collected."""

    def __init__(self, request: Request, folder: Path) -> None:
        self.request, self.folder = request, folder
        self.error = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keeps the first error."""
        if report.failed and not self.error:
            lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
            self.error = f"{report.nodeid}: {lines[-1].removeprefix('E').strip() if lines else ''}"

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Nothing else says it, without a terminal."""
        print(told(excinfo.value), file=sys.stderr)

    def listed(self, items: list[pytest.Item]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Returns the tests and the suite."""
        if self.error:
            raise listing.ListingError(self.error)
        if not items:
            raise listing.ListingError(f"{self.folder} holds no test")
        return listing.tests(items), listing.suite(self.request, self.folder)


class Listing(Collection):
    """Prints the tests."""

    code = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Ends the session when they are printed."""
        try:
            found, suite = self.listed(session.items)
        except listing.ListingError as error:
            print(error, file=sys.stderr)
            self.code = error.code
            return True
        for one in [*found, suite]:
            print(json.dumps(one))
        return True


class ForkServer(Collection):
    """Answers the supervisor until that is gone; in a worker, works."""

    is_worker = False

    def __init__(self, request: Request, folder: Path) -> None:
        super().__init__(request, folder)
        self._socket = socket.socket(fileno=request.socket)
        self._library = launcher.Library(str(request.launcher))
        self._subject = Subject(request)
        self._worker: Worker | None = None
        self._early: early_name.Child | None = None

    def ask_early(self) -> None:
        """While the tests are collected, a child finds out whether the device has a name."""
        if self.request.early and early_name.is_worth_asking(self.request):
            self._early = early_name.ask(self._subject, self._say)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serves jobs. Returns where the fork server shall end, and in workers that end as
        interpreters do."""
        torch.set_num_threads(1)
        try:
            found, suite = self.listed(session.items)
        except listing.ListingError as error:
            self._say(said="error", exit=error.code, reason=str(error))
            return True
        finally:
            if self._early is not None:
                self._early.end(self.request.early)
        self._worker = Worker(self._subject, session.items, self.folder)
        session.config.pluginmanager.register(self._worker, "tbk-worker")
        for one in [*found, suite]:
            self._say(**one)
        memory.settle()
        self._answer()
        return True

    def _say(self, **members: Any) -> None:
        self._socket.sendall(json.dumps(members).encode())

    def _answer(self) -> None:
        while not self.is_worker:
            data, files, _, _ = socket.recv_fds(self._socket, MOST_BYTES, 8)
            if not data:
                return
            asked = json.loads(data)
            if asked["do"] == "launcher":
                self._make_launcher(files, int(asked["at"]))
            else:
                self._learn(asked, files[0])

    def _learn(self, asked: dict[str, Any], plan: int) -> None:
        assert self._worker is not None  # noqa: S101  # made before anything is asked
        numbers = array.array("I")
        with os.fdopen(plan, "rb") as file:
            file.seek(0)
            numbers.frombytes(file.read())
        self._worker.plan, self._worker.held = numbers, asked.get("held")
        if asked["warm"]:
            self._subject.introduce()
        memory.settle()
        self._say(said="known")

    def _make_launcher(self, files: list[int], at: int) -> None:
        """A child of a child that ends at once, so that it becomes the supervisor's."""
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child == 0:
                self._be_launcher(files, at)
                return
            os.write(writing, str(child).encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(between, 0)
        pid = os.read(reading, 32)
        for file in (reading, *files):
            os.close(file)
        self._say(said="launcher", pid=int(pid or b"0"))

    def _be_launcher(self, files: list[int], at: int) -> None:
        assert self._worker is not None  # noqa: S101
        self._socket.detach()  # its number is another descriptor from now on
        job = self._library.serve(files, at)
        self.is_worker = True
        self._worker.work(job)


def print_list(request: Request) -> int:
    """Prints a JSON object for each test, and one for the suite."""
    plugin = Listing(request, contracts())
    code = int(pytest.main(_arguments(request, plugin.folder), plugins=[plugin]))
    return plugin.code or (listing.SUITE if code not in (0, 1, 5) else 0)


def serve(request: Request) -> int:
    """Returns the life of a fork server; of its descendants, that of a worker."""
    plugin = ForkServer(request, contracts())
    plugin.ask_early()
    code = int(pytest.main(_arguments(request, plugin.folder), plugins=[plugin]))
    if plugin.is_worker:
        return launcher.WORKER_EXIT
    return 0 if code in (0, 1, 5) else listing.SUITE
