# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where a run reads and writes there may be anything, and others may be at work: it ends, and says
what became of the results."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import PATIENCE, TEMPLATE, Run, command, read, run, wait_for

ONE = ("--only", "MEM-002")
HUGE = 1 << 40
LOST = "somebody has removed, replaced or changed it meanwhile"


def refused(done: Run, code: int, words: str) -> None:
    assert done.code == code, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_a_pipe_that_nobody_reads_does_not_hold_a_run(output: Path) -> None:
    os.mkfifo(output)
    refused(run(TEMPLATE, output), 8, "nobody reads it")


def test_a_pipe_that_holds_all_and_that_nobody_reads_has_lost_it(output: Path) -> None:
    os.mkfifo(output)
    refused(run(TEMPLATE, output, *ONE), 8, "nobody reads it")


def test_a_pipe_that_somebody_reads_gets_all(output: Path) -> None:
    os.mkfifo(output)
    copy = output.with_name("copy.jsonl")
    with copy.open("wb") as file, subprocess.Popen(["cat", str(output)], stdout=file) as reader:
        done = run(TEMPLATE, output)
        reader.wait(PATIENCE)
    assert done.code == 0
    assert read(copy).footer["exit_code"] == 0


@pytest.mark.parametrize("what", ["loop", "nowhere", "folder"])
def test_where_no_file_can_be_is_8(output: Path, what: str) -> None:
    if what == "folder":
        output.mkdir()
    else:
        output.symlink_to(output.name if what == "loop" else "nowhere/results.jsonl")
    refused(run(TEMPLATE, output, *ONE), 8, "results could not be written")


@pytest.mark.parametrize("what", ["folder", "pipe", "loop"])
def test_what_lies_where_a_run_notes_what_it_does_is_no_reason_to_wait(
    output: Path, what: str
) -> None:
    notes = Path(f"{output}.inflight")
    if what == "folder":
        notes.mkdir()
    elif what == "pipe":
        os.mkfifo(notes)
    else:
        notes.symlink_to(notes.name)
    refused(run(TEMPLATE, output, *ONE), 8, "results could not be written")


def test_a_pipe_among_the_notes_of_a_run_that_died_is_not_read(output: Path) -> None:
    run(TEMPLATE, output, *ONE)
    output.write_bytes(output.read_bytes().splitlines(keepends=True)[0])
    os.mkfifo(f"{output}.inflight")
    refused(run(TEMPLATE, output, *ONE, "--resume"), 8, "results could not be written")


@pytest.mark.parametrize("begins", ["with nothing", "with a run"])
def test_a_hole_without_an_end_is_not_resumed(output: Path, begins: str) -> None:
    output.touch()
    if begins == "with a run":
        run(TEMPLATE, output, *ONE)
    os.truncate(output, HUGE)
    refused(run(TEMPLATE, output, *ONE, "--resume"), 2, "more than this run can have written")


def _remove(output: Path) -> None:
    output.unlink()


def _remove_folder(output: Path) -> None:
    output.unlink()
    Path(f"{output}.inflight").unlink()
    output.parent.rmdir()


def _replace(output: Path) -> None:
    other = output.with_suffix(".other")
    other.write_bytes(output.read_bytes())
    other.rename(output)


def _cut(output: Path) -> None:
    os.truncate(output, 0)


def _cut_short(output: Path) -> None:
    os.truncate(output, 10)


def _change(output: Path) -> None:
    with output.open("r+b") as file:
        file.seek(10)
        file.write(b"?")


@pytest.mark.parametrize("change", [_remove, _remove_folder, _replace, _cut, _cut_short, _change])
@pytest.mark.parametrize("isolation", ["fork", "batch"])
def test_results_that_others_touch_meanwhile_are_not_said_to_be_written(
    tmp_path: Path, change: Callable[[Path], None], isolation: str
) -> None:
    output = tmp_path / "report" / "results.jsonl"
    output.parent.mkdir()
    words = command(TEMPLATE, output, "--only", "memory", "--repeat", "6", "--isolation", isolation)
    with subprocess.Popen(words, stdout=-3, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: output.exists() and output.stat().st_size > 0)
        process.send_signal(signal.SIGSTOP)
        change(output)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 8, said
    assert LOST in said
