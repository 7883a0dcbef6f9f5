# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A farm as a command sees it: jobs go out, answers come back, and whatever becomes of the farm,
the command goes on within a time that is known."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tbk_reports.model import EXIT_INTERRUPTED, EXIT_NO_DEVICE, EXIT_USAGE
from tbk_reports.text import line

from tbk_harness import outcome, tether
from tbk_harness.farm.place import Place, host_and_port
from tbk_harness.interruption import handed_on

MISSING = "--farm needs Ray: pip install 'torch-backend-kit[farm]'"
POLL_S = 0.2
LEAVE_S = 5.0  # for a driver that was asked to end
LEAST_WAIT_S = 5.0
CONNECT_S = 5.0

Reply = Mapping[str, Any]


class FarmError(RuntimeError):
    """A farm that is not there, or went away; `code` is how the command ends."""

    def __init__(self, said: str, code: int) -> None:
        super().__init__(said)
        self.code = code


def need(place: Place) -> None:
    """Ends the command in one line where Ray is not installed, or nobody listens at the farm's
    address. Commands ask before they import or run anything that takes long, and once."""
    if importlib.util.find_spec("ray") is None:
        outcome.stop(EXIT_USAGE, MISSING)
    address = host_and_port(place.where)
    try:
        if address:
            socket.create_connection(address, CONNECT_S).close()
    except OSError as error:
        said = f"no farm answers at {place.where}: {error.strerror or error}"
        outcome.stop(EXIT_NO_DEVICE, said)
    except UnicodeError:
        outcome.stop(EXIT_NO_DEVICE, f"no farm answers at {place.where}: no host has such a name")


@dataclass
class Farm:
    """A farm and its driver. `folder` has a folder of each job that was answered."""

    place: Place
    folder: Path
    files: Mapping[str, Path]
    """What all jobs get, by name: the library, old results."""
    boards: int = 0
    lost: list[str] = field(default_factory=list)
    """Nodes that went away while we watched."""
    _driver: subprocess.Popen[bytes] | None = None
    _events: int = -1
    _rest: bytes = b""
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _said: IO[bytes] | None = None

    def __enter__(self) -> Farm:
        """Connects. Raises FarmError where there is no such farm, or no node for a part."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._start()
        try:
            self._until("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the driver, and with it what it still runs."""
        driver = self._driver
        if driver is not None and driver.stdin is not None:
            with contextlib.suppress(OSError):
                driver.stdin.close()
            try:
                driver.wait(LEAVE_S)
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()
        self._driver = None
        self._stack.close()

    def _start(self) -> None:
        read, write = os.pipe()
        self._stack.callback(os.close, read)
        self._events = read
        self._said = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        interruption = self._stack.enter_context(handed_on())
        command = tether.command(sys.executable, "-m", "tbk_harness.farm.driver", str(write))
        self._driver = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said,
            pass_fds=(write,), start_new_session=True,
        )  # fmt: skip
        os.close(write)
        interruption.started(self._driver)
        self._send(
            {
                "where": self.place.where, "resources": list(self.place.resources),
                "wait_s": self.place.wait_s, "folder": str(self.folder.absolute()),
                "files": {name: str(path.absolute()) for name, path in self.files.items()},
            }
        )  # fmt: skip

    def _send(self, value: object) -> None:
        driver = self._driver
        if driver is None or driver.stdin is None:
            raise FarmError("the farm is closed", EXIT_INTERRUPTED)
        try:
            driver.stdin.write(json.dumps(value).encode() + b"\n")
            driver.stdin.flush()
        except OSError:
            self._ended()

    def run(
        self, jobs: Sequence[Mapping[str, Any]], tell: Callable[[str, Reply], None]
    ) -> list[str]:
        """Runs the jobs, tells of each that was answered, and returns why others never were.

        Raises FarmError where the farm goes away before; what was told by then is recorded.
        """
        self._send(list(jobs))
        failed: list[str] = []
        while True:
            event = self._next()
            if event["event"] == "done":
                tell(event["name"], self.reply(event["name"]))
            elif event["event"] == "failed":
                failed.append(f"{event['name']}: {event['said']}")
            elif event["event"] == "batch":
                return failed

    def reply(self, name: str) -> Reply:
        """Returns what a job was answered."""
        found: dict[str, Any] = json.loads((self.folder / name / "reply.json").read_text("utf-8"))
        return found

    def _until(self, name: str) -> None:
        while self._next()["event"] != name:
            pass

    def _next(self) -> dict[str, Any]:
        """Returns the next event; those that end the farm raise FarmError."""
        event = self._event()
        kind = event["event"]
        if kind == "alive":
            self.boards = event["boards"]
        elif kind == "lost":
            self.lost.append(event["node"])
        elif kind == "missing":
            raise FarmError(MISSING, EXIT_USAGE)
        elif kind == "refused":
            raise FarmError(event["said"], EXIT_NO_DEVICE)
        elif kind == "over":
            raise FarmError(event["said"], EXIT_INTERRUPTED)
        elif kind == "end":
            self._ended()
        return event

    def _event(self) -> dict[str, Any]:
        wait = max(self.place.wait_s, LEAST_WAIT_S)
        until = time.monotonic() + wait
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if time.monotonic() > until:
                    self._kill()
                    said = f"the farm at {self.place.where} did not answer for {wait:g} s"
                    raise FarmError(said, EXIT_INTERRUPTED)
                if not selector.select(POLL_S):
                    continue
                piece = os.read(self._events, 65_536)
                if not piece:
                    self._ended()
                self._rest += piece
        raw, _, self._rest = self._rest.partition(b"\n")
        event: dict[str, Any] = json.loads(raw)
        return event

    def _kill(self) -> None:
        if self._driver is not None:
            self._driver.kill()

    def _ended(self) -> None:
        """Raises FarmError: the driver ended before it had told all."""
        said = b""
        if self._said is not None:
            self._said.seek(0)
            said = self._said.read()[-16_384:]
        told = [one for one in said.decode("utf-8", "replace").splitlines() if one.strip()]
        last = f": {line(told[-1], 200)}" if told else ""
        raise FarmError(f"the farm at {self.place.where} went away{last}", EXIT_INTERRUPTED)
