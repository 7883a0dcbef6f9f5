# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk trace on scripts of a user: whole ones, and those that do not end well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runs import BUILD, CPU, PATIENCE

pytest.importorskip("torch", reason="scripts need PyTorch")

MODEL = """
import sys, torch
device = sys.argv[1]
layer = torch.nn.LayerNorm(4).to(device)
layer(torch.ones(2, 4, device=device)).sum().backward()
{end}
"""


def trace(folder: Path, end: str, device: str = "tbk_cpu") -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(MODEL.format(end=end), "utf-8")
    subject = [f"--library={CPU}"] if device == "tbk_cpu" else [f"--device={device}"]
    return subprocess.run(
        [sys.executable, "-m", "tbk_harness", "trace", *subject, "script.py", device],
        cwd=folder, env={**os.environ, "TBK_BUILD": str(BUILD)},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def asked(folder: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((folder / "trace.json").read_text("utf-8"))
    return {row["operator"]: row for row in found["operators"]}


def test_forward_and_backward_of_a_script_are_traced(tmp_path: Path) -> None:
    done = trace(tmp_path, "print('the script is through')")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the script is through\n")
    rows = asked(tmp_path)
    assert {"native_layer_norm", "native_layer_norm_backward", "sum"} <= set(rows)
    assert rows["sum"]["calls"] == 1
    assert rows["sum"]["dtypes"] == ["float32"]
    assert rows["sum"]["served"] in ("named", "generic", "composed")


def test_before_there_is_a_device_the_cpu_tells_what_is_needed(tmp_path: Path) -> None:
    done = trace(tmp_path, "", "cpu")
    assert done.returncode == 0, done.stderr
    assert {"native_layer_norm", "native_layer_norm_backward"} <= set(asked(tmp_path))


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("sys.exit(3)", "tbk: the script ended with status 3\n"),
        ("raise ValueError('mine')", 'File "script.py", line 6, in <module>'),
    ],
)
def test_what_was_asked_before_a_script_failed_is_told(end: str, said: str, tmp_path: Path) -> None:
    done = trace(tmp_path, end)
    assert done.returncode == 1
    assert said in done.stderr
    assert "runpy" not in done.stderr
    assert "native_layer_norm" in asked(tmp_path)


def test_a_crash_names_the_operator_that_was_called_last(tmp_path: Path) -> None:
    done = trace(tmp_path, "torch.exp(torch.ones(2, device=device)); import os; os.abort()")
    assert done.returncode == 1
    assert "by SIGABRT" in done.stderr
    assert "aten::exp" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "trace.json").exists()
