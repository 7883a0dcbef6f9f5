# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The torch layer's part of the kill matrix, and the processes in which its mutants run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tbk_harness import kill_fork, kill_torch
from tbk_harness.kill import Matrix


def _told(**changes: object) -> dict[str, object]:
    row = {"name": "m", "clauses": "MEM-501", "breaks": "it", "narrow": False,
           "mechanism": "native", "tests": ""}  # fmt: skip
    ran = [{"test": "torch_memory/a", "verdict": "fail", "seconds": 0.5}]
    return {
        "kind": "mutant",
        "clause": "MEM-501",
        "killed": True,
        "row": row,
        "ran": ran,
        "runs": 1,
        **changes,
    }


SOUND: dict[str, object] = {
    "kind": "test",
    "id": "torch_memory/a",
    "clause": "MEM-501",
    "verdict": "pass",
}
END: dict[str, object] = {"kind": "end"}


def _filled(*rows: dict[str, object]) -> Matrix:
    matrix = Matrix(tests={}, must=("MEM-501",))
    matrix.wrong = tuple(kill_torch.fill(matrix, rows))
    return matrix


def test_a_killed_mutant_of_the_torch_layer_is_no_problem() -> None:
    matrix = _filled(SOUND, _told(), END)
    assert matrix.problems == []
    assert matrix.tests == {"torch_memory/a": "MEM-501"}


@pytest.mark.parametrize("verdict", ["pass", "not-shown", "trivial", "unsupported"])
def test_a_survivor_of_the_torch_layer_is_a_problem(verdict: str) -> None:
    ran = [{"test": "torch_memory/a", "verdict": verdict, "seconds": 0.5}]
    matrix = _filled(SOUND, _told(ran=ran), END)
    assert [row.mutant.name for row in matrix.survivors] == ["m"]
    assert matrix.unproven == ["MEM-501"]
    assert matrix.idle_tests == ["torch_memory/a"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((SOUND, _told()), "ended before"),
        (({**SOUND, "verdict": "fail"}, _told(ran=[]), END), "the sound device fails"),
        ((SOUND, _told(ran=[{"test": "t", "verdict": "error", "seen": "no such file",
                             "seconds": 0.1}]), END), "no such file"),
    ],
)  # fmt: skip
def test_what_keeps_torch_mutants_from_being_judged_is_told(
    rows: tuple[dict[str, object], ...], said: str
) -> None:
    problems = _filled(*rows).problems
    assert any(said in problem for problem in problems), problems


def _crash() -> kill_fork.Result:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def _hang() -> kill_fork.Result:
    signal.pause()
    return {}


def _raise() -> kill_fork.Result:
    raise ValueError("no such mutant")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside threads
@pytest.mark.parametrize(
    ("job", "verdict", "said"),
    [
        (lambda: {"verdict": "pass", "seen": ""}, "pass", ""),
        (_crash, "crash", f"signal {signal.SIGKILL.value}"),
        (_hang, "hang", "does not end"),
        (_raise, "error", "no such mutant"),
        (lambda: os._exit(0), "crash", "an exit of its own"),
    ],
)
def test_what_becomes_of_a_forked_job_is_told(
    tmp_path: Path, job: kill_fork.Job, verdict: str, said: str
) -> None:
    results: list[kill_fork.Result] = []

    def task() -> kill_fork.Task:
        results.append((yield job, 1.0 if job is _hang else 60.0))

    log = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    kill_fork.Forks(2, log).run(iter([task(), task()]))
    os.close(log)
    assert [result["verdict"] for result in results] == [verdict] * 2
    assert said in results[0]["seen"]
