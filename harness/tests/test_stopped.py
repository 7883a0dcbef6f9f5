# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A run that is stopped with all its processes, or frozen with its machine, goes on as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import HOSTILE, LIB, command, hostile, processes_with, read, wait_for
from tbk_contracts.torch import patience

TEST = "copy/an_upload_writes_its_range_only"
DEADLINE_S = 1.0
SOON_S = 0.05  # in which its parent sees that the worker is stopped
RESTS = ("--only", TEST, "--timeout", str(DEADLINE_S), "--jobs", "1", "--isolation", "fork")


def is_at_work(pid: int) -> bool:
    """Returns whether the process has loaded the library."""
    try:
        return str(HOSTILE) in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def test_a_run_that_stood_still_accuses_nobody(tmp_path: Path) -> None:
    """It stands still in a test, for longer than its deadline. The worker goes on last, so that its
    parent sees it stopped."""
    output = tmp_path / "results.jsonl"
    with subprocess.Popen(
        command(HOSTILE, output, *RESTS, *hostile("rest_in_call", "at=4")),
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for(lambda: output.exists() and output.stat().st_size > 0)  # the preflight is over
        wait_for(lambda: any(map(is_at_work, processes_with(str(output)))))
        every = sorted(processes_with(str(output)), key=is_at_work)
        for pid in every:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(1.2 * DEADLINE_S)
        for pid in every:
            time.sleep(SOON_S if is_at_work(pid) else 0)
            os.kill(pid, signal.SIGCONT)
        said, _ = process.communicate()
    assert read(output).verdicts == {TEST: "pass"}, said
    assert process.returncode == 0


STOPS_BEHIND_A_GATE = """
import ctypes, os, signal, sys, time
keeper, said = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(512)
assert keeper.tbk_keeper_load(sys.argv[2].encode(), None, said) == 0, said.value
began = time.monotonic()
assert keeper.tbk_keeper_close(0, None, ctypes.c_uint64(int(sys.argv[3])), said) == 0, said.value
os.kill(os.getpid(), signal.SIGSTOP)
assert keeper.tbk_keeper_settle(said) == 0, said.value
print(time.monotonic() - began)
"""


def test_a_gate_that_stood_still_is_not_opened_early() -> None:
    """However busy the machine is, it opens no sooner: the host has what is left of its time."""
    most_s, stopped_s = 0.7, 0.8
    libraries = map(
        str, (LIB / "libtbk_gate_keeper.so", LIB / "hostile" / "libtbk_hostile_gate.so")
    )
    with subprocess.Popen(
        [sys.executable, "-c", STOPS_BEHIND_A_GATE, *libraries, str(int(most_s * 1e9))],
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        time.sleep(stopped_s)
        process.send_signal(signal.SIGCONT)
        took_s, _ = process.communicate()
    assert os.WIFSTOPPED(status)
    assert float(took_s) >= most_s + stopped_s - patience.STANDSTILL_S


def test_the_clock_of_pytorchs_layer_counts_no_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    now, stood = [1000.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def stand_still(_within_s: float) -> bool:
        now[0] += 60
        stood.append(now[0])
        return len(stood) == 3

    began = patience.awake_s()
    assert patience.wait(stand_still, 4 * patience.STANDSTILL_S)
    assert patience.awake_s() - began == pytest.approx(3 * patience.STANDSTILL_S)
    assert not patience.wait(stand_still, 4 * patience.STANDSTILL_S)
