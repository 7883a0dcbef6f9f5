# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A report folder loses nothing: to a typo, to a second run, or to the next one."""

from __future__ import annotations

import os
from pathlib import Path

from invoke import Tbk
from tbk_harness import folder

REPORT = "tbk-report"


def test_a_typo_leaves_the_last_results_alone(tbk: Tbk, tmp_path: Path) -> None:
    tbk("run", "good.so")
    before = (tmp_path / REPORT / folder.RESULTS).read_bytes()
    ended = tbk("run", "goood")
    assert ended.returncode == 4
    told = "no such file, and no backend that comes with the suite; did you mean good.so?"
    assert ended.stderr == f"tbk: goood: {told}\n"
    assert (tmp_path / REPORT / folder.RESULTS).read_bytes() == before


def test_an_option_that_is_not_understood_leaves_the_last_results_alone(
    tbk: Tbk, tmp_path: Path
) -> None:
    tbk("run", "good.so")
    before = (tmp_path / REPORT / folder.RESULTS).read_bytes()
    ended = tbk("run", "usage.so")
    assert (ended.returncode, ended.stderr) == (2, "tbk: tbk-run: --jobs: 'x' is not a number\n")
    assert (tmp_path / REPORT / folder.RESULTS).read_bytes() == before
    assert not (tmp_path / REPORT / folder.PREVIOUS).exists()


def test_the_run_before_is_kept_and_is_what_diff_compares_with(tbk: Tbk, tmp_path: Path) -> None:
    tbk("run", "good.so")
    before = (tmp_path / REPORT / folder.RESULTS).read_bytes()
    tbk("run", "bad.so")
    assert (tmp_path / REPORT / folder.PREVIOUS).read_bytes() == before
    ended = tbk("diff")
    assert ended.returncode == 1
    assert ended.stdout.startswith("new: ")
    assert tbk("diff", REPORT).stdout == ended.stdout


def test_a_run_without_a_test_does_not_replace_one_with_tests(tmp_path: Path) -> None:
    (tmp_path / folder.PREVIOUS).write_text("kept")
    (tmp_path / folder.RESULTS).write_text('{"record":"header"}\n')
    folder.set_aside(tmp_path)
    assert (tmp_path / folder.PREVIOUS).read_text() == "kept"
    assert not (tmp_path / folder.RESULTS).exists()


def test_a_second_run_in_one_folder_is_refused(tbk: Tbk, tmp_path: Path) -> None:
    (tmp_path / REPORT).mkdir()
    results = tmp_path / REPORT / folder.RESULTS
    results.write_text("of the first run")
    lock = folder.lock(tmp_path / REPORT)
    ended = tbk("run", "good.so")
    os.close(lock)
    assert ended.returncode == 8
    assert "another run is writing it" in ended.stderr
    assert results.read_text() == "of the first run"
