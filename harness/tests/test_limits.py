# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A machine that leaves a run too little is told so in a line, and no backend is blamed for it."""

from __future__ import annotations

import datetime
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from runs import CPU, HOSTILE, PATIENCE, TBK_RUN, TEMPLATE, hostile, processes_with, read, run
from tbk_harness.judge import Known, judge
from tbk_reports.html import render_html
from tbk_reports.model import read_results
from tbk_reports.terminal import render_terminal

NOBODY = 65534
MOST_FILES = 16
SOME_PROCESSES = 5


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (f"--nofile={MOST_FILES}", "the limit of open files is 16 (ulimit -n), and a run needs 32"),
        ("--as=20971520", "the limit of address space is 20 MiB (ulimit -v)"),
        ("--data=20971520", "the limit of data is 20 MiB (ulimit -d)"),
    ],
)
def test_too_small_a_limit_is_told_before_any_test(tmp_path: Path, limit: str, words: str) -> None:
    output = tmp_path / "results.jsonl"
    done = run(TEMPLATE, output, prefix=("prlimit", limit))
    assert done.code == read(output).footer["exit_code"] == 6
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert not read(output).tests


ARENA = "memory/no_bytes_can_be_allocated_on_the_second_device"
FEW_BYTES = 1 << 30  # of addresses: one device of the reference can be opened, and no two


