# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk-litmus through PyTorch: the same model, and what PyTorch promises."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tbk_contracts
from litmus_mutants import BY_GATE, OPTIONS_IN_PYTORCH
from litmus_runs import BRIDGE, LITMUS, MUTANTS, SEEDED, STEERED, Hunt, hunted
from nights import NIGHT, every
from runs import BUILD, CPU, HOSTILE, PATIENCE, wait_for

NO_DEVICE = 5
MOST_LINES = 14  # of a file that shows it without the suite
ENVIRONMENT = {**os.environ, "TBK_BUILD": str(BUILD)}


def arguments(folder: Path, options: tuple[str, ...]) -> list[str]:
    return [
        str(LITMUS), f"--python={sys.executable}", "--seconds=120", "--shrink-time=300",
        f"--output={folder / 'litmus.jsonl'}", f"--reproducer={folder / 'litmus.py'}",
        *(f"--backend-option={option}" for option in options),
    ]  # fmt: skip


def hunt(folder: Path, options: tuple[str, ...], *more: str) -> Hunt:
    return hunted([*arguments(folder, options), *more], folder, "litmus.py", ENVIRONMENT)


def through_bridge(library: Path) -> str:
    return f"--torch-library={library}"


def test_what_is_broken_is_found_and_shown_without_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, *STEERED)
    options = ("mutant=fill_aside", *SEEDED)
    # The first seed finds it in memory that was used before, which a fresh process has none of.
    ended = hunt(tmp_path, options, through_bridge(MUTANTS))
    found = ended.one("finding")
    assert (ended.code, found["outcome"]) == (1, "wrong")
    assert found["reason"]
    assert found["clauses"]
    assert all(tbk_contracts.clause(one) is not None for one in found["clauses"])
    assert (found["alone_shown"], found["alone_runs"]) == (3, 3)
    text = ended.reproducer.read_text()
    steers, _, others = text.partition("\n")
    assert len(others.splitlines()) <= MOST_LINES
    told = subprocess.check_output(
        [sys.executable, "-c", f"{steers}; print(end=os.environ['{STEERED[0]}'])"], text=True
    )
    assert told == STEERED[1]
    broken = _run(ended.reproducer)
    assert broken.returncode != 0
    assert "AssertionError" in broken.stderr
    sound = tmp_path / "sound.py"
    sound.write_text(text.replace(str(MUTANTS), str(CPU)).replace("mutant=fill_aside,", ""))
    assert _run(sound).returncode == 0


