# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A crash tells the functions that it came from, and nothing that it meets then changes its end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runs import HOSTILE, LIB, Record, hostile, run
from tbk_harness.stacks import name_frames
from tbk_reports.model import read_results
from tbk_reports.words import stood_words

ONE = ("--only", "copy/an_upload_writes_its_range_only")
OWN = re.compile(r"^#\d+ .*\(libtbk_hostile\.so\+0x[0-9a-f]+\)$", re.MULTILINE)


def crashed(output: Path, name: str, isolation: str = "fork") -> Record:
    [test] = run(HOSTILE, output, *ONE, "--isolation", isolation, *hostile(name)).results().tests
    assert test["verdict"] == "crash"
    return test


@pytest.mark.parametrize("isolation", ["fork", "batch"])
@pytest.mark.parametrize(
    ("name", "signal"),
    [("crash_in_call", "SEGV"), ("crash_in_thread", "SEGV"), ("abort_in_call", "ABRT"),
     ("double_free", "ABRT"), ("divide_by_zero", "FPE"), ("overflow_stack", "SEGV"),
     ("call_null", "SEGV"), ("crash_in_many_threads", "SEGV")],
)  # fmt: skip
def test_a_crash_tells_its_functions(
    tmp_path: Path, name: str, signal: str, isolation: str
) -> None:
    test = crashed(tmp_path / "x.jsonl", name, isolation)
    assert f"SIG{signal}" in test["seen"]
    assert OWN.search(test["stack"])
    assert test["stack"].count("(tbk-run+") <= 1


@pytest.mark.parametrize(
    ("name", "signal"), [("ruin_stack", "ABRT"), ("crash_while_loading", "SEGV")]
)
def test_what_cannot_be_told_changes_no_end(tmp_path: Path, name: str, signal: str) -> None:
    test = crashed(tmp_path / "x.jsonl", name)
    assert test["seen"].startswith(f"killed by SIG{signal} (body)")


@pytest.mark.parametrize("name", ["kill_itself", "exit_86"])
def test_an_end_that_is_no_crash_has_no_stack(tmp_path: Path, name: str) -> None:
    assert crashed(tmp_path / "x.jsonl", name)["stack"] is None


def test_hidden_functions_are_named_while_the_library_is_the_same(tmp_path: Path) -> None:
    output = tmp_path / "x.jsonl"
    crashed(output, "crash_in_call")
    results = read_results(output)
    [named] = name_frames(results).tests
    assert "act_crash" in named.stack
    label, words = stood_words(named)
    assert (label, words.startswith("act_crash")) == ("stack", True)
    assert ", called from " in words
    other = {**results.header["backend"], "path": str(LIB / "libtbk_cpu.so")}
    results.header["backend"] = other
    assert name_frames(results).tests == results.tests
