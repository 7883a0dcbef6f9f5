# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program in a Python of its own, which has loaded no backend: a fork of one that has
imported PyTorch, since that takes longer than what most of them do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import forked
from forked import Ended

PATIENCE = 300.0  # seconds
IMPORTS_IT = re.compile(r"^(?:import|from)\b[^;\n]*\btorch\b", re.MULTILINE)
READ_AT_START = (*forked.READ_AT_START, "TORCH")  # PyTorch reads its own when it is imported


def run(
    program: str, arguments: Sequence[object] = (), more: Mapping[str, str] | None = None
) -> Ended:
    """Runs `python -W error -c PROGRAM ARGUMENTS`, with more in its environment."""
    words, environment = [program, *map(str, arguments)], {**os.environ, **(more or {})}
    is_the_same = forked.is_as_for_tests(environment, READ_AT_START)
    if is_the_same and IMPORTS_IT.search(program):
        return forked.run(Path(__file__), words, Path.cwd(), environment, PATIENCE)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", *words], env=environment,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def prepare() -> None:
    import torch  # noqa: F401, PLC0415


def become(words: list[str]) -> None:
    """Runs a program as `python -W error -c` does."""
    sys.path.insert(0, "")
    sys.argv = ["-c", *words[1:]]
    sys.warnoptions.append("error")
    warnings.simplefilter("error")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(words[0], "<string>", "exec"), main.__dict__)  # noqa: S102
