# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A fork of what has imported tbk is as good as a process that was started."""

from __future__ import annotations

import os
from pathlib import Path

import forked_tbk
import pytest

# They print, are mistyped, or fail for want of a file.
COMMANDS = (["--version"], ["show", "EVT-019"], ["lst"], ["run", "./none.so"], ["verify", "none"])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_ends_and_says_the_same(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "COLUMNS": "80"}
    forked = forked_tbk.run(words, tmp_path, environment, patience=60)
    monkeypatch.setenv("TBK_TESTS_EXEC", "1")
    started = forked_tbk.run(words, tmp_path, environment, patience=60)
    for name in ("returncode", "stdout", "stderr"):
        assert getattr(forked, name) == getattr(started, name)


def test_what_python_reads_at_its_start_starts_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('started')\n", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert "started" in forked_tbk.run(["--version"], tmp_path, environment, patience=60).stdout


def test_what_does_not_end_is_told(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="tbk --version did not end"):
        forked_tbk.run(["--version"], tmp_path, os.environ, patience=0)
