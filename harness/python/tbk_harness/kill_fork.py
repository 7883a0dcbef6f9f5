# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Forked processes, several at a time, each with a time limit, and what became of them.

For the kill matrix of the torch layer alone: it judges mutants, not backends.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

Result = dict[str, Any]
Job = Callable[[], Result]
Task = Generator[tuple[Job, float], Result, Any]
"""Yields what to run in a forked process and for how many seconds at most; is sent the result."""


@dataclass
class Child:
    """A forked process at work."""

    pid: int
    pipe: int
    deadline: float
    begun: float
    resume: Callable[[Result], None]
    said: bytearray = field(default_factory=bytearray)


class Forks:
    """Runs the jobs of tasks, several tasks at a time."""

    def __init__(self, jobs: int, log: int) -> None:
        self.jobs, self.log = jobs, log
        self.selector = selectors.DefaultSelector()
        self.running: dict[int, Child] = {}

    def run(self, tasks: Iterator[Task]) -> None:
        more = True
        while more or self.running:
            while more and len(self.running) < self.jobs:
                task = next(tasks, None)
                more = task is not None
                if task is not None:
                    self._advance(task, None)
            self._wait()

    def _advance(self, task: Task, result: Result | None) -> None:
        try:
            job, limit = next(task) if result is None else task.send(result)
        except StopIteration:
            return
        self._start(job, limit, lambda ended: self._advance(task, ended))

    def _start(self, job: Job, limit: float, resume: Callable[[Result], None]) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _child(job, writing, self.log)
        os.close(writing)
        now = time.monotonic()
        self.running[reading] = Child(pid, reading, now + limit, now, resume)
        self.selector.register(reading, selectors.EVENT_READ)

    def _wait(self) -> None:
        if not self.running:
            return
        now = time.monotonic()
        rest = min(child.deadline for child in self.running.values()) - now
        for key, _ in self.selector.select(max(0.0, rest)):
            child = self.running[key.fd]
            data = os.read(child.pipe, 1 << 16)
            child.said += data
            if not data:
                self._end(child, hung=False)
        now = time.monotonic()
        for child in [one for one in self.running.values() if one.deadline <= now]:
            self._end(child, hung=True)

    def _end(self, child: Child, *, hung: bool) -> None:
        self.selector.unregister(child.pipe)
        os.close(child.pipe)
        del self.running[child.pipe]
        status = _reap(child.pid, hung)
        seconds = round(time.monotonic() - child.begun, 3)
        child.resume({**_verdict(bytes(child.said), status, hung), "seconds": seconds})


EXIT_GRACE_S = 5.0


def _reap(pid: int, hung: bool) -> int | None:
    """Returns the exit status; None where it did not end by itself. Its own children go with it."""
    deadline = time.monotonic() + (0 if hung else EXIT_GRACE_S)
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.002)  # it has closed its pipe and is about to end
        ended, status = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
        return None
    return status


def _verdict(said: bytes, status: int | None, hung: bool) -> Result:
    try:
        told: Result = json.loads(said) if said else {}
    except ValueError:
        told = {}
    if told and (status == 0 or told.get("verdict") == "fail"):
        return told
    if hung or status is None:
        return {"verdict": "hang", "seen": "does not end"}
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "an exit of its own"
    return {"verdict": "crash", "seen": how}


def _child(job: Job, pipe: int, log: int) -> None:
    """Does not return."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for stream in (1, 2):
        os.dup2(log, stream)
    try:
        told = job()
    except BaseException as error:
        traceback.print_exc()
        told = {"verdict": "error", "seen": f"{type(error).__name__}: {error}"[:300]}
    os.write(pipe, json.dumps(told).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
