# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a terminal shows at the end of a run. Nothing that a backend wrote is taken as markup."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from . import text
from .model import Judged
from .view import Cause, View, seen_words

CAUSES = 5
STYLES = {"pass": "bold green", "fail": "bold red", "error": "bold red"}


def _cause(console: Console, number: int, cause: Cause) -> None:
    first = cause.first
    words = Text(f"  {number}. ", style="bold")
    words.append(cause.title, style="bold")
    words.append(f"  ({text.count_words(len(cause.tests), 'test')})", style="dim")
    console.print(words)
    said = [(f"{first.clause} {first.level}", first.clause_text), ("test", first.id)]
    if first.expected:
        said.append(("expected", first.expected))
    said.append(("seen", seen_words(first)))
    if first.blame:
        said.append(("blame", first.blame))
    if first.replay:
        said.append(("replay", first.replay))
    for name, value in said:
        label = Text(f"     {text.line(name, 16):<14} ", style="dim")
        console.print(label.append(text.line(value, 400), style="default"), soft_wrap=True)


def print_report(judged: Judged, console: Console) -> None:
    """Causes, what was left out, and last of all the verdict line."""
    view = View(judged)
    for number, cause in enumerate(view.causes[:CAUSES], 1):
        _cause(console, number, cause)
    if len(view.causes) > CAUSES:
        console.print(Text(f"  and {len(view.causes) - CAUSES} more causes", style="dim"))
    for title, reasons in (
        ("not tested", [f"{reason.words} is not declared" for reason in view.not_tested]),
        ("not shown", [reason.words for reason in (*view.not_shown, *view.trivial)]),
        ("problem", list(view.problems)),
    ):
        for words in reasons[:6]:
            console.print(Text(f"  {title}: ", style="dim").append(words), soft_wrap=True)
        if len(reasons) > 6:
            console.print(Text(f"  {title}: and {len(reasons) - 6} more", style="dim"))
    if view.limited_to:
        console.print(Text(f"  part of the suite: {view.limited_to}", style="dim"), soft_wrap=True)
    console.print(Text(view.verdict_line, style=STYLES.get(judged.verdict, "bold")), soft_wrap=True)
