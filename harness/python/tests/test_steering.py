# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a recorded command says of the simulated driver, and who heeds it."""

from __future__ import annotations

import ast
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from forked import Ended
from invoke import Tbk
from tbk_harness import recorded_run, reproducer, steering
from tbk_reports import recorded
from tbk_reports.model import read_record
from tbk_reports.words import debug_words

NAME = "TBK_ACME_SIMULATOR"
OTHER = "TBK_OTHER_SIMULATOR"
SEEDED = "scheduler=seeded,seed=7"
ODD = 'it\'s "a" $b; `c`\n*/ \\ &&  é'
COMMAND = "tbk-run ./my.so --only a/b --seed 7"
REPLAY = f"env LD_PRELOAD=/tmp/evil.so {NAME}={SEEDED} PATH=/tmp/evil {COMMAND}"
LITMUS = str(Path(__file__).resolve().parent / "fake_tbk_litmus.py")
TORCH = {"id": "torch_copy/a_round_trip_keeps_every_bit[float32]", "verdict": "fail",
         "layer": "torch", "phase": "body", "clause": "CPY-501"}  # fmt: skip
HEADER = {"torch": {"device": "acme", "imports": []}, "seed": 5, "command": []}
# Writes what it is told, and what it was started in.
TELLS = f"""\
#!{sys.executable}
import json, os, sys
with open(os.environ["TOLD"], "w") as file:
    json.dump([sys.argv[1:], dict(os.environ)], file)
"""
# What a shell exports where something is replayed, and what the record begins with.
SHELLS_AND_RECORDS = [
    ({NAME: "seed=1", OTHER: "seed=2"}, {NAME: ODD}),
    ({NAME: "seed=1", "TBK_NONE_SIMULATOR": ""}, {}),
]


def _recorded(variables: dict[str, str], command: str = COMMAND) -> str:
    told = [f"{name}={text}" for name, text in variables.items()]
    return steering.shown(told, shlex.split(command))


def _steering(environment: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in environment.items() if text and recorded.steers(name)}


class Stage:
    """A program of this name that tells how it was started, and a result file with one failure."""

    def __init__(self, tbk: Tbk, folder: Path, name: str) -> None:
        self.tbk, self.told = tbk, folder / "told"
        self.program = folder / "bin" / name
        self.program.parent.mkdir(exist_ok=True)
        self.program.write_text(TELLS)
        self.program.chmod(0o755)
        self.folder = folder

    def replay(self, command: str, *words: str, verdict: str = "fail", **more: str) -> Ended:
        test = synthetic.case(0, verdict, replay=command)
        synthetic.write(self.folder / "r.jsonl", [test], synthetic.header(1))
        self.told.unlink(missing_ok=True)
        return self.tbk("replay", *words, "r.jsonl", TOLD=str(self.told), COLUMNS="60", **more)

    def seen(self) -> tuple[list[str], dict[str, str]]:
        arguments, environment = json.loads(self.told.read_text())
        return arguments, environment

    def by_shell(self, command: str, environment: dict[str, str]) -> dict[str, str]:
        """Returns what steers where a shell runs a printed command."""
        self.told.unlink()
        paths = os.pathsep.join([str(self.program.parent), os.environ["PATH"]])
        subprocess.run(
            ["sh", "-c", command], check=True,
            env={**os.environ, **environment, "TOLD": str(self.told), "PATH": paths},
        )  # fmt: skip
        return _steering(self.seen()[1])


def test_of_a_command_only_what_steers_a_simulator_is_taken() -> None:
    found = recorded.read(REPLAY)
    assert (found.words, found.program) == (tuple(shlex.split(COMMAND)), "tbk-run")
    assert found.variables == {NAME: SEEDED}
    assert found.preloads
    assert recorded.read(_recorded({NAME: ODD})).variables == {NAME: ODD}
    for other in (
        COMMAND, "env", "it's none", f"env {NAME}_LOG=/etc/passwd tbk-run", f"env {NAME}= tbk-run",
        "env TBK_SIMULATOR=x tbk-run", f"tbk-run {NAME}=x", f"env A=\0{NAME}=x tbk-run",
        f"env {NAME}={'x' * recorded.MOST} tbk-run",
    ):  # fmt: skip
        assert recorded.read(other).variables == {}


def test_it_is_steered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "seed=1")
    monkeypatch.setenv(OTHER, "seed=2")
    before = dict(os.environ)
    with steering.steered(REPLAY):
        assert steering.here() == [f"{NAME}={SEEDED}"]
        assert {name for name in before if name not in os.environ} == {OTHER}
    assert before == dict(os.environ)


@pytest.mark.parametrize(("shell", "record"), SHELLS_AND_RECORDS)
def test_a_replay_is_the_recorded_run_and_prints_it(
    tbk: Tbk, tmp_path: Path, shell: dict[str, str], record: dict[str, str]
) -> None:
    stage = Stage(tbk, tmp_path, "tbk-run")
    ended = stage.replay(_recorded(record), TBK_RUN=str(stage.program), **shell)
    arguments, environment = stage.seen()
    assert arguments[:5] == ["./my.so", "--only", "a/b", "--seed", "7"], ended.stderr
    assert _steering(environment) == record
    printed = ended.stdout[: ended.stdout.index("--seed 7")] + "--seed 7"
    assert stage.by_shell(printed, shell) == record