def _run(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(file)], env=ENVIRONMENT,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "mutant",
    every(["wait_does_nothing", "third_event_query_is_complete", "fills_run_ahead_of_wait"], 3),
)
def test_a_chain_names_clauses_of_pytorch(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(tmp_path, options, through_bridge(MUTANTS), "--shrink-time=0.01")
    found = ended.one("finding")
    assert ended.code == 1
    clauses = [tbk_contracts.clause(one) for one in found["clauses"]]
    assert all(one is not None and "torch" in one.layer for one in clauses)


@pytest.mark.parametrize(
    "options", [(), pytest.param(SEEDED, marks=NIGHT), ("policy=inline",)], ids=" ".join
)
def test_the_reference_raises_no_alarm(options: tuple[str, ...], tmp_path: Path) -> None:
    ended = hunt(tmp_path, options, through_bridge(CPU), "--programs=150")
    assert ended.code == 0, ended.records
    assert ended.one("footer")["programs"] == 150
    edges = [one for one in ended.records if one["record"] == "litmus-edge"]
    assert edges
    assert all(tbk_contracts.clause(one["clause"]) is not None for one in edges)
    assert not any(one["state"] == "broken" for one in edges)
    if options == ("policy=inline",):
        assert "trivial" in {one["state"] for one in edges}


def test_the_same_seed_gives_the_same_programs(tmp_path: Path) -> None:
    options = ("mutant=wait_crossing_does_nothing", *SEEDED)
    first = hunt(tmp_path, options, through_bridge(MUTANTS), "--shrink-time=0.01")
    index = first.one("finding")["index"]
    again = hunt(
        tmp_path, options, through_bridge(MUTANTS), f"--first={index}", "--programs=1",
        "--shrink-time=0.01",
    )  # fmt: skip
    assert again.one("footer")["programs"] == 1
    if again.code == 1:  # what ran before it may matter
        assert again.one("finding")["program"] == first.one("finding")["program"]


@NIGHT
def test_threads_of_the_host_are_in_the_file_that_shows_it(tmp_path: Path) -> None:
    options = ("mutant=synchronize_own_streams_only", *SEEDED)
    ended = hunt(tmp_path, options, through_bridge(MUTANTS))
    found = ended.one("finding")
    assert (ended.code, found["outcome"]) == (1, "wrong")
    assert any(one.startswith("thread ") for one in found["program"])
    assert "FRK-507" in found["clauses"]
    text = ended.reproducer.read_text()
    assert len(text.splitlines()) <= MOST_LINES + 2  # that make threads
    assert found["alone_shown"] == found["alone_runs"] > 0
    sound = tmp_path / "sound.py"
    sound.write_text(text.replace(str(MUTANTS), str(CPU)).replace(f"{options[0]},", ""))
    assert _run(sound).returncode == 0


def test_a_stream_that_ends_with_the_thread_that_took_it_is_shown(tmp_path: Path) -> None:
    options = ("mutant=stream_ends_with_thread", *SEEDED)
    words = ("--shrink-time=0.01", "--call-timeout=6")
    ended = hunt(tmp_path, options, through_bridge(MUTANTS), *words)
    assert (ended.code, ended.one("finding")["seed"]) == (1, 1)


@pytest.mark.parametrize(
    "mutant", every(["memory_ends_with_thread", "synchronize_clears_fresh_memory"], 2)
)
def test_memory_of_a_segment_of_its_own_is_looked_at(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(tmp_path, options, through_bridge(MUTANTS), "--shrink-time=0.01")
    assert ended.code == 1


@pytest.mark.parametrize("mutant", every(sorted(OPTIONS_IN_PYTORCH), 2))
def test_memory_is_used_from_an_offset_on(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", *OPTIONS_IN_PYTORCH[mutant], *SEEDED)
    ended = hunt(tmp_path, options, through_bridge(MUTANTS), "--shrink-time=0.01")
    assert ended.code == 1
    assert ended.one("finding")["outcome"] in ("wrong", "refused")  # it may be beyond the memory


@pytest.mark.parametrize("mutant", every(sorted(BY_GATE), 3))
def test_what_a_callback_must_hold_is_found_by_the_gate_that_is_one(
    mutant: str, tmp_path: Path
) -> None:
    words = (f"--torch-gate={BRIDGE}", "--shrink-time=0.01", "--call-timeout=6")
    ended = hunt(tmp_path, (f"mutant={mutant}",), through_bridge(MUTANTS), *words)
    assert ended.code == 1
    assert ended.one("footer")["gate"] == "holds"


# A device whose backward takes another stream than its forward took.
BACKWARD_ELSEWHERE = """
import torch
register = torch.Tensor.register_hook
def register_elsewhere(self, hook):
    stream = torch.Stream(self.device)
    def run(gradient):
        with stream: return hook(gradient)
    return register(self, run)
torch.Tensor.register_hook = register_elsewhere
"""
# One that adds gradients up on a stream of its own, behind nothing.
SUM_ELSEWHERE = """
import torch
library = torch.library.Library("aten", "IMPL")
def add(one, other, *, alpha=1):
    with torch.Stream(one.device): return one - torch.neg(other)
def add_in_place(one, other, *, alpha=1):
    with torch.Stream(one.device): return one.sub_(torch.neg(other))
library.impl("add.Tensor", add, "PrivateUse1")
library.impl("add_.Tensor", add_in_place, "PrivateUse1")
"""
# One that hands pinned memory out again while a copy from it is pending.
PINNED_AT_ONCE = """
import torch
rooms, pin = {}, torch.Tensor.pin_memory
def pin_memory(self):
    if len(self) not in rooms: rooms[len(self)] = pin(torch.empty_like(self))
    return rooms[len(self)].copy_(self)
torch.Tensor.pin_memory = pin_memory
"""
# One that knows of a copy's source only where the thread that pinned it makes the copy.
PINNED_FOR_ITS_THREAD = """
import threading, torch
rooms, pin, copy = {}, torch.Tensor.pin_memory, torch.Tensor.copy_
def pin_memory(self):
    room = rooms.get((threading.get_ident(), len(self)))
    if room is None or room[1]: room = [pin(torch.empty_like(self)), False]
    rooms[threading.get_ident(), len(self)] = room
    return copy(room[0], self)
def copy_(self, source, *words, **more):
    room = rooms.get((threading.get_ident(), len(source)), [None])
    if room[0] is source: room[1] = True
    return copy(self, source, *words, **more)
torch.Tensor.pin_memory, torch.Tensor.copy_ = pin_memory, copy_
"""


def hunt_broken_by(module: str, folder: Path, *words: str) -> Hunt:
    """Hunts on the cpu backend with a module beside it that breaks it."""
    (folder / "breaks.py").write_text(module)
    return hunt(folder, SEEDED, through_bridge(CPU), "--torch-import=breaks", "--seed=2", *words)


@pytest.mark.parametrize(
    ("module", "clauses"),
    [
        (BACKWARD_ELSEWHERE, {"AGD-502", "AGD-503", "AGD-504"}),
        pytest.param(SUM_ELSEWHERE, {"AGD-503"}, marks=NIGHT),
        pytest.param(PINNED_AT_ONCE, {"PIN-506"}, marks=NIGHT),
        pytest.param(PINNED_FOR_ITS_THREAD, {"PIN-506"}, marks=NIGHT),
    ],
    ids=["backward", "sum of gradients", "pinned memory", "pinned by another thread"],
)
def test_what_autograd_and_loaders_rely_on_is_judged(
    module: str, clauses: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", str(tmp_path))
    ended = hunt_broken_by(module, tmp_path, "--shrink-time=60")
    found = ended.one("finding")
    assert (ended.code, found["outcome"]) == (1, "wrong")
    assert set(found["clauses"]) & clauses
    text = ended.reproducer.read_text()
    assert "breaks" in text
    assert ("batch(" in text) == (module == PINNED_FOR_ITS_THREAD)
    assert found["alone_shown"] == found["alone_runs"] > 0
    (tmp_path / "breaks.py").write_text("")
    assert _run(ended.reproducer).returncode == 0


# A device that is right wherever the suite is not loaded.
RIGHT_ALONE = f"import sys\nif 'tbk_harness' in sys.modules: exec({BACKWARD_ELSEWHERE!r})\n"


@NIGHT
def test_a_file_that_does_not_show_it_is_not_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", str(tmp_path))
    ended = hunt_broken_by(RIGHT_ALONE, tmp_path, "--shrink-time=1")
    found = ended.one("finding")
    assert (ended.code, found["outcome"], found["alone_shown"]) == (1, "wrong", 0)
    assert found["alone_runs"] > 0


DIES = """
import itertools, os, torch
calls, wait = itertools.count(), torch.accelerator.synchronize
def synchronize(*words):
    if next(calls) == 60: os.abort()
    wait(*words)
torch.accelerator.synchronize = synchronize
"""


def test_a_child_that_dies_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dies.py").write_text(DIES)
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", str(tmp_path))
    words = (through_bridge(CPU), "--torch-import=dies", "--shrink-time=0.01")
    ended = hunt(tmp_path, SEEDED, *words)
    found = ended.one("finding")
    assert (ended.code, found["outcome"], found["message"]) == (1, "crash", "signal 6")
    assert found["program"]


def test_a_child_that_hangs_is_a_finding(tmp_path: Path) -> None:
    options = ("mutant=destroy_releases_waiters", *SEEDED)
    limits = ("--call-timeout=6", "--shrink-time=0.01")
    ended = hunt(tmp_path, options, through_bridge(MUTANTS), *limits)
    assert (ended.code, ended.one("finding")["outcome"]) == (1, "hang")


@pytest.mark.parametrize(
    ("subject", "options", "code", "word"),
    [
        ("--torch-device=cpu", (), 3, "no streams"),
        ("--torch-device=nosuch", (), 5, "nosuch"),
        ("--torch-library=/no/such/file.so", (), 4, "no backend's library"),
        (through_bridge(CPU), ("devices=0",), 5, "no device"),
        (through_bridge(HOSTILE), ("hostile=crash_in_open",), 4, "signal 11"),
    ],
)
def test_bad_input_gets_one_line(
    subject: str, options: tuple[str, ...], code: int, word: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*arguments(tmp_path, options), subject, "--seconds=1"], env=ENVIRONMENT,
        capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == code
    said = [one for one in done.stderr.splitlines() if one.startswith("tbk-litmus: ")]
    assert len(said) == 1
    assert word in said[0]


@pytest.mark.parametrize(
    "words",
    [["--torch-device=cpu", str(CPU)], ["--torch-device=cpu", f"--torch-library={CPU}"],
     ["--torch-import=json", str(CPU)], ["--torch-device=cpu", "--processes=2"]],
)  # fmt: skip
def test_one_subject_is_needed(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*arguments(tmp_path, ()), *words], capture_output=True, check=False)
    assert done.returncode == 2


def test_a_signal_ends_all_processes(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*arguments(tmp_path, ()), through_bridge(CPU)], env=ENVIRONMENT, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: len(_descendants(process.pid)) > 1)
    children = _descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 7
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    for child in listed.read_text().split() if listed.exists() else ():
        found += [int(child), *_descendants(int(child))]
    return found


def test_the_command_judges_a_device_and_a_library(tmp_path: Path) -> None:
    base = [sys.executable, "-m", "tbk_harness", "litmus", f"--report-dir={tmp_path}"]

    def tbk(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*base, *words], env=ENVIRONMENT,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    options = [f"--backend-option={one}" for one in SEEDED]
    done = tbk("cpu", "--layer=torch", *options, "--programs=60")
    assert done.returncode == 0
    assert "nothing found" in done.stdout
    assert "EVT-522" in done.stdout
    assert tbk("--device=cpu").returncode == 3
    assert tbk("cpu", "--device=cpu").returncode == 2
    assert (tmp_path / "litmus.jsonl").exists()  # of what ran last


def test_a_device_that_another_process_holds_is_none_without_streams(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        ended = hunt(tmp_path, (f"exclusive={lock}",), through_bridge(CPU))
    assert ended.code == NO_DEVICE
    assert "the device has no memory, streams or events: " in ended.stderr
