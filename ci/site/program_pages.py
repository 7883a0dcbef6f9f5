# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The programs in C as pages, each the help that the program itself prints."""

from __future__ import annotations

import subprocess

from tbk_harness import locate

FOLDER = "commands"
PROGRAMS = {
    "tbk-run": "The program in C by which `tbk run` and `tbk check` run tests. It needs no Python "
    "for the contracts in C, and leaves a result file, of which `tbk report` makes a page.",
    "tbk-litmus": "The program in C by which `tbk litmus` runs programs drawn at random. It needs "
    "no Python for a library.",
}


def help_of(name: str) -> str:
    """Returns what `NAME --help` prints; LookupError where the program is not built."""
    program = locate.binary(name)
    if program is None:
        raise LookupError(f"no {name}: build it first, cmake --build build --target {name}")
    return subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout


def pages() -> dict[str, str]:
    """Returns all pages by their paths below docs/."""
    return {
        f"{FOLDER}/{name}.md": f"# {name}\n\n{words}\n\n```text\n{help_of(name)}```\n\n"
        "How it ends: [exit codes](../exit-codes.md). [Of all commands](../command-line.md).\n"
        for name, words in PROGRAMS.items()
    }
