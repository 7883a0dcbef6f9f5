# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a terminal and a log show while a command is at work."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
import synthetic
import terminal
from invoke import STAND_IN
from rich.console import Console
from tbk_harness import first_word, progress
from tbk_harness.progress_row import (
    BLAME,
    C_LAYER,
    IMPORTING,
    JUDGING,
    LITMUS,
    PROBING,
    READING,
    TORCH_LAYER,
    Progress,
    clock,
    row,
    sentence,
)
from tbk_harness.runner import Growth

WIDTHS = (60, 80, 120)
PHASES = (C_LAYER, LITMUS, IMPORTING, PROBING, TORCH_LAYER, BLAME, JUDGING)
STATES = (
    Progress(IMPORTING, 3),
    Progress(C_LAYER, 59, 1, 9, 0, 3599, "memory/a"),
    Progress(TORCH_LAYER, 3_700, 1_234, 7_055, 3, 60, "torch_copy/" + "x" * 90),
    Progress(BLAME, 400_000, 12_345_678, 123_456_789, 1_234_567, 40_000, "y"),
)
# A stand-in for tbk-run that tells its phases, as slowly as a person can read.
PHASED = """#!{python}
import sys, time
sys.path[:0] = {paths!r}
import synthetic
words = sys.argv[1:]
output = words[words.index("--output") + 1]
phases = next(word.partition("=")[2] for word in words if word.startswith("--phases="))
for phase in ("start", "preflight", "tests"):
    with open(phases, "a") as file:
        file.write(phase + "\\n")
    time.sleep(0.4)
records = [synthetic.torch_case(index) for index in range(40)]
with open(output, "wb") as file:
    file.write(synthetic.lines([synthetic.header(40, layer="torch"), *records[:10]]))
time.sleep(0.6)
synthetic.write(__import__("pathlib").Path(output), records, synthetic.header(40, layer="torch"))
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_stand_still_whatever_is_in_them(width: int) -> None:
    rows = [row(one, width) for one in STATES]
    assert {len(one) for one in rows} == {width - 1}
    ends = {
        one.index(f" {clock(state.seconds)} ", len(BLAME)) + len(clock(state.seconds))
        for one, state in zip(rows, STATES, strict=True)
    }
    assert len(ends) == 1
    assert all(one.startswith(state.phase) for one, state in zip(rows, STATES, strict=True))
    left = [one for one in rows if " left" in one]
    assert len({one.index(" left") for one in left}) == 1
    assert len(left) == 3
    assert ("━" in rows[1]) == (width >= 80)
    assert ("memory/a" in rows[1]) == (width >= 120)


@pytest.mark.parametrize("width", [*range(1, 60), 61, 79, 81, 119, 121, 200])
def test_no_line_is_as_long_as_the_terminal_is_wide(width: int) -> None:
    assert all(len(row(one, width)) == width - 1 for one in STATES)


def test_times_take_five_characters_at_most() -> None:
    told = [clock(seconds) for seconds in (0, 7.9, 59, 60, 200, 3599, 3600, 35_999, 36_000, 1e9)]
    assert told == ["0s", "7s", "59s", "1m00s", "3m20s", "59m", "1h00m", "9h59m", "10h", "9999h"]
    assert max(map(len, told)) == 5


def test_a_log_has_sentences() -> None:
    said = sentence(Progress(TORCH_LAYER, 65, 1_234, 7_055, 3, 200))
    assert said == "torch layer: 1,234 of 7,055 tests, 3 failing, 1m05s so far, about 3m20s left"
    assert (
        sentence(Progress(READING, 3, 48, 365, unit="files"))
        == "reading results: 48 of 365 files, 3s so far"
    )
    assert sentence(Progress(PROBING, 2)) == "probing: 2s so far"


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOG_S", 0.05)
    log = io.StringIO()
    display = progress.begin(Console(file=log))
    display.phase(C_LAYER)
    display.show(3, 9, 1)
    time.sleep(0.3)
    progress.end()
    lines = log.getvalue().splitlines()
    assert len(lines) >= 2
    assert set(lines) <= {
        "starting: 0s so far", "C layer: 0s so far", "C layer: 3 of 9 tests, 1 failing, 0s so far",
    }  # fmt: skip
    time.sleep(0.2)
    assert log.getvalue().splitlines() == lines  # it has ended
    quiet = io.StringIO()
    progress.begin(Console(file=quiet), quiet=True).tell("a word")
    time.sleep(0.1)
    progress.end()
    assert quiet.getvalue() == ""


def _grown(folder: Path, done: int, previous: Path | None = None) -> Growth:
    records = [synthetic.case(index, layer="c") for index in range(done)]
    path = folder / "growing.jsonl"
    path.write_bytes(synthetic.lines([synthetic.header(10, layer="c"), *records]))
    growth = Growth(path, previous=previous)
    growth.begin()
    growth.read()
    return growth


def test_time_left_is_told_by_number_and_by_the_run_before(tmp_path: Path) -> None:
    assert _grown(tmp_path, 0).left(10) is None
    assert _grown(tmp_path, 5).left(1) is None  # too early
    assert _grown(tmp_path, 5).left(10) == pytest.approx(10)
    times = [9] * 5 + [1] * 5  # the first half took nine tenths
    records = [synthetic.case(i, layer="c", wall_ns=ns) for i, ns in enumerate(times)]
    before = synthetic.write(tmp_path / "old.jsonl", records, synthetic.header(10, layer="c"))
    assert _grown(tmp_path, 5, before).left(9) == pytest.approx(1)
    late = _grown(tmp_path, 5)
    late.deadline = time.monotonic() - 1
    assert late.left(10) == 0.0


def test_what_was_there_before_took_no_time_of_this_run(tmp_path: Path) -> None:
    growth = _grown(tmp_path, 8)
    growth.begin()
    assert growth.left(10) is None
    records = [synthetic.case(index, layer="c") for index in range(9)]
    growth.path.write_bytes(synthetic.lines([synthetic.header(10, layer="c"), *records]))
    growth.read()
    assert growth.left(10) == pytest.approx(10)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_terminal_sees_each_phase_and_no_line_that_wraps(tmp_path: Path, width: int) -> None:
    runner = tmp_path / "tbk-run"
    paths = [str(Path(synthetic.__file__).parent)]
    runner.write_text(PHASED.format(python=sys.executable, paths=paths))
    runner.chmod(0o755)
    (tmp_path / "acme_torch.py").touch()
    command = [sys.executable, "-m", "tbk_harness", "check", "acme", "--import=acme_torch"]
    seen = terminal.watch(command, width, tmp_path, {"TBK_RUN": str(runner)})
    assert seen.code == 0, seen.drawn
    assert seen.drawn[0].startswith("tbk 0.1.0: check acme --import")
    shown = [one for one in seen.drawn if len(one) == width - 1 and one.startswith(PHASES)]
    names = list(dict.fromkeys(one[: len(BLAME)].rstrip() for one in shown))
    assert names == [IMPORTING, PROBING, TORCH_LAYER, JUDGING]
    assert any("10/40" in one for one in shown)
    drawn_before_the_report = seen.drawn[: seen.drawn.index(shown[-1])]
    assert max(map(len, drawn_before_the_report)) < width
    assert seen.drawn[-1].endswith("index.html")
    assert seen.longest_silence_s < 5


def test_who_is_to_blame_is_a_phase_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "acme_torch.py").touch()
    command = [sys.executable, "-m", "tbk_harness", "check", "acme", "--import=acme_torch"]
    seen = terminal.watch(command, 80, tmp_path, {"TBK_RUN": str(STAND_IN)})
    assert seen.code == 1
    assert any(one.startswith(f"{BLAME} ") for one in seen.drawn)
    assert any("to see who is to blame" in one for one in seen.drawn)


def test_an_error_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tbk_harness", "run", "./nothing.so"]
    seen = terminal.watch(command, 80, tmp_path, {})
    assert seen.code == 4
    assert seen.drawn[-1].startswith("tbk: ./nothing.so: no such file")
    assert sum("no such file" in one for one in seen.drawn) == 1


def test_the_first_word_comes_before_what_is_slow_is_imported() -> None:
    code = "import sys, tbk_harness.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"click", "rich", "jinja2", "jsonschema", "yaml", "tbk_contracts", "tbk_reports"}
    assert not heavy & set(loaded)
    assert "tbk_harness.first_word" in loaded


def test_the_first_word_takes_a_few_times_what_python_takes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tbk_harness", "run", "./nothing.so"]
    first, python = [], []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        python.append(time.monotonic() - began)
        first.append(terminal.watch(command, 80, tmp_path, {}).first_s)
    assert min(first) < 8 * min(python)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "./libacme.so"], "tbk 1: run ./libacme.so"),
        (["check", "x" * 99], f"tbk 1: check {'x' * 23}..."),
        (["run", "\x1b[31m"], "tbk 1: run ?[31m"),
        (["run", "--help"], ""),
        (["run", "x", "--quiet"], ""),
        (["show", "MEM-001"], ""),
        ([], ""),
    ],
)
def test_the_first_word(arguments: list[str], said: str) -> None:
    assert first_word.line(arguments, "1", 40) == said
