# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs under ThreadSanitizer: whether a library was built for it, and where its runtime is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

SYMBOL = b"\0__tsan_init\0"  # in the table of strings of whatever was compiled for it
NEEDED = re.compile(rb"\0(libtsan\.so\.\d+|libclang_rt\.tsan[-\w.]*\.so)\0")
CLANG = ("libclang_rt.tsan.so", "libclang_rt.tsan-x86_64.so", "libclang_rt.tsan-aarch64.so")
# Reports become failures of the test that they were made in, so the exit code is left alone.
OPTIONS = "exitcode=0:halt_on_error=0:die_after_fork=0:report_signal_unsafe=0:history_size=4"
# Tests whose subject is that several threads call, kernels too.
ONLY = ("thread", "sweep_race", "program_beside")
TIMEOUT_S = "120"


class NoTsanError(RuntimeError):
    """A run under ThreadSanitizer is not possible; the text says what is missing."""


def built_for(path: Path) -> bool:
    """Returns whether a file was compiled with -fsanitize=thread."""
    try:
        return SYMBOL in path.read_bytes()
    except OSError:
        return False


def _asked(compiler: str, name: str) -> str:
    """Returns where a compiler keeps a library; empty where it has none of that name."""
    found = shutil.which(compiler)
    if found is None:
        return ""
    said = subprocess.run(
        [found, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return said if Path(said).is_absolute() and Path(said).exists() else ""


def _preloaded(library: Path) -> str:
    """Returns the runtime that the library was linked for, or that its compiler has."""
    needed = NEEDED.search(library.read_bytes())
    if needed:
        name = needed[1].decode()
        return _asked("gcc" if name.startswith("libtsan") else "clang", name) or name
    found = next(filter(None, (_asked("clang", name) for name in CLANG)), "")
    if not found:
        raise NoTsanError(
            f"{library}: no runtime of ThreadSanitizer was found for it: gcc links one, and clang "
            "does with -shared-libsan"
        )
    return found


def environment(library: Path, runner: Path) -> dict[str, str]:
    """Returns what tbk-run needs in its environment, so that races in the library are seen."""
    if not built_for(library):
        raise NoTsanError(
            f"{library}: not built with -fsanitize=thread, so no race in it would be seen"
        )
    theirs = os.environ.get("TSAN_OPTIONS", "")
    options = f"{OPTIONS}:{theirs}" if theirs else OPTIONS
    if built_for(runner):
        return {"TSAN_OPTIONS": options}
    before = os.environ.get("LD_PRELOAD", "")
    preload = f"{_preloaded(library)} {before}".strip()
    return {"TSAN_OPTIONS": options, "LD_PRELOAD": preload}


def defaults(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of such a run: what the user did not choose suits the sanitizer."""
    chosen = dict(options)
    chosen["only"] = options["only"] or ONLY
    chosen["tier"] = options["tier"] or "thorough"
    chosen["timeout"] = options["timeout"] or TIMEOUT_S
    return chosen
