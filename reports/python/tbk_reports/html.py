# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One self-contained page: style, script and data inline, and a policy that allows no more."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from . import text
from .causes import Cause
from .extent import extent
from .finding import Finding
from .lanes import draw
from .litmus import is_litmus
from .model import Judged, Test
from .operators import SERVED_MEANING
from .timings import timings
from .view import View
from .words import (
    GATE_WORDS,
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


_CLAUSE = re.compile(r"[A-Z]{3}-\d{3}")


def clause_anchor(clause: str) -> str:
    """The id of a clause is that of its row; what is no such id has no anchor."""
    return clause if _CLAUSE.fullmatch(clause) else ""


def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tbk_reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        line=text.line,
        breaks=breaks,
        anchor=clause_anchor,
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
        environment()
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


def _program(cause: Cause) -> str:
    """Returns the shortest of those that the first tests bring."""
    found = [test.program for test in cause.tests[:50] if test.program]
    return min(found, key=len, default="")


def _cause_blocks(causes: Sequence[Cause], budget: _Budget) -> list[dict[str, object]]:
    """Returns each cause with the details of its first tests; of many causes, of the first test
    alone."""
    blocks: list[dict[str, object]] = []
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


def _pairs(value: object) -> list[tuple[str, str]]:
    if not isinstance(value, Mapping):
        return []
    shown_elsewhere = ("unverified",)
    return [
        (text.line(str(key), 60), _plain(item))
        for key, item in value.items()
        if key not in shown_elsewhere
    ]


_RUN_WORDS = {"isolation": "processes", "seed": "seed of inputs", "repeat": "runs of each test"}


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(_plain(item) for item in value)
    return "" if value is None else text.line(str(value), 500)


def _environment(judged: Judged) -> dict[str, object]:
    found = _facts(judged.header)
    layers = judged.header.get("layers")
    torch = layers.get("torch") if isinstance(layers, Mapping) else None
    found["torch"] = _facts(torch) if isinstance(torch, Mapping) else None
    found["end"] = [
        (name, _plain(judged.footer.get(name)))
        for name in ("finished", "health", "digest", "reason")
        if judged.footer.get(name)
    ]
    return found


def _facts(header: Mapping[str, Any]) -> dict[str, object]:
    devices = header.get("devices")
    capabilities = header.get("capabilities")
    offered = capabilities if isinstance(capabilities, Mapping) else {}
    return {
        "backend": _pairs(header.get("backend")),
        "suite": _pairs(header.get("suite")),
        "spec": _pairs(header.get("spec")),
        "machine": _pairs(header.get("machine")),
        "devices": [_pairs(device) for device in devices] if isinstance(devices, list) else [],
        "declared": [text.line(str(key), 60) for key, value in offered.items() if value],
        "undeclared": [text.line(str(key), 60) for key, value in offered.items() if not value],
        "pytorch": _pairs(header.get("torch")),
        "command": _typed(header),
        "gate": GATE_WORDS.get(str(header.get("gate")), _plain(header.get("gate"))),
        "run": [
            (_RUN_WORDS.get(name, name), _plain(header.get(name)))
            for name in ("started", "tier", "isolation", "seed", "shuffle", "repeat", "shard")
            if header.get(name) not in (None, "", [])
        ],
    }


def _typed(header: Mapping[str, Any]) -> str:
    """Returns the command as a user typed it; of files that tbk-run alone wrote, that one."""
    typed = header.get("typed")
    words = typed if isinstance(typed, list) and typed else header.get("command")
    if not isinstance(words, list):
        return _plain(words)
    return text.line(shlex.join(str(word) for word in words), 900)


def embedded_data(judged: Judged) -> dict[str, object]:
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
    }


def render_html(judged: Judged, coverage: Sequence[tuple[str, str]] = ()) -> str:
    """Returns the page. `coverage` holds (name, address) of coverage pages to link."""
    view, budget = View(judged), _Budget()
    states = [clause.state for area in view.areas for clause in area.clauses]
    levels = [clause.level for area in view.areas for clause in area.clauses]
    context = {
        "view": view,
        "judged": judged,
        "causes": _cause_blocks(view.causes, budget),
        "warnings": _cause_blocks(view.warnings, budget),
        "timings": timings(judged.tests),
        "order_blocks": _order_blocks(view),
        "about": _environment(judged),
        "coverage": [(text.line(name, 80), address) for name, address in coverage],
        "states": [(state, states.count(state)) for state in STATES if state in states],
        "levels": [(level, levels.count(level)) for level in LEVELS if level in levels],
        "clause_count": len(states),
        "meaning": STATE_MEANING,
        "served_meaning": SERVED_MEANING,
        "first_causes": FIRST_CAUSES,
        "anchors_by_id": {
            test.id: cause.anchor
            for cause in (*view.causes, *view.warnings)
            for test in cause.tests
        },
    }
    return page("report.html.j2", context, embedded_data(judged))


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
