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

from tbk_reports.model import FAILING, VERDICTS, as_count, parse_line
from tbk_reports.text import line

from tbk_harness import tether
from tbk_harness.interruption import handed_on
from tbk_harness.locate import tbk_run
from tbk_harness.progress import Display
from tbk_harness.progress_row import BLAME, C_LAYER, IMPORTING, PROBING, TORCH_LAYER

POLL_S = 0.1
# What tbk-run calls the phases of a run (phase.h), and a user.
PHASES = {
    "c": {"start": C_LAYER, "preflight": C_LAYER, "tests": C_LAYER},
    "torch": {"start": IMPORTING, "preflight": PROBING, "tests": TORCH_LAYER},
    "blame": {"start": BLAME, "preflight": BLAME, "tests": BLAME},
}
SOON_S, ENOUGH = 2.0, 0.01  # no time left is told before so long, and so much of the whole


class NoRunnerError(RuntimeError):
    """tbk-run is not to be found."""


def runner() -> Path:
    found = tbk_run()
    if found is None:
        raise NoRunnerError(
            "tbk-run was not found: build it (cmake --build build), put it on PATH, or set TBK_RUN"
        )
    return found


def _times(previous: Path | None, layer: str) -> dict[str, float]:
    """Returns how long each test of a layer took in an old result file, if there is one."""
    found: dict[str, float] = {}
    with contextlib.suppress(OSError):
        for raw in previous.read_bytes().splitlines() if previous else ():
            with contextlib.suppress(ValueError):
                record = parse_line(raw)
                if (
                    isinstance(record, dict)
                    and record.get("layer") == layer
                    and "verdict" in record
                ):
                    found[str(record.get("id"))] = float(as_count(record.get("wall_ns")))
    return found


@dataclass
class Growth:
    """What has been appended to a result file so far, read a piece at a time."""

    path: Path
    planned: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    latest: str = ""
    previous: Path | None = None
    """Results of the run before, which tell how long each test takes."""
    deadline: float | None = None
    """By the monotonic clock, when the last test begins."""
    _times: dict[str, float] = field(default_factory=dict)
    _spent: float = 0.0  # of these, by the tests that are done
    _before: float = 0.0  # the share that was done when this run began: of one that goes on
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
            self._times = _times(self.previous, str(record.get("layer")))
        elif record.get("record") == "test":
            verdict = str(record.get("verdict"))
            self.counts[verdict if verdict in VERDICTS else "suite-error"] += 1
            self.latest = line(str(record.get("id", "")), 60)
            self._spent += self._times.get(str(record.get("id")), 0.0)

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def share(self) -> float:
        """Returns how much is done: by the times of the run before, where that had as many tests,
        else by their number."""
        whole = sum(self._times.values())
        if whole > 0 and len(self._times) == self.planned:
            return min(self._spent / whole, 1.0)
        at_once = self.counts["unsupported"]  # told before the first test runs
        return (self.done - at_once) / max(self.planned - at_once, 1)

    def begin(self) -> None:
        """Notes that tests begin now: what is there already took no time of this run."""
        self._before = self.share

    def left(self, seconds: float) -> float | None:
        """Returns the seconds that are left after so many; None where it is too early to say."""
        share, done = self.share, self.share - self._before
        if seconds < SOON_S or done < ENOUGH:
            return None
        left = seconds * (1 - share) / done
        return (
            left if self.deadline is None else min(left, max(self.deadline - time.monotonic(), 0))
        )

    @property
    def failing(self) -> int:
        return sum(count for verdict, count in self.counts.items() if verdict in FAILING)


@dataclass(frozen=True)
class Ended:
    exit_code: int
    said: str
    by: str = "tbk-run"


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(16_384).decode("utf-8", "replace")


def _watch(
    process: subprocess.Popen[bytes], growth: Growth, phases: Path, display: Display, layer: str
) -> None:
    """Shows how the run goes on until it ends."""
    words, began = PHASES[layer], 0.0
    while process.poll() is None:
        growth.read()
        told = _last_line(phases)
        display.phase(words.get(told, words["start"]))
        if told != "tests":
            began = time.monotonic()
            growth.begin()
        display.show(
            growth.done, growth.planned, growth.failing,
            growth.left(time.monotonic() - began), growth.latest,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)


def _last_line(path: Path) -> str:
    try:
        return path.read_text("utf-8").rstrip("\n").rpartition("\n")[2]
    except (OSError, UnicodeDecodeError):
        return ""


def run(
    arguments: Sequence[str],
    output: Path,
    display: Display | None = None,
    alone: bool = True,
    environment: Mapping[str, str] | None = None,
    keep: tuple[int, ...] = (),
    layer: str = "c",
    growth: Growth | None = None,
    tethered: bool = False,
) -> Ended:
    """Runs tbk-run with its results in `output`; with a display, it says how that goes.

    `alone`: in a session of its own, so that a Ctrl-C reaches it once, through us.
    `environment`: what is added to our own. `keep`: descriptors that it holds as long as it lives.
    `layer`: of PHASES, what the display calls it; `growth`: what it knows of `output` beforehand.
    `tethered`: it gets TERM where this process ends, however that ends.
    """
    command = [str(runner()), *arguments, "--output", str(output), "--quiet"]
    command = tether.command(*command) if tethered else command
    with (
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryDirectory(prefix="tbk-phases-") as folder,
        handed_on() as interruption,
    ):
        phases = Path(folder) / "phases"
        command += [f"--phases={phases}"] if display is not None else []
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
        if display is not None:
            _watch(process, growth or Growth(output), phases, display, layer)
        return Ended(process.wait(), _said(said))


def list_tests(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Returns what tbk-run would run, as it prints it."""
    return _asked([*arguments, "--list"])


def check_options(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Returns what tbk-run says to its options, without doing anything."""
    return _asked([*arguments, "--check-options"])


def _asked(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(runner()), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )
