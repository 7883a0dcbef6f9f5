# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Starts the command as a user does, with a stand-in for tbk-run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import forked_tbk
from forked import Ended

Tbk = Callable[..., Ended]
STAND_IN = Path(__file__).resolve().parent / "fake_tbk_run.py"

# A shell starts background jobs with SIGINT ignored, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def starter(folder: Path, layer: str = "c") -> Tbk:
    """`layer`: the one that tbk run is told, unless it is told another; "" for its own choice."""

    def run(*arguments: str, runner: str = "", **more: str) -> Ended:
        if layer and arguments[0] == "run" and not any("--layer" in one for one in arguments):
            arguments = (*arguments, f"--layer={layer}")
        if arguments[0] in (
            "check",
            "probe",
        ):  # the stand-in has devices that PyTorch does not know
            arguments = (*arguments, "--import=acme_torch")
            (folder / "acme_torch.py").touch()
        for library in arguments[1:] if arguments[0] in ("run", "list") else ():
            if library.endswith(".so") and "=" not in library:
                (folder / library).touch()  # the stand-in does not read it
        environment = {"TBK_RUN": runner or str(STAND_IN), "TBK_LITMUS": "none", **more}
        return forked_tbk.run(arguments, folder, {**os.environ, **environment}, patience=600)

    return run
