# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A run that is interrupted, by any signal and however often, loses nothing and leaves nobody."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from runs import HOSTILE, PATIENCE, TBK_RUN, command, hostile, processes_with, read, wait_for

INTERRUPTED = 7
SIGNALS = (signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGTERM)
# The hang in the middle has everything wait for the signal, beside the records of what went before.
# Its own deadline comes after that of these tests.
SLOW = ("--only", "memory", "--only", "copy", "--timeout", str(2 * PATIENCE), "--jobs", "1")
HANGS = hostile("hang_in_call", "at=4")


pytestmark = pytest.mark.usefixtures("heeds_signals")


def is_running_tests(output: Path) -> bool:
    return output.exists() and output.read_bytes().count(b'"record":"test"') >= 3


def end(process: subprocess.Popen[str], number: signal.Signals, twice: bool) -> tuple[int, str]:
    process.send_signal(number)
    if twice:
        process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out


@pytest.mark.parametrize(
    ("number", "isolation", "twice"),
    [
        *((number, isolation, False) for number in SIGNALS for isolation in ("fork", "batch")),
        (signal.SIGINT, "fork", True),
        (signal.SIGTERM, "batch", True),
    ],
)
def test_tbk_run_in_c_says_that_it_was_interrupted(
    tmp_path: Path, number: signal.Signals, isolation: str, twice: bool
) -> None:
    output = tmp_path / "results.jsonl"
    # In batches a record waits until its process is known to be sound.
    more = () if isolation == "fork" else ("--isolation", "batch", "--repeat", "200")
    with subprocess.Popen(
        command(HOSTILE, output, *SLOW, *more, *(HANGS if isolation == "fork" else ())),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for(lambda: is_running_tests(output))
        code, out = end(process, number, twice)
    results = read(output)
    assert code == results.footer["exit_code"] == INTERRUPTED
    assert results.footer["verdict"] == "error"
    assert len(results.tests) == results.footer["recorded"] < results.footer["planned"]
    last = out.strip().splitlines()[-1]
    assert last.startswith(f"tbk-run: INTERRUPTED  interrupted by {number.name} after ")
    assert "PASS" not in last
    wait_for(lambda: not processes_with(str(output)))


@pytest.mark.parametrize(
    ("number", "twice"),
    [*((number, False) for number in SIGNALS), (signal.SIGINT, True), (signal.SIGTERM, True)],
)
def test_tbk_run_hands_the_signal_on(tmp_path: Path, number: signal.Signals, twice: bool) -> None:
    """The command waits for tbk-run, whose results it reports, and lets go of the folder."""
    end_a_run(tmp_path, number, twice)


@pytest.mark.parametrize(
    ("number", "ignored"),
    [
        # A shell does this to that which a script starts with &.
        *((one, (signal.SIGINT, signal.SIGQUIT)) for one in (signal.SIGTERM, signal.SIGHUP)),
        (signal.SIGTERM, (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)),
        (signal.SIGQUIT, (signal.SIGINT, signal.SIGTERM)),
    ],
)
def test_tbk_run_hands_on_what_its_runner_heeds(
    tmp_path: Path, number: signal.Signals, ignored: tuple[signal.Signals, ...]
) -> None:
    before = {one: signal.signal(one, signal.SIG_IGN) for one in ignored}
    try:
        end_a_run(tmp_path, number, twice=False)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def end_a_run(tmp_path: Path, number: signal.Signals, twice: bool) -> None:
    folder = tmp_path / "report"
    output = folder / "results.jsonl"
    words = ["--layer", "c", "--report-dir", str(folder), *SLOW[:6], "--jobs", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "tbk_harness", "run", str(HOSTILE), *words, *HANGS],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "TBK_RUN": str(TBK_RUN)},
    ) as process:  # fmt: skip
        wait_for(lambda: any(map(is_running_tests, tmp_path.rglob("*.jsonl"))))
        code, out = end(process, number, twice)
    results = read(output)
    assert code == results.footer["exit_code"] == INTERRUPTED, out
    assert len(results.tests) == results.footer["recorded"]
    assert not processes_with(str(folder))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where somebody still holds it
    os.close(descriptor)