def test_what_a_limit_may_have_done_is_a_failure_and_nobodys_fault(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    done = run(CPU, output, "--only", ARENA, prefix=("prlimit", f"--as={FEW_BYTES}"))
    words = "address space 1024 MiB (ulimit -v)"
    (record,) = read(output).tests
    assert (done.code, record["verdict"], record["blame"]) == (1, "fail", "unclear")
    assert record["notes"].endswith(words)
    assert words in done.stdout
    assert words in read(output).header["machine"]["limits"]
    judged = judge(read_results(output), Known(), datetime.date(2026, 11, 26))
    told = f"1 failure may come from a limit of the run, and not from the device: {words}"
    assert told in render_terminal(judged)
    assert told in render_html(judged)


GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A group of processes that may have 64 MiB together, where this user may make one."""
    above, limit = (
        (GROUPS / "memory", "memory.limit_in_bytes")
        if (GROUPS / "memory").is_dir()
        else (GROUPS, "memory.max")
    )
    group = above / f"tbk-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text("67108864")
    except OSError as error:
        pytest.skip(f"no group of processes can be made here: {error}")
    yield group
    group.rmdir()


def test_whom_the_kernel_kills_for_want_of_memory_is_nobodys_fault(
    tmp_path: Path, small_group: Path
) -> None:
    output = tmp_path / "results.jsonl"
    enter = f'echo $$ > {small_group}/cgroup.procs && exec "$@"'
    done = run(HOSTILE, output, *hostile("eat_memory"), prefix=("sh", "-c", enter, "sh"))
    words = "memory 64 MiB (cgroup), the kernel killed a process"
    crashes = [test for test in read(output).tests if test["verdict"] == "crash"]
    assert done.code == 1
    assert {test["blame"] for test in crashes} == {"unclear"}
    assert all(test["notes"].endswith(words) for test in crashes)
    assert words in done.stdout


def test_who_kills_itself_is_to_blame_in_a_small_group(tmp_path: Path, small_group: Path) -> None:
    output = tmp_path / "results.jsonl"
    enter = f'echo $$ > {small_group}/cgroup.procs && exec "$@"'
    run(HOSTILE, output, *hostile("kill_itself"), prefix=("sh", "-c", enter, "sh"))
    assert {test["blame"] for test in read(output).tests if test["verdict"] == "crash"} == {
        "backend"
    }


def test_a_device_that_dies_of_a_limit_names_it(tmp_path: Path) -> None:
    """Room enough for the run's own files, which grow with the cores, and not for the device."""
    done = run(CPU, tmp_path / "r.jsonl", prefix=("prlimit", f"--fsize={16 << 20}:"))
    assert done.code == 5
    assert (
        "SIGXFSZ (open); perhaps a limit of the run: file size 16384 KiB (ulimit -f)" in done.stderr
    )


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """Returns a folder that another user may use, with what it takes to run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        for path in (TBK_RUN, TEMPLATE):
            shutil.copy(path, folder)
        yield folder


def test_a_user_who_may_start_no_more_processes_is_told(everybodys: Path) -> None:
    """RLIMIT_NPROC does not hold for root, so that the run is somebody else's."""
    few = (SOME_PROCESSES, SOME_PROCESSES)
    done = subprocess.run(
        [everybodys / TBK_RUN.name, everybodys / TEMPLATE.name, "--output", everybodys / "r.jsonl"],
        user=NOBODY if os.geteuid() == 0 else None,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NPROC, few),
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 6, done.stdout + done.stderr
    # A build for coverage complains, too: this user may not write what it has counted.
    said = [line for line in done.stderr.splitlines() if line.startswith("tbk-run: ")]
    assert len(said) == 1
    assert "the limit of processes (ulimit -u) leaves room for" in said[0]
    assert read(everybodys / "r.jsonl").footer["exit_code"] == 6


def without_proc() -> tuple[str, ...]:
    """Returns a prefix that hides /proc; empty where this machine lets nobody do so."""
    hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
    tried = subprocess.run([*hide, "true"], capture_output=True, check=False)
    return hide if tried.returncode == 0 else ()


@pytest.mark.skipif(not without_proc(), reason="this machine lets nobody hide /proc")
def test_without_proc_it_is_said_who_lives_on(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    only = ("--only", "memory_free")
    done = run(HOSTILE, output, *only, *hostile("daemonise"), prefix=without_proc())
    left = processes_with(str(output))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    results = read(output)
    assert done.code == 0
    assert left
    assert "what leaves a test's process group lives on" in done.stderr
    assert results.header["machine"]["processes_held_by"].startswith("its process group alone")
    assert results.header["machine"]["memory_held_by"].startswith("nothing")
    assert any("which live on" in (record["notes"] or "") for record in results.tests)


DEAF = (sys.executable, "-c",
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "os.execv(sys.argv[1], sys.argv[1:])")  # fmt: skip


@pytest.mark.parametrize("tool", ["tbk-run", "tbk-cunit", "tbk-litmus"])
def test_who_was_started_deaf_to_its_children_hears_them(tmp_path: Path, tool: str) -> None:
    """Some services leave SIGCHLD ignored, and what they start inherits that."""
    words = {
        "tbk-run": ["--only", "MEM-002", "--output", str(tmp_path / "results.jsonl")],
        "tbk-cunit": ["--only", "memory"],
        "tbk-litmus": ["--programs", "1", "--output", str(tmp_path / "litmus.jsonl")],
    }
    line = [*DEAF, str(TBK_RUN.parent / tool), str(CPU), *words[tool]]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_hears_how_tbk_run_ended(tmp_path: Path) -> None:
    ends = tmp_path / "tbk-run"
    ends.write_text(f'#!/bin/sh\nexec prlimit --nofile={MOST_FILES} {TBK_RUN} "$@"\n')
    ends.chmod(0o755)
    words = ["-m", "tbk_harness", "run", str(TEMPLATE), "--report-dir", str(tmp_path / "r")]
    done = subprocess.run(
        [*DEAF, sys.executable, *words, "--layer", "c"], capture_output=True, text=True,
        check=False, env={**os.environ, "TBK_RUN": str(ends)},
    )  # fmt: skip
    assert done.returncode == 6
    assert "ended with status" not in done.stdout + done.stderr


def test_the_header_says_what_holds_processes_and_memory(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    run(TEMPLATE, output, "--only", "MEM-002")
    machine = read(output).header["machine"]
    assert machine["processes_held_by"] == "a count of all that a test has started"
    assert machine["memory_held_by"] == "the sum over all that a test has started"
