# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The page of a litmus run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from . import text
from .finding import Ordering
from .html import finding_block, page


def lead(ordering: Ordering) -> str:
    """Returns what a reader of the headline wants to know next."""
    if ordering.findings:
        clauses = ordering.findings[0].clauses
        if not clauses:
            return "No clause of order explains it by itself: look at the last calls below."
        verb = "This clause is" if len(clauses) == 1 else "One of these clauses is"
        return f"{verb} broken: {', '.join(clauses)}."
    open_ones = [edge for edge in ordering.edges if edge.state != "proven"]
    if not open_ones:
        return "Nothing was found, and a fault of any kind would have been seen."
    return (
        f"Nothing was found. Of {text.count_words(len(open_ones), 'kind')} "
        "a fault might not have been seen: see below."
    )


def render_ordering(
    ordering: Ordering, subject: str, again: str = "", code: str = "", code_name: str = "litmus.c"
) -> str:
    """Returns the page. `again` is the command by which the finding was found, `code` the same
    program as a file that needs nothing of the suite."""
    name = text.line(Path(subject).name or subject, 80)
    blocks = [finding_block(one, again, code, code_name) for one in ordering.findings]
    context = {
        "ordering": ordering,
        "blocks": blocks,
        "subject": name,
        "stamp": "broken" if ordering.findings else "nothing found",
        "lead": lead(ordering),
    }
    return page("litmus.html.j2", context, asdict(ordering))
