# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs tbk-run on PyTorch's own CPU, which modules in torch_acts/broken break when imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from runs import PATIENCE, ROOT, TBK_RUN, Run

CONTRACTS = ROOT / "contracts/python/tbk_contracts/torch"
ACTS = Path(__file__).resolve().parent / "torch_acts"
HOSTILE = "torch_act_hostile"
# What users set for scripts of their own, and no worker takes.
SETTINGS = {"PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1"}


def words(output: Path, *more: str, device: str = "cpu") -> list[str]:
    start = [str(TBK_RUN), "--torch-device", device, "--python", sys.executable]
    return [*start, "--output", str(output), *more]


def environment(folder: Path = ACTS) -> dict[str, str]:
    path = os.pathsep.join([str(ACTS), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "TBK_TORCH_CONTRACTS": str(folder), "PYTHONPATH": path}


def judge(output: Path, *more: str, device: str = "cpu", folder: Path = ACTS) -> Run:
    done = subprocess.run(
        words(output, *more, device=device),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**environment(folder), **SETTINGS},
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr, output)
