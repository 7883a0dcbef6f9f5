# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk run --tsan: a race fails a test, and a library that was not built for it is refused."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tbk_harness import locate, tsan
from tbk_reports.model import EXIT_FINDINGS, EXIT_PASS, EXIT_USAGE, ResultFile, read_results

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "reference_backends" / "template" / "template.c"
ONE = "thread/threads_allocate_and_free_at_the_same_time"


def built(folder: Path, *, locked: bool, flags: tuple[str, ...] = ("-fsanitize=thread",)) -> Path:
    """Compiles the template, with or without its locks."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc")
    text = SOURCE.read_text()
    if not locked:
        text, count = re.subn(r"pthread_mutex_(?:un)?lock\([^;]*\);", "", text)
        assert count
    source, library = folder / "template.c", folder / "libtemplate.so"
    source.write_text(text)
    include = ROOT / "contracts" / "include"
    command = [compiler, "-shared", "-fPIC", "-g", "-O1", "-D_GNU_SOURCE", *flags]
    subprocess.run([*command, f"-I{include}", str(source), "-o", str(library)], check=True)
    return library


def path_of_runner() -> str:
    runner = locate.tbk_run()
    assert runner is not None
    return os.pathsep.join([str(runner.parent), os.environ["PATH"]])


def judged(library: Path, folder: Path) -> tuple[int, str, ResultFile | None]:
    runner = locate.tbk_run()
    if runner is not None and b"__asan_init" in runner.read_bytes():
        pytest.skip("tbk-run has another sanitizer already")
    ended = subprocess.run(
        [sys.executable, "-m", "tbk_harness", "run", str(library), "--tsan", "--only", ONE,
         "--report-dir", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    file = folder / "results.jsonl"
    return ended.returncode, ended.stderr, read_results(file) if file.exists() else None


def test_a_race_is_a_failure_that_names_its_place(tmp_path: Path) -> None:
    code, said, results = judged(built(tmp_path, locked=False), tmp_path / "report")
    assert code == EXIT_FINDINGS, said
    assert results is not None
    [test] = results.tests
    assert test.clause.startswith("THR-")
    assert "data-race" in test.output or "data race" in test.output
    by_shell = subprocess.run(
        [*shlex.split(test.replay), "--output", str(tmp_path / "again.jsonl")],
        capture_output=True, text=True, check=False, env={**os.environ, "PATH": path_of_runner()},
    )  # fmt: skip
    assert "data-race" in by_shell.stdout, by_shell.stderr
    replay = subprocess.run(
        [sys.executable, "-m", "tbk_harness", "replay", str(tmp_path / "report" / "results.jsonl")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 of 1 fail again" in replay.stdout, replay.stderr


def test_a_library_with_locks_has_none(tmp_path: Path) -> None:
    code, said, results = judged(built(tmp_path, locked=True), tmp_path / "report")
    assert code == EXIT_PASS, said
    assert results is not None
    assert [test.verdict for test in results.tests] == ["pass"]


def test_a_library_that_was_not_built_for_it_is_refused(tmp_path: Path) -> None:
    library = built(tmp_path, locked=True, flags=())
    assert not tsan.built_for(library)
    code, said, results = judged(library, tmp_path / "report")
    assert (code, results) == (EXIT_USAGE, None)
    assert said.count("\n") == 1
    assert "-fsanitize=thread" in said
