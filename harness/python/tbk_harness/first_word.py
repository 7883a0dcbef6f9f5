# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Says that a command has begun, before anything is imported that takes time."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

LONG = ("run", "check", "probe", "litmus", "kill-matrix")  # that take more than a moment
NO_WORK = {"-h", "--help", "--quiet"}


def line(arguments: Sequence[str], version: str, width: int) -> str:
    """Returns what is said of a command; empty where it is over in a moment, or wants no words."""
    if not arguments or arguments[0] not in LONG or NO_WORK & set(arguments):
        return ""
    told = " ".join((f"tbk {version}:", *arguments))
    clean = "".join(one if one.isprintable() else "?" for one in told)
    return clean if len(clean) < width else f"{clean[: width - 4]}..."


def say(arguments: Sequence[str], version: str) -> None:
    """Prints it where standard output is a terminal; logs and programs get the results alone."""
    try:
        if sys.stdout.isatty():
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            if told := line(arguments, version, width):
                print(told, flush=True)
    except (OSError, ValueError):
        return  # no terminal after all
