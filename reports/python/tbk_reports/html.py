# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One self-contained page: style, script and data inline, and a policy that allows no more."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from . import text
from .anchors import area_anchor, clause_anchor, test_anchor
from .causes import Cause
from .extent import extent
from .facts import environment
from .finding import Finding
from .lanes import draw
from .litmus import is_litmus
from .model import VERDICTS, Judged, Test
from .operators import LETTERS, SERVED_MEANING, percent
from .template_cache import template_cache
from .timings import timings
from .view import View
from .words import (
    LEVELS,
    PHASE_WORDS,
    STATE_MEANING,
    STATES,
    blame_words,
    debug_words,
    difference_words,
    seen_words,
    state_words,
    stood_words,
)

OUTPUT_LIMIT = 2_000  # characters of one test's output
OUTPUT_BUDGET = 400_000  # characters of all outputs, after escaping
DETAIL_LIMIT = 150  # failures that are shown with everything there is about them
DETAIL_PER_CAUSE = 6
NAMES_PER_CAUSE = 60  # of the others; the page has all names in its data
FIRST_CAUSES = 5
TESTS_PER_CLAUSE = 4  # of the others, too, the page has all names in its data
SAID_LIMIT = 800
PROGRAM_LIMIT = 4_000
ORDER_PROGRAM_LIMIT = 16_000

# What a state looks like: the shape says as much as the colour.
TONES = {
    "pass": "good",
    "trivial": "quiet",
    "partly": "quiet",
    "not-shown": "quiet",
    "left-out": "quiet",
    "unsupported": "quiet",
    "warning": "warn",
    "xfail": "warn",
    "not-reached": "warn",
    "xpass": "bad",
}


def tone(state: str) -> str:
    return TONES.get(state, "bad")


def icon(state: str) -> str:
    return state if state in STATES else "fail"


CauseBlock = dict[str, Any]  # what a template needs of a cause


@dataclass
class _Budget:
    """What is left of the room for outputs, which causes and warnings share."""

    left: int = OUTPUT_BUDGET


