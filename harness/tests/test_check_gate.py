# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk check --gate: the proofs of order of the torch layer, with a stream that is held shut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from litmus_runs import MUTANTS, read
from nights import NIGHT
from runs import BUILD, CPU, LIB, PATIENCE, Record

BRIDGE = BUILD / "python" / "torch_tbk" / "_C.so"
BROKEN = LIB / "hostile" / "libtbk_hostile_gate.so"
MODULE = "import torch_tbk; torch_tbk.load({library!r}, options={options!r})"


def check(
    folder: Path, library: Path, gate: str, options: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    (folder / "held.py").write_text(MODULE.format(library=str(library), options=options))
    words = [
        sys.executable, "-m", "tbk_harness", "check", "tbk_cpu", "--import=held", "--no-blame",
        "--only=torch_event_order", f"--gate={gate}", f"--report-dir={folder / 'report'}",
    ]  # fmt: skip
    variables = {"TBK_BUILD": str(BUILD), "PYTHONPATH": str(folder), **environment}
    return subprocess.run(
        words, env={**os.environ, **variables},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def outcomes(folder: Path) -> list[Record]:
    return [one for one in read(folder / "report" / "results.jsonl") if one["record"] == "test"]


def test_orders_are_proved_behind_a_gate(tmp_path: Path) -> None:
    done = check(tmp_path, CPU, "bridge")
    assert done.returncode == 0, done.stdout
    assert "the gate bridge holds a stream at a time" in done.stdout
    assert "proven" in {one["evidence"] for one in outcomes(tmp_path)}


def test_what_is_broken_fails_behind_a_gate(tmp_path: Path) -> None:
    done = check(tmp_path, MUTANTS, "bridge", "mutant=wait_does_nothing")
    assert done.returncode == 1, done.stderr
    assert "EVT-507" in {one["clause"] for one in outcomes(tmp_path) if one["verdict"] == "fail"}


@NIGHT
def test_a_gate_that_holds_its_caller_is_not_used(tmp_path: Path) -> None:
    done = check(tmp_path, CPU, "bridge", "policy=inline")
    assert done.returncode == 0, done.stdout
    assert "held its caller and is not used" in done.stdout


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ("dies_in_close", "signal 6"),
        # Told in the words of tbk-litmus, whose tests know more ways.
        pytest.param("serves_nobody", "does not serve", marks=NIGHT),
        pytest.param("closes_nothing", "closes nothing", marks=NIGHT),
        pytest.param("never_opens", "does not open", marks=NIGHT),
    ],
)
def test_a_broken_gate_stops_before_the_first_test(how: str, word: str, tmp_path: Path) -> None:
    behind = {"TBK_HOSTILE_GATE": how, "TBK_HOSTILE_GATE_BEHIND": str(BRIDGE)}
    done = check(tmp_path, CPU, str(BROKEN), **behind)
    said = [one for one in done.stderr.splitlines() if one.startswith("tbk: ")]
    assert (done.returncode, len(said)) == (4, 1), done.stderr
    assert word in said[0]
    assert not (tmp_path / "report" / "results.jsonl").exists()
