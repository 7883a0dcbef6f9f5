# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What `tbk init shell` and `tbk init ctest` write, run on backends as a vendor would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import BUILD, LIB, TEMPLATE

PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(acme NONE)
enable_testing()
include(ci/tbk.cmake)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Returns one that has `tbk`, for the C layer."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "tbk").write_text(f'#!/bin/sh\nexec {sys.executable} -m tbk_harness "$@"\n')
    (programs / "tbk").chmod(0o755)
    return {
        **os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TBK_BUILD": str(BUILD), "TBK_LITMUS": "none", "TBK_OPTIONS": "--layer c",
    }  # fmt: skip


def _run(folder: Path, environment: dict[str, str], *command: str) -> tuple[int, str]:
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_shell_script_on_a_whole_backend(tmp_path: Path, environment: dict[str, str]) -> None:
    made = _run(tmp_path, environment, "tbk", "init", "shell", "--library", str(TEMPLATE))
    assert made[0] == 0, made[1]
    # The whole night is the same with more tests, which take a minute.
    script = tmp_path / "ci" / "tbk.sh"
    script.write_text(script.read_text().replace("NIGHT=(--tier thorough)", "NIGHT=(--tier quick)"))
    assert _run(tmp_path, environment, str(script), "baseline")[0] == 0
    for part in ("1/2", "2/2"):
        ended = _run(tmp_path, environment, str(script), "shard", part)
        assert ended[0] == 0, ended[1]
    files = [f"tbk-report/part-{i}-of-2/results.jsonl" for i in (1, 2)]
    ended = _run(tmp_path, environment, str(script), "together", *files)
    assert ended[0] == 0, ended[1]
    assert (tmp_path / "tbk-report/night/junit.xml").is_file()
    assert _run(tmp_path, environment, str(script), "keep", "night")[0] == 0
    ended = _run(tmp_path, environment, str(script), "together", *files)
    assert (ended[0], "Nothing is new" in ended[1]) == (0, True), ended[1]
    ended = _run(tmp_path, environment, str(script), "together", files[0], "nosuch")
    # One part alone is a partial run, and never a pass.
    assert (ended[0], "which --fail-on partial forbids: shard 1/2" in ended[1]) == (1, True)


def test_ctest_runs_it_and_skips_a_machine_without_a_device(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    made = _run(tmp_path, environment, "tbk", "init", "ctest", "--library", str(TEMPLATE))
    assert made[0] == 0, made[1]
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    assert _run(tmp_path, environment, "cmake", "-S", ".", "-B", "build")[0] == 0
    ctest = ("ctest", "--test-dir", "build", "-L", "tbk")
    code, said = _run(tmp_path, environment, *ctest)
    assert (code, "100% tests passed, 0 tests failed out of 1" in said) == (0, True), said
    listed = _run(tmp_path, environment, *ctest, "-C", "night", "-N")[1]
    assert "tbk-night" in listed
    gone = {**environment, "TBK_LIBRARY": str(LIB / "libtbk_cuda.so"),
            "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip
    code, said = _run(tmp_path, gone, *ctest)
    assert (code, "Skipped" in said) == (0, True), said
    assert _run(tmp_path, gone, "cmake", "build", "-DTBK_NEED_DEVICE=ON")[0] == 0
    assert _run(tmp_path, gone, *ctest)[0] != 0
