# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A mistake, a user's, a child's or tbk's own, is one line and a documented exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from invoke import Tbk
from tbk_harness import child, cli, commands, commands_check, locate, outcome

FAILS = "import sys; sys.stderr.write({said!r}); sys.exit({status})"


def _failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def main(**_: object) -> None:
        raise error

    monkeypatch.setattr(commands.tbk, "main", main)


@pytest.mark.parametrize("error", [IndexError("list index out of range"), RecursionError()])
def test_a_mistake_of_ours_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(monkeypatch, error)
    with pytest.raises(SystemExit) as ended:
        cli._run()
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (6, 1)
    assert said.startswith(f"tbk: this is a mistake of tbk itself: {type(error).__name__}")
    assert "TBK_TRACEBACK=1" in said


def test_whoever_asks_for_it_gets_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(monkeypatch, IndexError("list index out of range"))
    monkeypatch.setenv(cli.TRACEBACK, "1")
    with pytest.raises(SystemExit) as ended:
        cli._run()
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 6
    assert said[0] == "Traceback (most recent call last):"
    assert said[-1].startswith("tbk: this is a mistake of tbk itself")


@pytest.mark.parametrize(
    "words", [["report"], ["diff", "x"], ["verify"], ["badge"], ["trace"], ["show", "EVT-001"]]
)
def test_a_name_that_no_file_can_have_is_bad_usage(tbk: Tbk, words: list[str]) -> None:
    name = "x" * 5000
    ended = tbk(*words, f"--results={name}" if words[0] == "show" else name)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "mistake of tbk" not in ended.stderr


def test_a_folder_whose_name_is_no_utf8_is_printed_as_it_is(tbk: Tbk, tmp_path: Path) -> None:
    ended = tbk(
        "run", "good.so", "--report-dir=\udcff", PYTHONIOENCODING="utf-8:strict", COLUMNS="200"
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "\udcff" / "index.html").is_file()


def test_a_script_without_a_device_is_told_so(tbk: Tbk, tmp_path: Path) -> None:
    (tmp_path / "script.py").touch()
    ended = tbk("trace", "script.py", "--device", "cpu")
    assert ended.returncode == 2
    assert "such as --device, is for the script" in ended.stderr
    assert ended.stderr.count("\n") == 1
    ended = tbk("trace", "script.py")
    assert ended.returncode == 2
    assert ended.stderr.endswith("--library LIB, not both\n")


@pytest.mark.parametrize(
    ("status", "code"), [(1, 4), (5, 5), (4, 4), (77, 4), (120, 4), (-9, 4), (255, 4)]
)
def test_a_gate_whose_trial_ends_oddly_does_not_hold(
    status: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "Traceback (most recent call last):\n  File\nRuntimeError: Accelerator expected\n"
    program = FAILS.format(said=said, status=status)
    if status < 0:
        program = f"import os; os.kill(os.getpid(), {-status})"
    plain = subprocess.run
    words = [sys.executable, "-c", program]
    monkeypatch.setattr(subprocess, "run", lambda _, **more: plain(words, **more))
    monkeypatch.setattr(outcome, "gate_file", lambda name: name)
    monkeypatch.setattr(locate, "library", lambda _: Path("keeper"))
    for name in ("TBK_GATE", "TBK_GATE_KEEPER"):
        monkeypatch.setenv(name, "")
    with pytest.raises(SystemExit) as ended:
        commands_check._tried_gate("mine", "cpu", ())
    assert ended.value.code == code
    why = "signal 9" if status < 0 else "RuntimeError: Accelerator expected"
    assert capsys.readouterr().err == f"tbk: the gate mine: {why}\n"


@pytest.mark.parametrize("status", [-11, 0, 1, 9, 77, 120, 127, 255])
def test_no_undocumented_status_of_a_child_is_passed_on(status: int) -> None:
    assert child.exit_code(status) == 6


@pytest.mark.parametrize("status", [1, 9, 127])
def test_a_runner_that_ends_oddly_is_not_taken_for_findings(
    status: int, tbk: Tbk, tmp_path: Path
) -> None:
    runner = tmp_path / "tbk-run"
    runner.write_text(f"#!/bin/sh\necho broken >&2\nexit {status}\n")
    runner.chmod(0o755)
    ended = tbk("list", "good.so", runner=str(runner))
    assert (ended.returncode, ended.stderr) == (6, "tbk: broken\n")


def test_a_childs_last_line_is_told() -> None:
    assert child.reason(3, "first\nlast\n\n") == "last"
    assert child.reason(3, b"") == "it ended with status 3"
    assert child.reason(-6, None) == "signal 6"
