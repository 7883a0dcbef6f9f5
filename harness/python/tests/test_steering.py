# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a recorded command says of the simulated driver, and who heeds it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
import synthetic
from invoke import Tbk
from tbk_harness import debugger, litmus_runner, reproducer, steering
from tbk_reports.finding import Finding
from tbk_reports.model import read_record

SEEDED = "scheduler=seeded,seed=7"
COMMAND = "tbk-run ./my.so --only a/b --seed 7"
REPLAY = f"env LD_PRELOAD=/tmp/evil.so TBK_ACME_SIMULATOR={SEEDED} {COMMAND}"
HEADER = {"torch": {"device": "acme", "imports": []}, "seed": 5, "command": []}


def test_of_a_command_only_what_steers_a_simulator_is_taken() -> None:
    assert steering.variables(REPLAY) == {"TBK_ACME_SIMULATOR": SEEDED}
    assert steering.without(shlex.split(REPLAY)) == shlex.split(COMMAND)
    for other in (COMMAND, "env", "env TBK_ACME_SIMULATOR_LOG=/etc/passwd tbk-run", "it's none"):
        assert steering.variables(other) == {}


def test_it_is_steered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TBK_ACME_SIMULATOR", raising=False)
    before = dict(os.environ)
    with steering.steered(REPLAY):
        assert {**before, "TBK_ACME_SIMULATOR": SEEDED} == dict(os.environ)
        assert steering.here() == ["env", f"TBK_ACME_SIMULATOR={SEEDED}"]
    assert before == dict(os.environ)


def test_a_program_of_litmus_keeps_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBK_ACME_SIMULATOR", SEEDED)
    finding = Finding("", "", "", (), (), (), (), (), seed=3, index=5)
    command = litmus_runner.again("./my.so", finding, ())
    assert steering.variables(command) == {"TBK_ACME_SIMULATOR": SEEDED}
    words = litmus_runner.arguments_of(command)
    assert words is not None
    assert words[0] == "./my.so"


def test_replay_gdb_and_a_file_that_runs_alone_heed_it(tbk: Tbk, tmp_path: Path) -> None:
    program = tmp_path / "tbk-run"
    program.write_text('#!/bin/sh\necho "$TBK_ACME_SIMULATOR$LD_PRELOAD" > "$TOLD"\n')
    program.chmod(0o755)
    synthetic.write(
        tmp_path / "r.jsonl", [synthetic.case(0, "fail", replay=REPLAY)], synthetic.header(1)
    )
    told = tmp_path / "told"
    tbk("replay", "r.jsonl", TBK_RUN=str(program), TOLD=str(told))
    assert told.read_text() == SEEDED + "\n"
    assert debugger.arguments(read_record({"id": "a/b", "replay": REPLAY}))[0] == "./my.so"
    record = {"id": "torch_copy/a_round_trip_keeps_every_bit[float32]", "verdict": "fail",
              "layer": "torch", "phase": "body", "clause": "CPY-501", "replay": REPLAY}  # fmt: skip
    alone = reproducer.alone(read_record(record), HEADER)
    assert f"os.environ['TBK_ACME_SIMULATOR'] = '{SEEDED}'" in alone.replace("\\'", "'")
    assert "LD_PRELOAD" not in alone
