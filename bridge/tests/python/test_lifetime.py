# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command that runs sequences of allocations, on a device that is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MUTANTS = Path(__file__).resolve().parents[1] / "mutants"


def run(library: Path, device: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command on a device that forgets to free: the cpu reference beside `library`, which
    has room for a while."""
    library = library.with_name("libtbk_cpu.so")
    environment = {
        **os.environ, "PYTHONPATH": str(MUTANTS), "TBK_TORCH_LIBRARY": str(library),
        "TBK_TORCH_MUTANT": "allocate_forgets_to_free",
    }  # fmt: skip
    command = [
        sys.executable, "-m", "tbk_contracts.torch.lifetime", f"--device={device}",
        "--import=tbk_torch_device", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.night
def test_a_finding_is_small_and_runs_again(library: Path) -> None:
    found = run(library, "tbk_cpu", "--sequences=20")
    assert found.returncode == 1, found.stderr
    assert "clause: MEM-535" in found.stdout
    assert "showed 10 of 10 times" in found.stdout
    line = found.stdout.partition('--case "')[2].partition('"')[0]
    assert line.startswith("alloc ")  # whichever tensor it is
    assert ";" not in line
    again = run(library, "tbk_cpu", f"--case={line}")
    assert (again.returncode, again.stdout.splitlines()[0]) == (1, "it showed 10 of 10 times")


def test_a_case_that_is_illegal_is_refused(library: Path) -> None:
    refused = run(library, "cpu", "--case=alloc a 5 s0; wait s1 s0; read a s1; free a")
    assert refused.returncode == 2
    assert "not recorded" in refused.stderr