@pytest.mark.parametrize(("shell", "record"), SHELLS_AND_RECORDS[:1])
def test_gdb_is_the_recorded_run_and_prints_it(
    tbk: Tbk, tmp_path: Path, shell: dict[str, str], record: dict[str, str]
) -> None:
    stage, unit = Stage(tbk, tmp_path, "gdb"), tmp_path / "bin" / "tbk-cunit"
    unit.write_text(TELLS)
    unit.chmod(0o755)
    path = f"{stage.program.parent}:{os.environ['PATH']}"
    ended = stage.replay(
        _recorded(record), "--gdb", verdict="crash", TBK_CUNIT=str(unit), PATH=path, **shell
    )
    arguments, environment = stage.seen()
    assert arguments[arguments.index("--args") + 2] == "./my.so", ended.stderr
    assert _steering(environment) == record
    assert stage.by_shell(ended.stdout, shell) == record


def test_a_file_sets_nothing_else_and_starts_nothing_else(tbk: Tbk, tmp_path: Path) -> None:
    stage = Stage(tbk, tmp_path, "tbk-run")
    ended = stage.replay(f"{REPLAY} --python /tmp/evil", TBK_RUN=str(stage.program))
    arguments, environment = stage.seen()
    assert arguments[arguments.index("--python") + 1] == sys.executable
    assert environment[NAME] == SEEDED
    assert environment["PATH"] == os.environ["PATH"]
    assert environment.get("LD_PRELOAD") == os.environ.get("LD_PRELOAD")
    assert "evil" not in ended.stdout
    for command in (
        "env rm -r x", "env -S 'rm -r x' tbk-run x.so", "env -i tbk-run x.so", f"env {NAME}=x",
        "tbk-run x.so --output y", "tbk-run x.so --outpu=y", "tbk-run x.so --phases y",
        "tbk-run x.so -- y.so", "tbk-run x.so y.so", "tbk-run x.so --resume", "tbk-run\0 x.so",
        f"env {NAME}='{'x' * recorded.MOST}' tbk-run x.so",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="has "):
            recorded_run.read(command)
    ended = stage.replay("tbk-run x.so --phases=y", TBK_RUN=str(stage.program))
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert not stage.told.exists()


def test_a_crash_on_a_simulator_can_be_looked_at_under_gdb() -> None:
    crash = {"id": "a/b", "verdict": "crash", "layer": "c"}
    for command, told in (
        (COMMAND, "tbk replay --gdb RESULTS a/b"),
        (_recorded({NAME: ODD}), "tbk replay --gdb RESULTS a/b"),
        (f"env LD_PRELOAD=/libtsan.so {COMMAND}", ""),
        ("env rm -r x", ""),
    ):
        assert debug_words(read_record({**crash, "replay": command})) == told


@pytest.mark.parametrize(("shell", "record"), SHELLS_AND_RECORDS)
def test_a_file_that_runs_alone_is_the_recorded_run(
    shell: dict[str, str], record: dict[str, str]
) -> None:
    header = {**HEADER, "devices": [{"simulated": True}]}
    test = read_record({**TORCH, "replay": _recorded(record)})
    text = reproducer.alone(test, header)
    (start,) = [one for one in text.splitlines() if one.startswith("START = ")]
    look = "import json, os, sys; exec(sys.argv[1].partition('import torch')[0])\n"
    done = subprocess.run(
        [sys.executable, "-c", look + "print(json.dumps(dict(os.environ)))",
         ast.literal_eval(start.partition(" = ")[2])],
        env={**os.environ, **shell}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert _steering(json.loads(done.stdout)) == record
    assert "SIMULATOR" not in reproducer.alone(read_record({**TORCH, "replay": COMMAND}), HEADER)
    assert "evil" not in reproducer.alone(read_record({**TORCH, "replay": REPLAY}), HEADER)


@pytest.mark.parametrize("layer", ["c", "torch"])
def test_litmus_tells_what_steered_it(tbk: Tbk, tmp_path: Path, layer: str) -> None:
    stated = {NAME: ODD, OTHER: "seed=2"}
    (tmp_path / "wrong.so").touch()
    words = ("litmus", "wrong.so", f"--layer={layer}")
    ended = tbk(*words, TBK_LITMUS=LITMUS, COLUMNS="60", TBK_NONE_SIMULATOR="", **stated)
    assert ended.returncode == 1, ended.stderr
    lead = "the program that it was found by: "
    command = ended.stdout.partition(lead)[2].partition("--programs=1")[0]
    assert recorded.read(command).variables == stated
    assert recorded.read(command).words[:3] == ("tbk", "litmus", "wrong.so")
    alone = ended.stdout.partition("-lpthread && ")[2].partition("\ntbk-litmus")[0]
    assert recorded.read(alone).variables == (stated if layer == "c" else {})
    assert bool(alone) == (layer == "c")


@pytest.mark.parametrize(("shell", "record"), SHELLS_AND_RECORDS[:1])
def test_a_litmus_finding_is_replayed_as_it_was_found(
    tbk: Tbk, tmp_path: Path, shell: dict[str, str], record: dict[str, str]
) -> None:
    ran = tbk("run", "wrong.so", TBK_LITMUS=LITMUS, **record)
    assert ran.returncode == 1, ran.stderr
    stage = Stage(tbk, tmp_path, "tbk-litmus")
    results = tmp_path / "tbk-report" / "results.jsonl"
    ended = tbk(
        "replay", str(results), TBK_LITMUS=str(stage.program), TOLD=str(stage.told), **shell
    )
    arguments, environment = stage.seen()
    assert arguments[0].endswith("wrong.so"), ended.stderr
    assert _steering(environment) == record
    printed = shlex.split(ended.stdout.partition("tbk litmus ")[0])
    unset = [word for name in sorted(shell.keys() - record.keys()) for word in ("-u", name)]
    assert printed == ["env", *unset, *(f"{name}={text}" for name, text in record.items())]
