# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a terminal shows at the end of a run. Nothing that a backend wrote is taken as markup."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from . import text
from .causes import Cause
from .model import Judged
from .view import View
from .words import blame_words, check_words, debug_words, seen_words, stood_words

CAUSES = 5
WIDTH = 120  # of the text file; long lines are not broken
STYLES = {
    "pass": "bold green", "partial": "bold yellow", "fail": "bold red", "error": "bold red",
}  # fmt: skip


def _cause(console: Console, number: int, cause: Cause, results: str) -> None:
    first = cause.first
    words = Text(f"  {number}. ", style="bold")
    words.append(cause.title, style="bold")
    words.append(f"  ({cause.count_words})", style="dim")
    console.print(words)
    said = [(f"{first.clause} {first.level}", first.clause_text), ("test", first.id)]
    if first.what:
        said.append(("check", check_words(first)))
    if first.expected:
        said.append(("expected", first.expected))
    said.append(("seen", seen_words(first)))
    label, stood = stood_words(first)
    if stood:
        said.append((label, stood))
    if first.blame:
        said.append(("blame", blame_words(first)))
    if first.replay:
        said.append(("replay", first.replay))
    if debug := debug_words(first):
        said.append(
            (
                "debug",
                debug.replace("RESULTS", results, 1)
                if results
                else f"{debug} (RESULTS: the results.jsonl of this report)",
            )
        )
    if first.alone:
        said.append(("alone", f"python {first.alone}, in the report's folder; needs no suite"))
    for name, value in said:
        heading = Text(f"     {text.line(name, 16):<14} ", style="dim")
        console.print(heading.append(text.line(value, 400), style="default"), soft_wrap=True)


def _told(console: Console, title: str, words: str) -> None:
    console.print(Text(f"  {title}: ", style="dim").append(words, style="default"), soft_wrap=True)


def _some(items: list[str], limit: int) -> str:
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more


def _not_covered(console: Console, view: View) -> None:
    """What was not run, or showed nothing."""
    if view.left_out:
        _told(console, "left out", view.left_out_words)
    undeclared = [reason for reason in view.not_tested if reason.subject]
    if undeclared:
        words = _some([f"{reason.subject} ({len(reason.tests)})" for reason in undeclared], 12)
        _told(console, "not tested", f"not declared: {words}")
    for reason in view.not_tested:
        if not reason.subject:
            _told(console, "not tested", f"{reason.words} ({len(reason.tests)})")
    for reason in view.not_shown[:5]:
        _told(console, "not shown", f"{reason.words} ({len(reason.tests)})")
    for reason in view.trivial[:5]:
        _told(console, "trivial", f"{reason.words} ({len(reason.tests)})")


def _profile(console: Console, view: View) -> None:
    """How much of the profile is met, and what to write next; nothing where none was asked for."""
    if view.share is None:
        return
    for number, one in enumerate(view.share.next, 1):
        _told(console, f"write next, {number}", f"{one.name} ({one.kind}) unlocks {one.words}")
    _told(console, "profile", view.share.headline)


def print_report(judged: Judged, console: Console, results: str = "") -> None:
    """Causes, what was left out, and last of all the verdict line. `results`: the result file, as a
    word of a command; it is not known in what is kept."""
    view = View(judged)
    shown, follow = CAUSES, ""
    if view.health:
        _told(console, "the device does not compute", view.health)
    if view.unsound_from_the_start:
        shown, follow = 1, ", which may follow from that"
    for number, cause in enumerate(view.causes[:shown], 1):
        _cause(console, number, cause, results)
    if len(view.causes) > shown:
        console.print(Text(f"  and {len(view.causes) - shown} more causes{follow}", style="dim"))
    for cause in view.warnings[:CAUSES]:
        _told(console, "recommended", f"{cause.title} ({len(cause.tests)})")
    if view.operators.next:
        words = _some([f"{one.name} ({one.checks})" for one in view.operators.next], 5)
        _told(console, "implement next", f"{words}: each with its checks that do not run natively")
    _profile(console, view)
    if view.order_words:
        _told(console, "order", view.order_words)
    _not_covered(console, view)
    told = view.problems[1:] if judged.verdict == "error" else view.problems
    for problem in told[:10]:  # the verdict line of an error has the first
        _told(console, "problem", problem)
    for note in judged.notes[:10]:
        _told(console, "note", text.line(note, 300))
    if view.extent.partial:
        _told(console, "partial", view.partial_words)
    for sentence in view.unverified:
        _told(console, "unverified", sentence)
    if view.simulated_words:
        _told(console, "simulated", view.simulated_words)
    console.print(Text(view.verdict_line, style=STYLES[view.word]), soft_wrap=True)


def render_terminal(judged: Judged) -> str:
    """Returns the same as plain text, for logs."""
    out = io.StringIO()
    print_report(judged, Console(file=out, width=WIDTH, color_system=None, markup=False))
    return out.getvalue()
