# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The child that imports a device's modules while tests are collected leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from runs import PATIENCE
from torch_runs import judge

pytest.importorskip("torch", reason="the torch layer is for machines that have PyTorch")

COLLECTED = """\
import os
from pathlib import Path

from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause

Path(os.environ["TBK_ACT_FOLDER"], "collected").touch()


@clause("CPY-501")
def test_passes(device):
    check.equal("one", 1, 1)
"""


def test_who_imports_early_has_ended_before_anybody_else_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TBK_ACT_FOLDER", str(tmp_path))
    (tmp_path / "test_collected.py").write_text(COLLECTED)
    words = ("--torch-import", "broken.locks", "--open-timeout", "20")
    done = judge(tmp_path / "a.jsonl", *words, folder=tmp_path)
    log = [line.rpartition(" ") for line in (tmp_path / "log").read_text().splitlines()]
    first = log[0][2]
    assert [said for said, _, pid in log if pid == first] == ["begins", "has imported", "ends"]
    assert [pid for _, _, pid in log[:3]] == [first] * 3
    assert log[3][0] == "begins"  # the preflight's
    assert done.code == 0, done.stderr
    assert not (tmp_path / "lock").exists()


HANGS = """
import os, sys, time
from pathlib import Path
from tbk_harness.torch_worker import early_name

folder = Path(sys.argv[1])

class Hangs:
    name, importing = "acme", "importing"

    def introduce(self):
        (folder / "lock").touch()
        try:
            (folder / "begun").touch()
            time.sleep(600)
        finally:
            (folder / "lock").unlink()

child = early_name.ask(Hangs(), lambda **_: None)
while not (folder / "begun").exists():
    time.sleep(0.01)
child.end(0.0)
os.kill(child.pid, 0)
"""


def test_an_import_that_does_not_end_takes_its_locks_away(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGS, str(tmp_path)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert "ProcessLookupError" in done.stderr, done.stderr  # nothing is left of it
    assert not (tmp_path / "lock").exists()
