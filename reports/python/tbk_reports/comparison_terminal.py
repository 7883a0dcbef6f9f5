# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of two runs on a terminal. Nothing that a backend wrote is taken as markup."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from . import text
from .comparison import SECTIONS, WORSE, Comparison, Group

TESTS = 5
STYLES = {"new": "bold red", "lost": "bold red", "moved": "yellow", "mended": "green"}


def _print_group(console: Console, name: str, group: Group) -> None:
    said = Text(f"{SECTIONS[name][0].lower()}: ", style=STYLES[name])
    note = f"; {text.line(group.note, 300)}" if group.note else ""
    tests = text.count_words(len(group.tests), "test")
    console.print(said.append(f"{group.title} ({tests}{note})", style="default"))
    for test_id, words in group.lines[:TESTS]:
        console.print(Text(f"    {text.line(test_id, 100)}: {words}"))
    if len(group.lines) > TESTS:
        console.print(Text(f"    and {len(group.lines) - TESTS} more", style="dim"))


def print_comparison(found: Comparison, console: Console) -> None:
    """Prints causes by kind of change, and last of all the numbers; what is bad comes first."""
    for name, groups in found.groups.items():
        for group in groups:
            _print_group(console, name, group)
    for problem in found.problems:
        console.print(Text(problem, style="bold red"))
    style = "bold red" if any(found.groups[name] for name in WORSE) else "default"
    console.print(Text(f"{found.word}: {found.headline}. {found.lead}", style=style))
