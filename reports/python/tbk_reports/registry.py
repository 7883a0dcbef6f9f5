# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The reports of a run: a new one is a row here, and a function of the judged run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .badge import badge_of_run
from .document import judged_document
from .html import render_html
from .junit import render_junit
from .markdown import render_markdown
from .model import Judged
from .terminal import render_terminal

Links = Sequence[tuple[str, str]]  # name and address of pages to link


@dataclass(frozen=True)
class Report:
    """One file of the report folder."""

    name: str
    file: str
    holds: str
    render: Callable[[Judged, Links], str]


def _document(judged: Judged, _: Links) -> str:
    return json.dumps(judged_document(judged), indent=1, ensure_ascii=True) + "\n"


REPORTS = (
    Report("json", "judged.json", "the judged run, as data", _document),
    Report("html", "index.html", "the page, with everything in one file", render_html),
    Report("junit", "junit.xml", "JUnit XML, for CI systems", lambda run, _: render_junit(run)),
    Report(
        "markdown", "summary.md", "a summary for the page that a CI system shows of a job",
        lambda run, _: render_markdown(run),
    ),
    Report(
        "terminal", "terminal.txt", "what the terminal showed, for logs",
        lambda run, _: render_terminal(run),
    ),
    Report(
        "badge", "badge.svg", "a badge: the word, and of what it is",
        lambda run, _: badge_of_run(run).svg(),
    ),
    Report(
        "badge-json", "badge.json", "the same for the endpoint of shields.io",
        lambda run, _: badge_of_run(run).json(),
    ),
)  # fmt: skip
FILES = {report.name: report.file for report in REPORTS}
