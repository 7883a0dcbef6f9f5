# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A summary for the page that a CI system shows of a job."""

from __future__ import annotations

import re

from . import text
from .causes import Cause
from .model import Judged, Test
from .view import View
from .words import blame_words, seen_words, state_words, stood_words

CAUSES = 10
TESTS_PER_CAUSE = 5
MARKS = {"pass": "✅", "partial": "⚠️"}
REASONS = 8
CASE = "  * "  # begins the line of a failed test
PROGRAM_LIMIT = 600  # characters; longer ones are on the page

_PLAIN = re.compile(r"[^A-Za-z0-9 ,()\u00b7\u2026]")
# Between letters these mean nothing to Markdown, and a reader of the source is glad of them.
_INNER = re.compile(
    r"(?<=[A-Za-z0-9 ])[./=%?;'\"](?=[A-Za-z0-9 ]|$)|(?<=[A-Za-z0-9])-(?=[A-Za-z0-9])"
)
_NUMBER = re.compile(r"\d+[.)]")  # would begin a list
_AUTOLINK = re.compile(r"www\.|://", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_./:-]+")


def escape(value: str, limit: int = 300) -> str:
    """Returns one line that is text and nothing else to any Markdown reader."""
    value = text.line(value, limit)
    first = _NUMBER.match(value)
    number = len(first[0]) if first else 0
    keep = set() if _AUTOLINK.search(value) else {m.start() for m in _INNER.finditer(value)}
    return "".join(
        character
        if index + 1 != number
        and (index in keep or character.isalpha() or not _PLAIN.match(character))
        else f"&#{ord(character)};"
        for index, character in enumerate(value)
    )


def code(value: str, limit: int = 120) -> str:
    """Returns a name as code; anything that is not plainly a name is escaped text instead."""
    value = text.line(value, limit)
    return f"`{value}`" if _NAME.fullmatch(value) else escape(value, limit)


def _block(value: str) -> list[str]:
    """Returns a fenced block whose fence is longer than any in it."""
    value = text.tail(value, 600)
    longest = max((len(run) for run in re.findall(r"`+", value)), default=0)
    fence = "`" * max(3, longest + 1)
    return ["", fence + "text", value, fence, ""]


def case_head(test: Test) -> str:
    """Returns the line that a failed test begins with; the lint looks for it."""
    return f"{CASE}{code(test.id)} {state_words(test.verdict)}"


def _case(test: Test) -> list[str]:
    """Expected and seen each have a line."""
    lines = [case_head(test)]
    if test.expected:
        lines.append(f"    * expected: {escape(test.expected, 160)}")
    lines.append(f"    * seen: {escape(seen_words(test), 160)}")
    label, stood = stood_words(test)
    return [*lines, f"    * {label}: {escape(stood, 260)}"] if stood else lines


def _cause(number: int, cause: Cause) -> list[str]:
    first = cause.first
    blame = escape(blame_words(first) or "unknown", 200)
    lines = [f"{number}. **{escape(cause.title, 160)}** ({cause.count_words}, blame: {blame})"]
    if first.clause:
        sentence = f": {escape(first.clause_text, 300)}" if first.clause_text else ""
        lines.append(f"   {code(first.clause)}{sentence}")
        lines.append("")
    for test in cause.tests[:TESTS_PER_CAUSE]:
        lines += _case(test)
    if len(cause.tests) > TESTS_PER_CAUSE:
        lines.append(f"\n   and {len(cause.tests) - TESTS_PER_CAUSE} more")
    if first.replay:
        lines += ["   " + row if row else "" for row in _block(text.line(first.replay, 600))]
    program = min((test.program for test in cause.tests[:50] if test.program), key=len, default="")
    if program and len(program) <= PROGRAM_LIMIT:
        lines += ["   Without the suite:"]
        lines += ["   " + row if row else "" for row in _block(program)]
    return lines


def _counts(view: View) -> list[str]:
    lines = ["| verdict | tests |", "|---|---:|"]
    lines += [f"| {verdict} | {count} |" for verdict, count in view.counts.items()]
    return [*lines, f"| all | {view.total} |", ""]


def _tests(count: int) -> str:
    return text.count_words(count, "test")


def _left_out(view: View) -> list[str]:
    lines: list[str] = []
    if view.not_tested or view.extent.partial:
        lines += ["### Not tested", ""]
        if view.left_out:
            lines.append(f"* {escape(view.left_out_words)}")
        lines += [
            f"* {escape(reason.words, 200)}: {_tests(len(reason.tests))}"
            for reason in view.not_tested[:REASONS]
        ]
        lines.append("")
    if view.not_shown or view.trivial:
        lines += ["### Not shown", ""]
        lines += [
            f"* {escape(reason.words, 200)}: {_tests(len(reason.tests))}"
            for reason in (*view.not_shown, *view.trivial)[:REASONS]
        ]
        lines.append("")
    return lines


def _warnings(view: View) -> list[str]:
    if not view.warnings:
        return []
    lines = ["### Recommendations not met", ""]
    lines += [
        f"* {escape(cause.title, 160)}: {_tests(len(cause.tests))}, which fail nothing"
        for cause in view.warnings[:CAUSES]
    ]
    return [*lines, ""]


def _next(view: View) -> list[str]:
    """The lint reads these lines back."""
    if not view.operators.next:
        return []
    lines = ["### Implement these next", ""]
    for number, one in enumerate(view.operators.next, 1):
        lines.append(f"{number}. `{one.name}`: {one.words}")
    return [*lines, ""]


def _profile(view: View) -> list[str]:
    if view.share is None:
        return []
    lines = ["### Profile", "", escape(view.share.headline, 400), ""]
    lines += [
        f"* write {escape(one.name, 120)} ({one.kind}): {one.words}" for one in view.share.next
    ]
    return [*lines, ""]


def render_markdown(judged: Judged) -> str:
    view = View(judged)
    lines = [
        f"## {MARKS.get(view.word, '❌')} {view.stamp}: {escape(view.headline)}",
        "",
        escape(view.lead, 500),
        "",
    ]
    if view.extent.partial:
        lines += [f"**Partial**: {escape(view.partial_words, 400)}", ""]
    if view.simulated_words:
        lines += [f"**Simulated**: {escape(view.simulated_words, 400)}", ""]
    if view.unverified:
        lines += ["<details><summary>What the backend relies on, unverified</summary>", ""]
        lines += [f"* {escape(sentence)}" for sentence in view.unverified]
        lines += ["", "</details>", ""]
    if view.health:
        lines.append(f"* **The device does not compute**: {escape(view.health)}")
    lines += [f"* **{escape(problem)}**" for problem in view.problems[:20]]
    lines += [f"* {escape(note)}" for note in judged.notes[:20]]
    lines += ["", *_counts(view)]
    if view.causes:
        lines += ["### Fix first", ""]
        for number, cause in enumerate(view.causes[:CAUSES], 1):
            lines += _cause(number, cause)
        if len(view.causes) > CAUSES:
            lines.append(f"\nand {len(view.causes) - CAUSES} more causes in the full report")
        lines.append("")
    lines += _warnings(view)
    lines += _profile(view)
    lines += _next(view)
    if view.order_words:
        lines += ["### Order", "", escape(view.order_words, 400), ""]
    lines += _left_out(view)
    lines.append(f"Exit code {judged.exit_code}.")
    return "\n".join(lines) + "\n"
