# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Starts `python -m tbk_harness` as a fork of a process that has imported what it imports: of a
short run of tbk most is import and reading of the spec.
"""

from __future__ import annotations

import importlib
import pkgutil
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import forked
from forked import Ended


def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], patience: float
) -> Ended:
    """Runs `python -m tbk_harness WORDS` in a folder, to its end and that of its output."""
    if forked.is_as_for_tests(environment):
        return forked.run(Path(__file__), ["tbk", *words], folder, environment, patience)
    return subprocess.run(
        [sys.executable, "-m", "tbk_harness", *words], cwd=folder, env=environment,
        capture_output=True, text=True, errors="surrogateescape", timeout=patience, check=False,
    )  # fmt: skip


def prepare() -> None:
    """Imports what tbk does, but for its first module, which looks at the clock."""
    import tbk_contracts  # noqa: PLC0415
    import tbk_harness  # noqa: PLC0415

    for module in pkgutil.iter_modules(tbk_harness.__path__):
        if module.name.startswith("commands") or module.name in ("progress", "suggest", "explain"):
            importlib.import_module(f"tbk_harness.{module.name}")
    tbk_contracts.clauses()


def become(words: list[str]) -> None:
    """Runs the module as `python -m` does."""
    import tbk_harness  # noqa: PLC0415

    tbk_harness.STARTED = time.monotonic()
    sys.path.insert(0, str(Path.cwd()))
    sys.argv = words
    runpy.run_module("tbk_harness", run_name="__main__", alter_sys=True)
