# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""An exclusive device that another process has open: no test is to blame for it."""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from runs import CPU, LIB, PATIENCE, Results, command, processes_with, read, run

MUTANTS = LIB / "libtbk_mutants.so"
IN_OPEN = 0x20
HELD = "another process has held the exclusive device for"
SOME = ("--only", "memory", "--only", "copy", "--only", "stream/runs_work_in_order")


class Holder:
    """Has device 0 of the cpu backend, as far as other processes can see."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = os.open(path, os.O_RDWR | os.O_CREAT)

    def is_free(self) -> bool:
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError:
            return False
        self.release()
        return True

    def take_after_the_next(self) -> None:
        """Waits until somebody has it, and takes it when it is let go."""
        until = time.monotonic() + PATIENCE
        while self.is_free():
            assert time.monotonic() < until
        fcntl.lockf(self.file, fcntl.LOCK_EX, 1, 0)

    def release(self) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, 0)

    def see_attempts(self, count: int) -> None:
        """Waits until the file was opened so often; a process opens it once, for the device."""
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_CLOEXEC)
        assert libc.inotify_add_watch(watch, os.fsencode(self.path), IN_OPEN) >= 0
        for _ in range(count):
            assert select.select([watch], [], [], PATIENCE)[0], "no attempt to open the device"
            os.read(watch, 16)
        os.close(watch)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    holder = Holder(tmp_path / "lock")
    yield holder
    os.close(holder.file)


def exclusive(holder: Holder, *more: str) -> tuple[str, ...]:
    return ("--backend-option", f"exclusive={holder.path}", *more)


@contextmanager
def begun(output: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    line = command(CPU, output, "--quiet", *arguments)
    process = subprocess.Popen(line, text=True, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def notes_of(results: Results) -> list[str]:
    return [test["notes"] for test in results.tests if "held" in (test["notes"] or "")]


@pytest.mark.parametrize("isolation", ["fork", "batch"])
def test_what_could_not_open_the_device_runs_when_it_is_free(
    holder: Holder, output: Path, isolation: str
) -> None:
    """None of these tests starts a process that waits for the device by itself."""
    expected = run(CPU, output, *SOME, *exclusive(holder)).results().verdicts
    with begun(output, *SOME, *exclusive(holder, "--isolation", isolation)) as process:
        holder.take_after_the_next()
        holder.see_attempts(3)
        holder.release()
        assert process.wait(PATIENCE) == 0
    results = read(output)
    assert results.verdicts == expected
    assert len(results.tests) == results.footer["planned"]
    assert results.footer["health"] == "ok"
    assert notes_of(results)


@pytest.mark.parametrize("isolation", ["fork", "batch"])
def test_a_device_that_is_never_free_again_ends_the_run(
    holder: Holder, output: Path, isolation: str
) -> None:
    more = ("--isolation", isolation, "--open-timeout", "1")
    with begun(output, *SOME, *exclusive(holder, *more)) as process:
        holder.take_after_the_next()
        assert process.wait(PATIENCE) == 1
    results = read(output)
    assert set(results.counts()) <= {"pass", "not-shown", "unsupported", "not-reached"}
    unreached = [test for test in results.tests if test["verdict"] == "not-reached"]
    assert unreached
    assert all(HELD in test["seen"] for test in unreached)
    assert len(results.tests) == results.footer["planned"]
    assert HELD in results.footer["reason"]
    assert results.footer["health"] == "ok"
    assert not processes_with(str(output))


@pytest.mark.parametrize("isolation", ["fork", "batch"])
def test_a_device_that_others_take_again_and_again_passes(
    holder: Holder, output: Path, isolation: str
) -> None:
    """Also while a test opens it again, or the suite asks whether it computes."""
    some = ("--only", "device_open", "--only", "teardown", "--jobs", "3")
    with begun(output, *some, *exclusive(holder, "--isolation", isolation)) as process:
        while process.poll() is None:
            fcntl.lockf(holder.file, fcntl.LOCK_EX, 1, 0)
            time.sleep(0.002)
            holder.release()
            time.sleep(0.002)
    results = read(output)
    assert process.returncode == 0
    assert set(results.counts()) <= {"pass", "not-shown", "unsupported"}
    assert results.footer["health"] == "ok"


def test_a_library_that_keeps_the_device_for_itself_fails(output: Path) -> None:
    """It answers as if another process had it, but does so each time that it has closed it."""
    opened = "device_open/a_closed_device_can_be_opened_again"
    mutant = ("--backend-option", "mutant=exclusive_is_never_let_go")
    done = run(MUTANTS, output, "--only", opened, *mutant)
    assert done.code == 1
    assert "UNAVAILABLE" in done.results().tests[0]["seen"]


def test_a_device_that_was_never_free_is_none(holder: Holder, output: Path) -> None:
    fcntl.lockf(holder.file, fcntl.LOCK_EX, 1, 0)
    done = run(CPU, output, *SOME, *exclusive(holder, "--open-timeout", "1"))
    assert done.code == 5
    assert "UNAVAILABLE" in done.stderr
