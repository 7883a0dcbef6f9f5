# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Drives tbk-run and watches its result file grow."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from tbk_reports.model import FAILING, VERDICTS, parse_line
from tbk_reports.text import line

from tbk_harness.interruption import handed_on
from tbk_harness.locate import tbk_run

POLL_S = 0.1
LOG_S = 30


class NoRunnerError(RuntimeError):
    """tbk-run is not to be found."""


def runner() -> Path:
    found = tbk_run()
    if found is None:
        raise NoRunnerError(
            "tbk-run was not found: build it (cmake --build build), put it on PATH, or set TBK_RUN"
        )
    return found


@dataclass
class Growth:
    """What has been appended to a result file so far, read a piece at a time."""

    path: Path
    planned: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    latest: str = ""
    _offset: int = 0

    def read(self) -> None:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        for raw in data[:whole].splitlines():
            with contextlib.suppress(ValueError):
                self._take(parse_line(raw))

    def _take(self, record: object) -> None:
        if not isinstance(record, dict):
            return
        planned = record.get("planned")
        if record.get("record") == "header" and isinstance(planned, int):
            self.planned = planned
        elif record.get("record") == "test":
            verdict = str(record.get("verdict"))
            self.counts[verdict if verdict in VERDICTS else "suite-error"] += 1
            self.latest = line(str(record.get("id", "")), 60)

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def failing(self) -> int:
        return sum(count for verdict, count in self.counts.items() if verdict in FAILING)


@dataclass(frozen=True)
class Ended:
    exit_code: int
    said: str


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(16_384).decode("utf-8", "replace")


def _show(growth: Growth, process: subprocess.Popen[bytes], console: Console, layer: str) -> None:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[of]}", markup=False),
        TextColumn("{task.fields[failing]}", style="red", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[latest]}", markup=False, style="dim"),
    )
    with Progress(*columns, console=console, transient=True, expand=False) as progress:
        task = progress.add_task(f"{layer}: starting", total=None, of="", failing="", latest="")
        while process.poll() is None:
            growth.read()
            progress.update(
                task,
                description=f"{layer}: running" if growth.planned else f"{layer}: starting",
                total=growth.planned or None,
                of=f"{growth.done:,}/{growth.planned:,}" if growth.planned else "",
                completed=growth.done,
                failing=f"{growth.failing} failing" if growth.failing else "",
                latest=growth.latest,
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)


def _log(growth: Growth, process: subprocess.Popen[bytes], console: Console, layer: str) -> None:
    """Where there is no terminal, a line now and then says that it goes on."""
    started = time.monotonic()
    while process.poll() is None:
        try:
            process.wait(LOG_S)
        except subprocess.TimeoutExpired:
            growth.read()
            done = f"{growth.done:,} of {growth.planned:,} tests" if growth.planned else "starting"
            failing = f", {growth.failing:,} failing" if growth.failing else ""
            spent = int(time.monotonic() - started)
            console.print(f"{layer}: {done}{failing} after {spent} s", markup=False)


def run(
    arguments: Sequence[str],
    output: Path,
    console: Console | None = None,
    alone: bool = True,
    environment: Mapping[str, str] | None = None,
    keep: tuple[int, ...] = (),
    layer: str = "tests",
) -> Ended:
    """Runs tbk-run with its results in `output`. With a console, progress is shown on it.

    `alone`: in a session of its own, so that a Ctrl-C reaches it once, through us.
    `environment`: what is added to our own. `keep`: descriptors that it holds as long as it lives.
    `layer`: what progress calls it.
    """
    command = [str(runner()), *arguments, "--output", str(output), "--quiet"]
    with tempfile.TemporaryFile() as said, handed_on() as interruption:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=alone,
            pass_fds=keep,
            env={**os.environ, **(environment or {})},
        )
        interruption.started(process)
        if console is not None:
            shown = _show if console.is_terminal else _log
            shown(Growth(output), process, console, layer)
        return Ended(process.wait(), _said(said))


def list_tests(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Returns what tbk-run would run, as it prints it."""
    return subprocess.run(
        [str(runner()), *arguments, "--list"],
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )
