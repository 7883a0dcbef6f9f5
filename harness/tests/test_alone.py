# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are said to run alone do: they fail on a broken device, and pass on a sound one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from runs import PATIENCE
from torch_runs import CONTRACTS, environment, judge

pytest.importorskip("torch", reason="the torch layer is for machines that have PyTorch")

from tbk_harness import reproducer
from tbk_reports.model import Judged, read_results

# What makes the suite fail to be imported, so that nothing of it can be what passes.
HIDDEN = "import sys; sys.modules['tbk_harness'] = sys.modules['tbk_reports'] = None\n"
BROKEN = "broken.tail"
ONLY = (
    "torch_copy/copy_keeps_every_bit[float32]",
    "torch_copy/a_copy_on_the_device_keeps_every_bit[bfloat16]",
    "torch_serialization",
)


def _run(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (file.parent / "sitecustomize.py").write_text(HIDDEN)
    path = os.pathsep.join([str(file.parent), environment()["PYTHONPATH"]])
    return subprocess.run(
        [sys.executable, str(file), *words], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_a_file_fails_on_the_broken_device_and_passes_on_the_sound_one(tmp_path: Path) -> None:
    only = [f"--only={word}" for word in ONLY]
    judge(tmp_path / "a.jsonl", *only, "--torch-import", BROKEN, folder=CONTRACTS)
    results = read_results(tmp_path / "a.jsonl")
    assert results.footer is not None
    judged = Judged(results.header, results.footer, results.tests, "fail", 1)
    named = [test for test in reproducer.write(judged, tmp_path).tests if test.alone]
    assert {test.recorded for test in named} == {"fail", "crash"}
    for test in {test.recorded + test.suite: test for test in named}.values():
        again = _run(tmp_path / test.alone)
        told = (test.id, again.stdout, again.stderr)
        assert again.returncode == (1 if test.recorded == "fail" else -signal.SIGABRT), told
        sound = _run(tmp_path / test.alone, "--device", "cpu")
        assert sound.returncode == 0, (test.id, sound.stdout, sound.stderr)
