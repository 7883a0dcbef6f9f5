# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Contracts that behave badly, each in a way of its own."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
import torch
from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

CLAUSE = clause("CPY-501")
RECOMMENDED = clause("ERR-508")  # a should


def _passes() -> None:
    check.equal("one", 1, 1)


@CLAUSE
def test_first_passes(device: torch.device) -> None:
    sent = host.counting((4,))
    check.tensor("a round trip", host.download(host.upload(sent, device)), sent)


@CLAUSE
def test_segfault(device: torch.device) -> None:
    _passes()
    ctypes.string_at(0)


@CLAUSE
def test_abort(device: torch.device) -> None:
    os.abort()


@CLAUSE
def test_hang(device: torch.device) -> None:
    _passes()
    threading.Event().wait()


@CLAUSE
def test_exit(device: torch.device) -> None:
    _passes()
    os._exit(0)


@CLAUSE
def test_sys_exit(device: torch.device) -> None:
    _passes()
    sys.exit(0)


@CLAUSE
def test_worker_exit(device: torch.device) -> None:
    _passes()
    os._exit(86)


@CLAUSE
def test_stops_itself(device: torch.device) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@CLAUSE
def test_kills_the_fork_server(device: torch.device) -> None:
    """The eldest of the processes below tbk-run; the next act needs another launcher."""
    supervisor = _stat(os.getppid())[PARENT]
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found = {pid: _stat(pid) for pid in pids}  # once: any of them may end
    below = [pid for pid in pids if found[pid][PARENT] == supervisor]
    os.kill(min(below, key=lambda pid: int(found[pid][STARTED])), signal.SIGKILL)
    _passes()


PARENT, STARTED = 1, 19  # of what follows the name in /proc/PID/stat


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [""] * 20


@CLAUSE
def test_kills_its_parent(device: torch.device) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    threading.Event().wait()


@CLAUSE
def test_closes_all_descriptors(device: torch.device) -> None:
    _passes()
    os.closerange(3, 256)


@CLAUSE
def test_prints_megabytes(device: torch.device) -> None:
    for _ in range(4096):
        print("x" * 1023)
    _passes()


@CLAUSE
def test_leaves_a_daemon(device: torch.device) -> None:
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, b".")
            signal.pause()
        os._exit(0)
    os.read(reading, 1)
    os.waitpid(between, 0)  # so that one is left, and not two for a moment
    _passes()


@clause("CPY-501", fresh=True)
def test_crashes_at_the_end_of_the_interpreter(device: torch.device) -> None:
    atexit.register(os.abort)
    _passes()


@CLAUSE
def test_checks_nothing(device: torch.device) -> None:
    pass


@CLAUSE
def test_skips(device: torch.device) -> None:
    _passes()
    pytest.skip("no verdict")


@CLAUSE
@pytest.mark.xfail(reason="no verdict", strict=True)
def test_is_marked(device: torch.device) -> None:
    check.equal("one", 1, 2)


@CLAUSE
def test_misspells(device: torch.device) -> None:
    _passes()
    undefined_name  # type: ignore[name-defined] # noqa: B018, F821


@pytest.fixture
def broken_fixture() -> int:
    return int("five" + str(0)[1]) if os.environ else 0


@CLAUSE
def test_has_a_broken_fixture(device: torch.device, broken_fixture: int) -> None:
    _passes()


@CLAUSE
def test_fails(device: torch.device) -> None:
    check.note("a note")
    check.fact(operator="add", margin=0.5)
    check.equal("the answer", 41, 42)


@CLAUSE
def test_is_not_as_recommended(device: torch.device) -> None:
    check.should("the bound", False, expected=1, seen=2)
    check.should("another bound", False, expected=3, seen=4)
    check.equal("the answer", 42, 42)


@CLAUSE
def test_is_not_as_recommended_and_fails(device: torch.device) -> None:
    check.should("the bound", False, expected=1, seen=2)
    check.equal("the answer", 41, 42)


@RECOMMENDED
def test_of_a_recommendation(device: torch.device) -> None:
    check.equal("the answer", 41, 42)


@RECOMMENDED
def test_of_a_recommendation_that_dies(device: torch.device) -> None:
    os.abort()


@CLAUSE
def test_raises(device: torch.device) -> None:
    torch.zeros(2, 3, device=device) @ torch.zeros(2, 3, device=device)


@CLAUSE
def test_asserts(device: torch.device) -> None:
    assert device.type == "", "a plain assertion"


@CLAUSE
def test_swallows_a_failure(device: torch.device) -> None:
    def check_in_thread() -> None:
        with contextlib.suppress(AssertionError):  # as a thread does that nobody joins
            check.equal("the answer of a thread", 41, 42)

    thread = threading.Thread(target=check_in_thread)
    thread.start()
    thread.join()


@clause("CPY-501", needs="two_devices")
def test_needs_two(device: torch.device) -> None:
    raise AssertionError("it must not run")


@CLAUSE
def test_shows_nothing(device: torch.device) -> None:
    _passes()
    check.evidence(check.NOT_SHOWN, "nothing could be seen")


@CLAUSE
def test_last_passes(device: torch.device) -> None:
    _passes()
