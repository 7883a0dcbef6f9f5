# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The worker that waits for its order while another test runs: what happens to it is no test's."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from runs import HOSTILE, PATIENCE, command, hostile, processes_with, read, wait_for

TEST = "copy/an_upload_writes_its_range_only"
HANGS = ("--only", TEST, "--timeout", "15", "--jobs", "1")


def parent_of(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def has_loaded(pid: int, library: Path) -> bool:
    try:
        return str(library) in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return True  # it is gone


def waiting_workers(output: Path, supervisor: int) -> dict[int, int]:
    """Returns each with its launcher: children of the supervisor's children, without the
    backend."""
    return {
        pid: parent_of(pid)
        for pid in processes_with(str(output))
        if parent_of(parent_of(pid)) == supervisor and not has_loaded(pid, HOSTILE)
    }


class Idle:
    """The slot that does nothing while a test hangs in the other."""

    def __init__(self, output: Path, supervisor: int) -> None:
        self.output = output
        self.supervisor = supervisor
        self.find(but=0)

    def find(self, but: int) -> None:
        def found() -> bool:
            workers = waiting_workers(self.output, self.supervisor)
            running = len(processes_with(str(self.output))) == 5
            self.worker, self.launcher = next(iter(workers.items()), (0, 0))
            return running and len(workers) == 1 and self.worker != but

        wait_for(found)

    def kill_worker(self, number: signal.Signals) -> None:
        os.kill(self.worker, number)
        self.find(but=self.worker)

    def kill_launcher(self) -> None:
        launcher = self.launcher
        os.kill(launcher, signal.SIGKILL)
        wait_for(lambda: parent_of(launcher) != self.supervisor)


@pytest.mark.parametrize("how", ["killed", "stopped", "parent killed"])
def test_a_worker_that_dies_while_it_waits_harms_no_test(tmp_path: Path, how: str) -> None:
    output, hangs = tmp_path / "results.jsonl", tmp_path / "hangs"
    with subprocess.Popen(
        command(HOSTILE, output, *HANGS, *hostile("hang_in_call", "at=4", f"once={hangs}")),
        stdout=subprocess.DEVNULL,
    ) as process:
        wait_for(hangs.exists)  # until then the worker that waits may be the one that gets the test
        idle = Idle(output, process.pid)
        if how == "killed":
            for _ in range(3):
                idle.kill_worker(signal.SIGKILL)
        elif how == "stopped":
            idle.kill_worker(signal.SIGSTOP)
        else:
            idle.kill_launcher()
        assert process.wait(timeout=PATIENCE) == 1
    results = read(output)
    assert results.verdicts == {TEST: "hang"}
    # The slot that was idle asks after the hang whether the device still computes.
    assert results.footer["health"] == "ok"
    assert not processes_with(str(output))
