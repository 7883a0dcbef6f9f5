# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One test in C under gdb, in the process in which gdb starts it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import NoReturn

from tbk_reports import recorded
from tbk_reports.model import EXIT_SUITE_ERROR, EXIT_USAGE, Test
from tbk_reports.text import clean

from tbk_harness import locate, outcome, steering


class _Refuses(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def arguments(test: Test) -> list[str]:
    """Returns those of tbk-cunit, from the recorded command of tbk-run. Raises ValueError."""
    found = recorded.read(test.replay)
    if found.program != "tbk-run":
        raise ValueError("it has no command of tbk-run")
    parser = _Refuses(add_help=False, allow_abbrev=False)
    parser.add_argument("--only")
    parser.add_argument("library")
    parser.add_argument("--backend-option", "-b", action="append", default=[])
    parser.add_argument("--seed")
    parser.add_argument("--case")
    known, _ = parser.parse_known_args([w for w in found.words[1:] if not _is_torch(w)])
    made = [known.library, f"--only={test.id}"]
    made += [f"--option={one}" for one in known.backend_option]
    made += [f"--seed={known.seed}"] if known.seed else []
    return made + ([f"--case={known.case}"] if known.case else [])


def _is_torch(word: str) -> bool:
    if word.startswith("--torch-"):
        raise ValueError(
            "it is of the torch layer, whose tests are Python; --gdb is for those in C"
        )
    return False


def start(test: Test) -> NoReturn:
    """Becomes gdb. Without a terminal gdb runs the test, prints the stack, and ends."""
    gdb, program = shutil.which("gdb"), locate.tbk_cunit()
    if gdb is None:
        outcome.stop(EXIT_USAGE, "gdb is not installed, or not on PATH")
    if program is None:
        outcome.stop(EXIT_SUITE_ERROR, "tbk-cunit was not found: it is built beside tbk-run")
    try:
        command = [str(program), *arguments(test)]
    except ValueError as error:
        outcome.stop(EXIT_USAGE, f"{test.id} can't be run under gdb: {error}")
    batch = [] if sys.stdin.isatty() else ["-batch"]
    stack = [] if sys.stdin.isatty() else ["-ex", "thread apply all backtrace"]
    print(clean(steering.shown(steering.steer(test.replay), command)), flush=True)
    os.execv(gdb, [gdb, "-q", *batch, "-ex", "run", *stack, "--args", *command])  # noqa: S606
