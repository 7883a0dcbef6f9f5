# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs on a farm of local Ray nodes, and on farms that are none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from runs import CPU, PATIENCE, ROOT

pytest.importorskip("tbk_harness")


def _run(folder: Path, *words: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tbk_harness", "run", str(CPU), *words, f"--report-dir={folder}"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "PYTHONPATH": str(path)} if path else None,
    )  # fmt: skip


def test_a_node_that_is_killed_loses_no_test_and_counts_none_twice(tmp_path: Path) -> None:
    """Three nodes, one killed at a seeded moment: farm.py looks at what came of it."""
    script = ROOT / "harness" / "tests" / "farm.py"
    only = ("--only=memory", "--only=copy", "--only=stream")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "--seed", "3", "--parts", "18", *only],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["problems"] == []
    page = (tmp_path / "seed-3" / "index.html").read_text("utf-8")
    assert "board-0" in page
    assert "went away" in page
    checked = subprocess.run(
        [sys.executable, "-m", "tbk_harness", "verify",
         str(tmp_path / "seed-3" / "results.jsonl")],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


def test_a_farm_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"ray://127.0.0.1:{free.getsockname()[1]}"
        modules = _without_imports(tmp_path)
        done = _run(tmp_path / "report", "--farm", address, "--resource", "acme=1", path=modules)
    assert done.returncode == 5, done.stderr
    assert done.stderr == f"tbk: no farm answers at {address}: Connection refused\n"


def _without_imports(folder: Path) -> Path:
    """A folder of modules that take long to import, and that nobody is to import first."""
    for name in ("torch", "ray"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--farm", "here"), "'here' is none of ray://HOST:PORT, HOST:PORT, auto, local:N"),
        (("--farm", "ray://head:0"), "'ray://head:0' is none of"),
        (("--resource", "acme=1"), "--resource, --parts and --farm-wait go with --farm"),
        (("--farm", "auto", "--resource", "acme=some"), "'acme=some' is no resource"),
        (("--farm", "auto", "--shard", "1/2"), "--shard does not go with --farm"),
        (("--farm", "auto", "--tsan"), "--tsan does not go with --farm"),
    ],
)
def test_words_that_make_no_farm_are_bad_usage(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = _run(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
