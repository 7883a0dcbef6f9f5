# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the page of a run back and says where it disagrees with the JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from . import text
from .anchors import clause_anchor, test_anchor
from .document import judged_from_document
from .view import View


def differ(name: str, expected: object, seen: object) -> list[str]:
    if expected == seen:
        return []
    return [f"{name}: JSON says {short(expected)}, it says {short(seen)}"]


def short(value: object) -> str:
    return text.shorten(str(value), 200)


def next_operators(document: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["operator"], one["checks"]) for one in document["operators"]["next"]]


@dataclass
class _Page(HTMLParser):
    """The parts of the page that state a verdict."""

    data: str = ""
    visible: dict[str, int] = field(default_factory=dict)
    clauses: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    operators: dict[str, str] = field(default_factory=dict)
    next: list[tuple[str, int]] = field(default_factory=list)
    unlocks: list[tuple[str, int]] = field(default_factory=list)
    met: str = ""
    native: dict[str, list[int]] = field(default_factory=dict)
    areas: dict[str, tuple[str, bool]] = field(default_factory=dict)
    anchors: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    cells: list[tuple[str, str]] = field(default_factory=list)  # operator, and where a cell leads
    title: str = ""
    heading: str = ""
    _inside: str = ""
    _operator: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self._take_places(tag, named)
        if tag == "script" and named.get("id") == "tbk-data":
            self._inside = "data"
        elif tag in ("title", "h1"):
            self._inside = tag
        elif tag == "li" and "data-count" in named:
            self.visible[named["data-verdict"]] = int(named["data-count"])
        elif tag == "tr" and "data-clause" in named:
            self.clauses[named["data-clause"]] = named["data-state"]
        elif tag == "tr" and "data-operator" in named:
            self.operators[named["data-operator"]] = named["data-cells"]
        elif tag == "li" and "data-next" in named:
            self.next.append((named["data-next"], int(named["data-checks"])))
        elif tag == "li" and "data-unlock" in named:
            self.unlocks.append((named["data-unlock"], int(named["data-weight"])))
        elif tag == "p" and "data-met" in named:
            self.met = named["data-met"]
        elif tag == "td" and "data-native" in named:
            self.native[named["data-dtype"]] = [int(named["data-native"]), int(named["data-of"])]
        elif tag == "details" and "data-area" in named:
            self.areas[named["data-area"]] = (named["data-states"], "open" in named)
        elif tag == "div" and "data-test" in named:
            self.failures.append((named["data-test"], named["data-verdict"]))

    def _take_places(self, tag: str, named: dict[str, str]) -> None:
        """Where links lead, and what is there."""
        if "id" in named:
            self.anchors.append(named["id"])
        if tag == "tr":
            self._operator = named.get("data-operator", "")
        if tag == "a" and named.get("href", "").startswith("#"):
            self.links.append(named["href"][1:])
            if self._operator:
                self.cells.append((self._operator, self.links[-1]))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside == "title":
            self.title += data
        elif self._inside == "h1":
            self.heading += data


def _operator_rows(document: dict[str, Any]) -> dict[str, str]:
    """The matrix as the page's rows have it."""
    return {
        name: " ".join(f"{dtype}:{code}" for dtype, code in row.items())
        for name, row in document["operators"]["rows"].items()
    }


def lint_html(document: dict[str, Any], source: str) -> list[str]:
    page = _Page()
    page.feed(source)
    page.close()
    try:
        data = json.loads(page.data)
    except ValueError:
        return ["html: the embedded data cannot be read"]
    judged = judged_from_document(document)
    view = View(judged)
    states = {
        text.line(clause.id, 60): clause.state for area in view.areas for clause in area.clauses
    }
    failing = {(text.line(test.id, 400), test.verdict) for test in judged.tests if test.failed}
    warned = {(text.line(test.id, 400), test.verdict) for test in judged.tests if test.warns}
    tests = [[test.id, test.repeat, test.clause, test.verdict] for test in judged.tests]
    found = differ("html verdict", document["verdict"], data.get("verdict"))
    found += differ("html exit code", document["exit_code"], data.get("exit_code"))
    found += differ("html counts", document["counts"], data.get("counts"))
    found += differ("html shown counts", document["counts"], page.visible)
    found += differ("html problems", document["problems"], data.get("problems"))
    found += differ("html title", view.stamp, page.title.split(" · ")[0])
    found += differ("html tier", document["tier"], data.get("tier"))
    found += differ("html completeness", document["complete"], data.get("complete"))
    found += differ("html headline", view.headline, page.heading)
    found += differ("html notes", document["notes"], data.get("notes"))
    found += differ("html operators", _operator_rows(document), page.operators)
    told = document.get("share") or {"next": [], "met": None}
    unlocks = [(one["name"], len(one["clauses"]) + one["pairs"]) for one in told["next"]]
    found += differ("html profile", {True: "yes", False: "no"}.get(told["met"], ""), page.met)
    found += differ("html what to write next", unlocks, page.unlocks)
    found += differ("html next operators", next_operators(document), page.next)
    if tests != data.get("tests"):
        found.append("html: the embedded tests are not those of the JSON")
    found += differ("html native shares", document["operators"]["native"], page.native)
    found += differ("html areas", _areas(view), page.areas)
    found += _lint_places(page, view, data)
    found += differ("html clause states", states, page.clauses)
    found += [
        f"html: {test_id} is shown as {verdict}, which it is not"
        for test_id, verdict in page.failures
        if (test_id, verdict) not in failing | warned
    ]
    if failing and not failing & set(page.failures):
        found.append("html: no failure is shown")
    if warned and not warned & set(page.failures):
        found.append("html: no warning is shown")
    return found


def _areas(view: View) -> dict[str, tuple[str, bool]]:
    """Returns the strip of each area, and that it is open where something fails."""
    return {
        text.line(area.name, 40): (
            " ".join(f"{state}:{number}" for state, number in area.states.items()),
            area.fails,
        )
        for area in view.areas
    }


def _lint_places(page: _Page, view: View, data: dict[str, Any]) -> list[str]:
    """Every clause, cause and test has one anchor, and every link leads to what it says.

    A test has its anchor on the page or in the data, from which the page lists it when asked.
    """
    tests = view.judged.tests
    causes = {
        cause.anchor: sorted(test.key for test in cause.tests)
        for cause in (*view.causes, *view.warnings)
    }
    told = {
        anchor: sorted(tests[at].key for at in places)
        for anchor, places in data.get("causes", {}).items()
    }
    found = differ("html tests of causes", causes, told)
    found += [f"html: {short(one)} stands there twice" for one in _repeated(page.anchors)]
    clauses = {test.clause for test in tests if clause_anchor(test.clause)}
    missing = (clauses | set(causes)) - set(page.anchors)
    found += [f"html: there is no anchor {short(one)}" for one in sorted(missing)]
    known = set(page.anchors) | {test_anchor(test.id) for test in tests}
    found += [f"html: a link leads nowhere: {short(one)}" for one in page.links if one not in known]
    return found + _lint_cells(page, view)


def _repeated(names: list[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _lint_cells(page: _Page, view: View) -> list[str]:
    """The cells of operators that fail lead to the tests that say so."""
    rows = view.operators.rows
    expected = sorted(
        (row.name, test_anchor(cell.test))
        for row in rows
        for cell in row.cells.values()
        if cell.fails
    )
    return differ("html failing cells", expected, sorted(page.cells))