def _resource(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text("utf-8")


def _source_hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def inert_json(value: object) -> Markup:
    """JSON that can stand inside a script element, whatever its strings hold."""
    encoded = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return Markup(encoded)  # noqa: S704 - every character with a meaning to HTML is escaped


def breaks(value: str) -> Markup:
    """Returns a long name that may break after an underscore or a slash."""
    escaped = str(Markup.escape(text.line(value, 160)))
    return Markup(escaped.replace("_", "_<wbr>").replace("/", "/<wbr>"))  # noqa: S704 - escaped


def ticks(value: str) -> Markup:
    """Returns a sentence in which what stands between backticks is code."""
    escaped = str(Markup.escape(value))
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped


@cache
def jinja_environment() -> jinja2.Environment:
    """Returns the one whose templates are compiled once; nobody changes it."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tbk_reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # what a filter makes of a constant is no part of a template that is kept
    )
    made.bytecode_cache = template_cache(made)
    made.filters.update(
        line=text.line,
        breaks=breaks,
        anchor=clause_anchor,
        test_anchor=test_anchor,
        area_anchor=area_anchor,
        ticks=ticks,
        time=text.time_words,
        size=text.bytes_words,
        words=state_words,
        tone=tone,
        icon=icon,
    )
    made.globals.update(
        count=text.count_words,
        difference_words=difference_words,
        blame_words=blame_words,
        debug_words=debug_words,
        seen_words=seen_words,
    )
    return made


def page(template: str, context: Mapping[str, Any], data: object) -> str:
    """Renders a template with the style, the script and the policy that fits them."""
    style, script = _resource("report.css"), _resource("report.js")
    policy = (
        f"default-src 'none'; style-src '{_source_hash(style)}'; "
        f"script-src '{_source_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    return (
        jinja_environment()
        .get_template(template)
        .render(
            **context,
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            policy=policy,
            data=inert_json(data),
        )
    )


def _output(test: Test, budget: _Budget) -> str:
    """Returns the tail of what the backend printed, as long as there is room on the page."""
    if not test.output:
        return ""
    shown = text.ends(test.output, OUTPUT_LIMIT)
    cost = len(str(Markup.escape(shown)))
    if cost > budget.left:
        return "(left out of this page for its size; it is in the result file)"
    budget.left -= cost
    return shown


_FILE = re.compile(r"reproducers/[A-Za-z0-9_.-]+\.py")


def file_of_report(path: str) -> str:
    """Returns the path of a file that a report writes beside itself; empty for any other."""
    return path if _FILE.fullmatch(path) else ""


def _detail(test: Test, budget: _Budget) -> dict[str, object]:
    return {
        "test": test,
        "expected": text.tail(test.expected, SAID_LIMIT),
        "seen": text.tail(seen_words(test), SAID_LIMIT),
        "output": _output(test, budget),
        "program": text.clean(test.program[:PROGRAM_LIMIT]),
        "source": text.clean(test.source[:PROGRAM_LIMIT]),
        "alone": file_of_report(test.alone),
        "stood": stood_words(test),
        "stack": text.clean(test.stack[:PROGRAM_LIMIT]),
        "phase": PHASE_WORDS.get(test.phase, text.line(test.phase, 40)),
    }


def _placed(blocks: Iterable[CauseBlock]) -> dict[tuple[str, int], str]:
    """Returns the anchors of the tests that a cause shows; of several runs the first has it."""
    anchors: dict[str, tuple[str, int]] = {}
    for block in blocks:
        for test in (*(detail["test"] for detail in block["details"]), *block["names"]):
            anchors.setdefault(test.id, test.key)
    return {key: test_anchor(test_id) for test_id, key in anchors.items()}


def _listed(view: View, elsewhere: set[str]) -> set[tuple[str, str]]:
    """Returns clause and test of those that have their anchor in the row of the clause."""
    homes: dict[str, str] = {}
    for area in view.areas:
        for clause in area.clauses:
            for test_id, _, _ in clause.tests[:TESTS_PER_CLAUSE]:
                homes.setdefault(test_id, clause.id)
    return {(clause, one) for one, clause in homes.items() if test_anchor(one) not in elsewhere}


def _program(cause: Cause) -> str:
    """Returns the shortest of those that the first tests bring."""
    found = [test.program for test in cause.tests[:50] if test.program]
    return min(found, key=len, default="")


def _cause_blocks(causes: Sequence[Cause], budget: _Budget) -> list[CauseBlock]:
    """Returns each cause with the details of its first tests; of many causes, of the first test
    alone."""
    blocks: list[CauseBlock] = []
    details = DETAIL_LIMIT
    for number, cause in enumerate(causes, 1):
        spare = details - (len(causes) - number)  # the later ones keep one each
        room = min(DETAIL_PER_CAUSE, max(spare, 1), details)
        detailed = cause.tests[:room]
        details -= len(detailed)
        blocks.append(
            {
                "cause": cause,
                "details": [_detail(test, budget) for test in detailed],
                "rest": cause.tests[room:],
                "names": cause.tests[room : room + NAMES_PER_CAUSE],
                "alone": next(filter(None, (file_of_report(t.alone) for t in cause.tests)), ""),
                "program": text.clean(_program(cause)[:PROGRAM_LIMIT]),
            }
        )
    return blocks


def embedded_data(judged: Judged, view: View) -> dict[str, object]:
    """Returns what the page carries for machines: every test with its verdict."""
    found = extent(judged)
    return {
        "format": 1,
        "verdict": judged.verdict,
        "exit_code": judged.exit_code,
        "tier": found.tier,
        "complete": not found.partial,
        "counts": judged.counts,
        "problems": list(judged.problems),
        "notes": list(judged.notes),
        "tests": [[test.id, test.repeat, test.clause, test.verdict] for test in judged.tests],
        "worst": VERDICTS,
        "tones": {verdict: tone(verdict) for verdict in judged.counts},
        "causes": _cause_places(judged, (*view.causes, *view.warnings)),
    }


def _cause_places(judged: Judged, causes: Sequence[Cause]) -> dict[str, list[int]]:
    """Returns for each cause where its tests stand among all."""
    places = {test.key: place for place, test in enumerate(judged.tests)}
    return {one.anchor: sorted(places[test.key] for test in one.tests) for one in causes}


def render_html(judged: Judged, coverage: Sequence[tuple[str, str]] = ()) -> str:
    """Returns the page. `coverage` holds (name, address) of coverage pages to link."""
    view, budget = View(judged), _Budget()
    states = [clause.state for area in view.areas for clause in area.clauses]
    levels = [clause.level for area in view.areas for clause in area.clauses]
    causes, warnings = _cause_blocks(view.causes, budget), _cause_blocks(view.warnings, budget)
    context = {
        "view": view,
        "judged": judged,
        "causes": causes,
        "warnings": warnings,
        "timings": timings(judged.tests),
        "order_blocks": _order_blocks(view),
        "about": environment(judged),
        "coverage": [(text.line(name, 80), address) for name, address in coverage],
        "states": [(state, states.count(state)) for state in STATES if state in states],
        "levels": [(level, levels.count(level)) for level in LEVELS if level in levels],
        "clause_count": len(states),
        "meaning": STATE_MEANING,
        "served_meaning": SERVED_MEANING,
        "letters": LETTERS,
        "percent": percent,
        "first_causes": FIRST_CAUSES,
        "tests_per_clause": TESTS_PER_CLAUSE,
        "placed": (placed := _placed((*causes, *warnings))),
        "listed": _listed(view, set(placed.values())),
    }
    return page("report.html.j2", context, embedded_data(judged, view))


def finding_block(finding: Finding, again: str, code: str, name: str) -> dict[str, object]:
    """Returns what a page shows of a finding of order: `again` is a command, `code` a program that
    is called `name`."""
    return {
        "finding": finding,
        "picture": Markup(draw(finding)),  # noqa: S704 - made of elements, by a serializer
        "again": text.line(again, 900),
        "code": text.clean(code[:ORDER_PROGRAM_LIMIT]),
        "code_name": name,
    }


def _order_blocks(view: View) -> list[dict[str, object]]:
    """Returns the findings of litmus programs; the test that fails by one brings its program."""
    found = view.ordering.findings if view.ordering else ()
    told = [test for test in view.judged.tests if is_litmus(test) and "finding" in test.facts]
    return [
        finding_block(finding, test.replay, test.program, "a C file")
        for finding, test in zip(found, told, strict=False)
    ]


def coverage_links(folder: Path, report_dir: Path) -> list[tuple[str, str]]:
    """Returns every index.html (or single page) below `folder`, seen from the report's own
    folder."""
    found = sorted(folder.glob("*/index.html")) + sorted(folder.glob("*.html"))
    links = []
    for path in found:
        name = path.parent.name if path.name == "index.html" else path.stem
        address = os.path.relpath(path.resolve(), report_dir.resolve()).replace(os.sep, "/")
        links.append((name if path.parent != folder else path.stem, address))
    return links
