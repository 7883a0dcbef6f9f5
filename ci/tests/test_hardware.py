# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""ci/hardware refuses what is no hardware, and works from end to end on a driver that is here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TBK_BUILD", ROOT / "build"))
SIMULATOR = BUILD / "lib" / "libtbk_cuda_simulator.so"


def hardware(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "ci" / "hardware.py"), *arguments, f"--output={folder}"],
        capture_output=True, text=True, check=False, env={**os.environ, "TBK_BUILD": str(BUILD)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["cuda", f"--backend-option=driver={SIMULATOR}"], 5, "its devices are simulated"),
        (["opencl", "--backend-option=library=/nowhere/libOpenCL.so"], 5, "counts no device"),
        (["cuda", "--backend-option=driver=/nowhere/libcuda.so"], 4, "cannot be read"),
        (["cpu"], 2, "no driver of hardware"),
        (["nobody"], 2, "no driver of hardware"),
    ],
)
def test_what_is_no_hardware_is_refused_in_one_line(
    tmp_path: Path, arguments: list[str], code: int, reason: str
) -> None:
    done = hardware(tmp_path / "made", *arguments)
    assert done.returncode == code, done.stderr
    assert reason in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def has_opencl_device() -> bool:
    asked = [sys.executable, str(ROOT / "ci" / "opencl_device.py")]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.mark.night
def test_the_short_form_leaves_a_folder_to_publish(tmp_path: Path) -> None:
    if not has_opencl_device():
        pytest.skip("OpenCL has no driver here")
    done = hardware(tmp_path / "made", "opencl", "--short")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "made" / "run.json").read_text())
    assert told["short"] is True
    assert told["devices"][0]["name"]
    assert told["commit"]
    assert told["backend"]["digest"]
    assert [name for name, step in told["steps"].items() if step["passed"]] == [
        "judge", "kill", "driver",
    ]  # fmt: skip
    page = (tmp_path / "made" / "README.md").read_text()
    assert told["devices"][0]["name"].split(" (")[0] in page
    assert "nothing of the device" in page
    figures = json.loads((tmp_path / "made" / "driver.json").read_text())["figures"]
    assert {one["what"] for one in figures} == {"upload", "download", "copy", "launch"}
    assert all(one["backend_ns"] > 0 and one["driver_ns"] > 0 for one in figures)
    rows = json.loads((tmp_path / "made" / "kill.json").read_text())["rows"]
    assert len(rows) == 1
    assert (tmp_path / "made" / "results.jsonl").stat().st_size > 0
