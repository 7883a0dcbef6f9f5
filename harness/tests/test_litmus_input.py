# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk-litmus and its command: bad input, and runs that end early. What was there is kept."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from litmus_runs import LITMUS, MUTANTS, SEEDED, arguments, hunt, read, tbk
from runs import CPU, HOSTILE, PATIENCE, TEMPLATE, wait_for

LONGEST_NAME = 4095  # of a file, as Linux has it


@pytest.mark.parametrize(
    ("library", "options", "code", "word"),
    [
        ("/no/such/file.so", (), 4, "No such file"),
        ("/tmp", (), 4, "directory"),
        ("/" + "x" * 5000, (), 4, "too long"),
        (str(LITMUS), (), 4, "library"),
        (str(CPU), ("no_such_key=1",), 4, "no_such_key"),
        (str(CPU), ("devices=0",), 5, "no device"),
        (str(TEMPLATE), (), 3, "nothing to order"),
        (str(HOSTILE), ("hostile=crash_in_open",), 4, "signal 11"),
        (str(HOSTILE), ("hostile=hang_in_open",), 4, "no end within 2 s"),
    ],
)
def test_bad_input_gets_one_line(
    library: str, options: tuple[str, ...], code: int, word: str, tmp_path: Path
) -> None:
    limit = "--open-timeout=2" if "hostile=hang_in_open" in options else "--open-timeout=300"
    ended = hunt(library, tmp_path, options, "--seconds=1", limit)
    assert ended.code == code
    said = [one for one in ended.stderr.splitlines() if one.startswith("tbk-litmus: ")]
    assert len(said) == 1
    assert word in said[0]


@pytest.mark.parametrize(
    "words",
    [["--seed=x"], ["--programs=-1"], ["--seconds=0"], ["more"], ["--seed=18446744073709551616"],
     ["--first=18446744073709551615"]],
)  # fmt: skip
def test_bad_usage_is_2(words: list[str], tmp_path: Path) -> None:
    assert hunt(CPU, tmp_path, (), *words).code == 2


def test_what_was_run_before_a_signal_is_kept(tmp_path: Path) -> None:
    command = [*arguments(CPU, tmp_path, ()), "--seconds=600"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_for((tmp_path / "litmus.jsonl.part").exists)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 7
    assert read(tmp_path / "litmus.jsonl")[-1]["record"] == "litmus-footer"


def test_a_run_without_a_program_is_no_pass(tmp_path: Path) -> None:
    ended = hunt(CPU, tmp_path, (), "--seconds=1e-9")
    assert ended.code == 3
    assert "before a program was run" in ended.stderr


def test_results_that_cannot_be_written_are_8(tmp_path: Path) -> None:
    assert hunt(CPU, tmp_path / "absent", ()).code == 8
    assert hunt(CPU, tmp_path, (), "--programs=20").code == 0
    before = (tmp_path / "litmus.jsonl").read_bytes()
    (tmp_path / "litmus.jsonl.part").symlink_to("/dev/full")
    full = hunt(CPU, tmp_path, (), "--programs=30")
    assert (full.code, full.stderr.count("could not be written")) == (8, 1)
    assert [one.name for one in tmp_path.iterdir()] == ["litmus.jsonl"]
    assert (tmp_path / "litmus.jsonl").read_bytes() == before


def test_a_finding_stays_where_its_file_cannot_be_written(tmp_path: Path) -> None:
    assert hunt(CPU, tmp_path, (), "--programs=20").code == 0
    (tmp_path / "litmus.c").symlink_to(tmp_path / "absent" / "litmus.c")
    options = ("mutant=wait_does_nothing", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, "--seconds=500", "--shrink-time=0.01")
    assert (ended.code, ended.stderr.count("could not be written")) == (8, 1)
    footer = ended.one("footer")
    assert (footer["exit_code"], footer["reason"]) == (
        8,
        f"{ended.reproducer}: could not be written",
    )
    calls = ended.one("finding")["program"]
    assert calls
    assert "".join(f"  {one}\n" for one in calls) in ended.stdout
    assert ended.reproducer.is_symlink()


def test_the_page_shows_a_finding_whose_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "litmus.c").mkdir()
    options = [f"--backend-option={one}" for one in ("mutant=fill_drops_last_byte", *SEEDED)]
    done = tbk(tmp_path, str(MUTANTS), *options)
    assert (done.returncode, done.stdout.count("FOUND: ")) == (8, 1)
    assert done.stdout.splitlines()[-1] == str(tmp_path / "report.html")
    assert done.stderr.endswith("litmus.c: could not be written\n")
    assert '<svg class="lanes"' in (tmp_path / "report.html").read_text()


def test_what_a_run_did_not_make_stays(tmp_path: Path) -> None:
    aside = tmp_path / "litmus.jsonl.part"
    aside.symlink_to(tmp_path / "absent" / "of another")
    assert hunt(CPU, tmp_path, (), "--programs=20").code == 8
    assert aside.is_symlink()
    longest = str(tmp_path) + "/r.jsonl".rjust(LONGEST_NAME - len(str(tmp_path)), "/")
    Path(longest).write_text("of another")
    ended = hunt(CPU, tmp_path, (), "--programs=20", f"--output={longest}")
    assert (ended.code, "name too long" in ended.stderr) == (8, True)
    assert (tmp_path / "r.jsonl").read_text() == "of another"


def test_a_run_that_finds_nothing_removes_no_device(tmp_path: Path) -> None:
    (tmp_path / "litmus.c").symlink_to("/dev/null")
    assert hunt(CPU, tmp_path, (), "--programs=20").code == 0
    assert (tmp_path / "litmus.c").is_symlink()
    (tmp_path / "litmus.c").unlink()
    (tmp_path / "litmus.c").write_text("of the last run")
    assert hunt(CPU, tmp_path, (), "--programs=20").code == 0
    assert not (tmp_path / "litmus.c").exists()


def test_a_folder_that_another_run_writes_is_left_alone(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = tbk(tmp_path, "cpu", "--programs=20")
    finally:
        os.close(held)
    assert (done.returncode, list(tmp_path.iterdir())) == (8, [])
    assert "another run is writing it" in done.stderr


def test_the_last_results_stay_where_nothing_is_run(tmp_path: Path) -> None:
    assert tbk(tmp_path, "cpu", "--programs=20").returncode == 0
    before = (tmp_path / "litmus.jsonl").read_bytes()
    for words in (["no_such"], ["template"], ["cpu", "--backend-option=no_such_key=1"]):
        assert tbk(tmp_path, *words).returncode in (3, 4)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["litmus.jsonl", "report.html"]
    assert (tmp_path / "litmus.jsonl").read_bytes() == before


@pytest.mark.usefixtures("heeds_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_the_command_and_what_it_started(
    number: signal.Signals, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tbk_harness", "litmus", "cpu", f"--report-dir={tmp_path}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for((tmp_path / "litmus.jsonl.part").exists)
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(PATIENCE) == 7
    assert read(tmp_path / "litmus.jsonl")[-1]["record"] == "litmus-footer"


@pytest.mark.parametrize("device", ["cpu:0", ":0"])
def test_a_device_has_no_index(device: str, tmp_path: Path) -> None:
    done = tbk(tmp_path, f"--device={device}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{device!r}: name the device without an index" in done.stderr
    assert done.stderr.count("\n") == 1
