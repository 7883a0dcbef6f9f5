# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk litmus --gate: a library that holds a stream of a device of PyTorch's shut."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from litmus_runs import BRIDGE, LITMUS, MUTANTS, SEEDED, read
from nights import NIGHT, every
from runs import BUILD, CPU, HOSTILE, LIB, PATIENCE, Record

BROKEN = LIB / "hostile" / "libtbk_hostile_gate.so"
# A device on which no fill lasts, as on a fast one: nothing but a gate makes its streams wait.
FAST = """
import torch
fill = torch.Tensor.fill_
torch.Tensor.fill_ = lambda self, value: self if self.numel() > 1 << 16 else fill(self, value)
"""


def run(
    folder: Path, library: Path, gate: Path | str, *words: str, options: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    command = [
        str(LITMUS), f"--python={sys.executable}", f"--torch-library={library}", "--seconds=120",
        f"--output={folder / 'litmus.jsonl'}", f"--reproducer={folder / 'litmus.py'}",
        *(f"--backend-option={one}" for one in options), f"--torch-gate={gate}", *words,
    ]  # fmt: skip
    return subprocess.run(
        command, env={**os.environ, "TBK_BUILD": str(BUILD), **(environment or {})},
        capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
    )  # fmt: skip


def footer(folder: Path) -> Record:
    return read(folder / "litmus.jsonl")[-1]


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [one for one in done.stderr.splitlines() if one.startswith("tbk-litmus: ")]


def test_a_fault_of_a_fast_device_is_found_behind_a_gate(tmp_path: Path) -> None:
    (tmp_path / "fast.py").write_text(FAST)
    words = ("--torch-import=fast", "--programs=400", "--count")
    options = ("mutant=record_does_nothing",)
    environment = {"PYTHONPATH": str(tmp_path)}
    run(tmp_path, MUTANTS, BRIDGE, *words, options=options, environment=environment)
    told = footer(tmp_path)
    assert told["gate"] == "holds"
    assert told["found"] >= 10  # 60 where the machine was idle; without the gate 18


# The next test runs what a gate shows without the suite, too; here no mark tells what was shown.
@NIGHT
def test_what_a_gate_shows_runs_without_the_suite(tmp_path: Path) -> None:
    (tmp_path / "fast.py").write_text(FAST)
    environment = {"PYTHONPATH": str(tmp_path), "TBK_BUILD": str(BUILD)}
    file = tmp_path / "litmus.py"
    for seed in range(1, 7):
        done = run(
            tmp_path, MUTANTS, BRIDGE, "--torch-import=fast", f"--seed={seed}",
            options=("mutant=record_does_nothing",), environment=environment,
        )  # fmt: skip
        assert done.returncode == 1
        records = read(tmp_path / "litmus.jsonl")
        found = next(one for one in records if one["record"] == "litmus-finding")
        if found["shown"] == found["replays"]:  # else it came by luck, where no gate is shut
            break
    assert found["shown"] == found["replays"]
    text = file.read_text()
    assert "tbk_gate" in text or "busy" not in text
    compile(text, str(file), "exec")
    if "busy(" in text:
        again = [_fails(file, environment) for _ in range(3)]
        assert any(again)


@NIGHT
def test_marks_of_a_gate_show_what_its_host_functions_do(tmp_path: Path) -> None:
    options = ("mutant=third_callback_twice",)
    done = run(tmp_path, MUTANTS, BRIDGE, "--shrink-time=20", options=options)
    assert done.returncode == 1, done.stderr
    records = read(tmp_path / "litmus.jsonl")
    found = next(one for one in records if one["record"] == "litmus-finding")
    assert found["outcome"] == "miscounted"
    assert any(one.startswith("mark(") for one in found["program"])
    text = (tmp_path / "litmus.py").read_text()
    assert "assert passed(" in text
    # It counts callbacks, and the run had others before: its file makes the calls again and again.
    assert found["alone_shown"] == found["alone_runs"] > 0
    sound = tmp_path / "sound.py"
    sound.write_text(text.replace(str(MUTANTS), str(CPU)).replace(options[0], ""))
    assert not _fails(sound, {"TBK_BUILD": str(BUILD)})


def _fails(file: Path, environment: dict[str, str]) -> bool:
    done = subprocess.run(
        [sys.executable, str(file)], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert "AssertionError" in done.stderr or done.returncode == 0, done.stderr
    return done.returncode != 0


def test_the_reference_raises_no_alarm(tmp_path: Path) -> None:
    done = run(tmp_path, CPU, BRIDGE, "--programs=150")
    assert (done.returncode, footer(tmp_path)["gate"]) == (0, "holds"), done.stderr


@pytest.mark.parametrize("options", every([("policy=inline",), SEEDED], 2), ids=" ".join)
def test_a_gate_that_holds_its_caller_is_not_used(options: tuple[str, ...], tmp_path: Path) -> None:
    done = run(tmp_path, CPU, BRIDGE, "--programs=60", options=options)
    assert (done.returncode, footer(tmp_path)["gate"]) == (0, "holds its caller"), done.stderr


@pytest.mark.parametrize("name", ["cuda", "acl"])
def test_samples_hold_streams_of_simulated_drivers(name: str, tmp_path: Path) -> None:
    backend = {"cuda": "cuda", "acl": "npu"}[name]
    driver = str(LIB / f"libtbk_{backend}_simulator.so")
    done = run(
        tmp_path, LIB / f"libtbk_{backend}.so", LIB / f"libtbk_gate_{name}.so", "--programs=20",
        options=(f"driver={driver}",), environment={"TBK_GATE_DRIVER": driver},
    )  # fmt: skip
    assert (done.returncode, footer(tmp_path)["gate"]) == (0, "holds"), done.stderr


def test_a_sample_without_its_driver_says_so(tmp_path: Path) -> None:
    nowhere = {"TBK_GATE_DRIVER": str(tmp_path / "none.so")}
    done = run(tmp_path, CPU, LIB / "libtbk_gate_cuda.so", environment=nowhere)
    assert done.returncode == 4
    assert len(said(done)) == 1
    assert "libcuda" in said(done)[0]


@pytest.mark.parametrize(
    ("gate", "word"),
    [
        ("/no/such/file.so", "cannot be loaded"),
        (str(LIB / "hostile" / "libtbk_hostile_text.so"), "cannot be loaded"),
        (str(HOSTILE), "no symbol tbk_gate"),
    ],
)
def test_what_is_no_gate_gets_one_line(gate: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "litmus.jsonl").write_text("of what ran last")
    done = run(tmp_path, CPU, gate)
    assert done.returncode == 4
    assert len(said(done)) == 1
    assert word in said(done)[0]
    assert (tmp_path / "litmus.jsonl").read_text() == "of what ran last"


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ("serves_nobody", "does not serve this version"),
        ("cut_short", "cut short"),
        ("closes_nothing", "closes nothing"),
        ("never_opens", "does not open"),
        ("refuses", "could not be closed: no gate"),
        pytest.param("refuses_later", "could not be closed: no gate", marks=NIGHT),
        ("refuses_to_open", "could not be opened: no gate"),
        pytest.param("dies_when_loaded", "the gate: signal 6", marks=NIGHT),
        pytest.param("dies_in_close", "the gate: signal 6", marks=NIGHT),
        pytest.param("dies_in_open", "the gate: signal 6", marks=NIGHT),
        ("dies_later", "the gate: signal 6"),
        ("hangs_later", "the gate: no end within"),
    ],
)
def test_a_broken_gate_is_not_the_devices_fault(how: str, word: str, tmp_path: Path) -> None:
    broken = {"TBK_HOSTILE_GATE": how, "TBK_HOSTILE_GATE_BEHIND": str(BRIDGE)}
    done = run(tmp_path, CPU, BROKEN, "--call-timeout=6", environment=broken)
    assert done.returncode == 4, done.stderr
    assert len(said(done)) == 1
    assert word in said(done)[0]
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", said(done)[0])
    assert not (tmp_path / "litmus.py").exists()


def test_a_gate_that_is_older_than_marks_holds(tmp_path: Path) -> None:
    behind = {"TBK_HOSTILE_GATE": "older", "TBK_HOSTILE_GATE_BEHIND": str(BRIDGE)}
    done = run(tmp_path, CPU, BROKEN, "--programs=30", environment=behind)
    assert (done.returncode, footer(tmp_path)["gate"]) == (0, "holds"), done.stderr


def tbk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tbk_harness", "litmus", f"--report-dir={folder}", *words],
        env={**os.environ, "TBK_BUILD": str(BUILD)},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_the_command_knows_the_gates_of_the_suite(tmp_path: Path) -> None:
    done = tbk(tmp_path, "cpu", "--layer=torch", "--gate=bridge", "--programs=30")
    assert done.returncode == 0, done.stderr
    assert "the gate bridge holds" in done.stdout
    assert tbk(tmp_path, "cpu", "--gate=bridge").returncode == 2
    done = tbk(tmp_path, "cpu", "--layer=torch", "--gate=nosuch")
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1)
