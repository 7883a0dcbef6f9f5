# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tbk-run does with bad places to write to."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
from pathlib import Path

from runs import (
    CPU,
    HOSTILE,
    TEMPLATE,
    command,
    hostile,
    run,
    wait_for,
)


def test_a_full_disk_is_8_and_says_so_once() -> None:
    done = run(TEMPLATE, Path("/dev/full"))
    assert done.code == 8
    assert "No space left on device" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


ROOM = 60000  # for the journal of two jobs, and for a part of the results


def limit_file_size() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def test_a_disk_that_fills_up_loses_nothing_written(output: Path) -> None:
    done = subprocess.run(
        command(TEMPLATE, output, "--jobs=2"),
        capture_output=True,
        text=True,
        preexec_fn=limit_file_size,
        check=False,
    )
    assert done.returncode == 8
    assert len(done.stderr.strip().splitlines()) == 1
    written = output.read_bytes()
    assert 0 < len(written) <= ROOM
    assert written.endswith(b"\n")
    kept = written.count(b"\n") - 1
    resumed = run(TEMPLATE, output, "--resume")
    assert resumed.code == 0, resumed.stderr
    results = resumed.results()
    assert results.raw.startswith(written)
    assert len(results.tests) > kept
    assert len(results.verdicts) == len(results.tests)


def test_a_folder_that_is_not_there_is_8(tmp_path: Path) -> None:
    done = run(TEMPLATE, tmp_path / "missing" / "results.jsonl")
    assert done.code == 8
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_read_only_folder_is_8(tmp_path: Path) -> None:
    folder = Path("/sys/kernel") if os.geteuid() == 0 else tmp_path / "locked"
    if os.geteuid() != 0:
        folder.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    done = run(TEMPLATE, folder / "results.jsonl")
    assert done.code == 8
    assert len(done.stderr.strip().splitlines()) == 1


def test_two_runs_do_not_share_a_file(output: Path) -> None:
    hang = hostile("hang_in_call")
    with subprocess.Popen(
        command(HOSTILE, output, "--only", "copy", *hang),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as first:
        wait_for(lambda: output.exists() and output.stat().st_size > 0)
        done = run(TEMPLATE, output)
        first.terminate()
    assert done.code == 8
    assert "another run is writing it" in done.stderr


def test_64_descriptors_are_enough(output: Path) -> None:
    done = run(CPU, output, "--only", "memory", "--jobs", "64", prefix=("prlimit", "--nofile=64"))
    assert done.code == 0, done.stdout + done.stderr
