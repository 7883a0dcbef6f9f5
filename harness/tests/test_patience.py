# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Deadlines on a machine that others keep busy: who could not run gets its time, not who hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import CPU, HOSTILE, Record, hostile, run

ONE = ("--only", "copy/an_upload_writes_its_range_only", "--timeout", "1.5", "--jobs", "1")
OTHERS = 3  # with them, 0.6 s of a processor take 2.4 s
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the kernel tells no waiting times"
)


@pytest.fixture
def crowded() -> Iterator[None]:
    """Leaves one processor for all that this test runs, and others that keep it busy."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in range(OTHERS)
    ]
    yield
    for other in others:
        other.kill()
        other.wait()
    os.sched_setaffinity(0, allowed)


def only_test(output: Path, name: str) -> Record:
    [test] = run(HOSTILE, output, *ONE, *hostile(name)).results().tests
    return test


@pytest.mark.usefixtures("crowded")
def test_who_is_not_let_run_gets_the_time_that_it_waited(tmp_path: Path) -> None:
    """Where still more runs beside it, its time ends after four deadlines."""
    test = only_test(tmp_path / "x.jsonl", "work_in_call")
    assert test["verdict"] == "pass" or test["wall_ns"] >= 4 * 1.5e9
    assert test["wall_ns"] > 1.5e9  # else nothing was shown


@pytest.mark.usefixtures("crowded")
def test_who_hangs_gets_no_more_time(tmp_path: Path) -> None:
    test = only_test(tmp_path / "x.jsonl", "hang_in_call")
    assert test["verdict"] == "hang"
    assert test["wall_ns"] < 4 * 1.5e9


@pytest.mark.usefixtures("crowded")
def test_who_spins_is_found_all_the_same(tmp_path: Path) -> None:
    test = only_test(tmp_path / "x.jsonl", "spin_in_call")
    assert test["verdict"] == "hang"
    assert "though it waited" in test["seen"]


def test_who_goes_on_making_checks_does_not_hang(tmp_path: Path) -> None:
    """A device that takes its time for each new shape, in a test of a hundred shapes."""
    slow = ("--backend-option", "shape_ms=20", "--timeout", "1")
    only = ("--only", "program_scan/every_short_length_is_whole")
    [test] = run(CPU, tmp_path / "x.jsonl", *only, *slow).results().tests
    assert test["verdict"] == "pass"
    assert test["wall_ns"] > 1e9  # else nothing was shown
