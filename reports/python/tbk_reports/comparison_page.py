# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of two runs as a page and as Markdown, and whether the two say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from . import text
from .comparison import SECTIONS, Comparison, Group
from .html import page
from .lint_page import differ
from .markdown import code, escape
from .render import write_file
from .words import difference_words

PAGE, SUMMARY = "diff.html", "diff.md"
SHOWN = 60  # causes of a section that are on the page
NAMES = 60  # tests of a cause, likewise
BRIEF = 10  # causes of a section in Markdown
BRIEF_NAMES = 3
MARKS = {"better": "✅", "no worse": "✅"}


def comparison_document(found: Comparison) -> dict[str, Any]:
    """Returns the comparison as JSON."""
    return {
        "format": 1,
        "kind": "tbk-diff",
        "word": found.word,
        "clean": found.clean,
        "problems": list(found.problems),
        "added": found.added,
        "other": found.other,
        "same": found.same,
        "counts": {name: list(counted) for name, counted in found.counts.items()},
        "groups": {name: list(map(_group, groups)) for name, groups in found.groups.items()},
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "title": group.title,
        "note": group.note,
        "tests": [[one.id, one.clause, one.before, one.after] for one in group.changes],
    }


def render_page(found: Comparison) -> str:
    """Returns one self-contained page."""
    context = {"found": found, "sections": SECTIONS, "shown": SHOWN, "names": NAMES}
    return page("diff.html.j2", context, comparison_document(found))


def _brief(number: int, group: Group, failing: bool) -> list[str]:
    note = f"; {escape(group.note, 300)}" if group.note else ""
    tests = text.count_words(len(group.tests), "test")
    lines = [f"{number}. **{escape(group.title, 160)}** ({tests}{note})"]
    if failing:
        lines.append(f"   {code(group.first.clause)}: {escape(difference_words(group.first), 300)}")
        lines.append("")
    lines += [f"   * {code(one)} {escape(words)}" for one, words in group.lines[:BRIEF_NAMES]]
    if len(group.lines) > BRIEF_NAMES:
        lines.append(f"   * and {len(group.lines) - BRIEF_NAMES} more")
    return lines


def render_summary(found: Comparison) -> str:
    """Returns Markdown for the page that a CI system shows of a job, or for a pull request."""
    lines = [
        f"## {MARKS.get(found.word, '❌')} {found.word.upper()}: {escape(found.headline)}", "",
        escape(found.lead, 500), "",
        *(f"* **{escape(problem)}**" for problem in found.problems), "",
        "| change | causes | tests |", "|---|---:|---:|",
    ]  # fmt: skip
    lines += [f"| {name} | {counted[0]} | {counted[1]} |" for name, counted in found.counts.items()]
    for name, groups in found.groups.items():
        if groups:
            lines += ["", f"### {SECTIONS[name][0]}", ""]
        for number, group in enumerate(groups[:BRIEF], 1):
            lines += _brief(number, group, name in ("new", "moved"))
        if len(groups) > BRIEF:
            lines.append(f"\nand {len(groups) - BRIEF} more")
    sides = (f"{side}: {view.stamp} {view.title_name}" for side, view in found.sides)
    return "\n".join([*lines, "", *(f"* {escape(one)}" for one in sides)]) + "\n"


def write_comparison(found: Comparison, folder: Path) -> dict[str, Path]:
    """Writes both; returns where they are. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"html": folder / PAGE, "markdown": folder / SUMMARY}
    write_file(paths["html"], render_page(found))
    write_file(paths["markdown"], render_summary(found))
    return paths


_DATA = re.compile(r'<script type="application/json" id="tbk-data">(.*?)</script>', re.DOTALL)
_COUNT = re.compile(r'data-section="(\w+)" data-causes="(\d+)" data-tests="(\d+)"')
_WORD = re.compile(r"<title>([A-Z ]+) ·")
_TITLE = re.compile(r'<h3 id="(\w+)-(\d+)-title">')
_ROW = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
_HEADING = re.compile(r"\A## \S+ ([A-Z ]+): ")
_CAUSE = re.compile(r"^\d+\. \*\*(.*?)\*\* \((?:[\d,]+) tests?", re.MULTILINE)


def lint_comparison(folder: Path) -> list[str]:
    """Returns where page and Markdown of a comparison disagree with the page's data, or cannot be
    read; nothing where there is no comparison in the folder."""
    if not (folder / PAGE).exists() and not (folder / SUMMARY).exists():
        return []
    try:
        shown, brief = (folder / PAGE).read_text("utf-8"), (folder / SUMMARY).read_text("utf-8")
        held = _DATA.search(shown)
        document = json.loads(held[1] if held else "")
        return [
            *_lint_document(document),
            *_lint_page(document, shown),
            *_lint_brief(document, brief),
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"the comparison cannot be read: {error}"]


def _lint_document(document: dict[str, Any]) -> list[str]:
    counted = {
        name: [len(groups), sum(len(group["tests"]) for group in groups)]
        for name, groups in document["groups"].items()
    }
    found = differ("diff counts", counted, document["counts"])
    clean = not counted["new"][0] and not counted["lost"][0]
    return found + differ("diff clean", clean, document["clean"])


def _lint_page(document: dict[str, Any], shown: str) -> list[str]:
    counts = {name: [int(causes), int(tests)] for name, causes, tests in _COUNT.findall(shown)}
    word = _WORD.search(shown)
    found = differ("diff page counts", document["counts"], counts)
    found += differ("diff page verdict", document["word"].upper(), word[1] if word else None)
    titles = [
        (name, str(number))
        for name, groups in document["groups"].items()
        for number in range(1, min(len(groups), SHOWN) + 1)
    ]
    return found + differ("diff page causes", titles, _TITLE.findall(shown))


def _lint_brief(document: dict[str, Any], brief: str) -> list[str]:
    counts = {name: [int(causes), int(tests)] for name, causes, tests in _ROW.findall(brief)}
    heading = _HEADING.match(brief)
    found = differ("diff markdown counts", document["counts"], counts)
    found += differ(
        "diff markdown verdict", document["word"].upper(), heading[1] if heading else None
    )
    titles = [
        escape(group["title"], 160)
        for groups in document["groups"].values()
        for group in groups[:BRIEF]
    ]
    return found + differ("diff markdown causes", titles, _CAUSE.findall(brief))
