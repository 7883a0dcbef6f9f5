# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the reports of one run back and says where any two of them disagree."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from . import text
from .document import judged_from_document
from .extent import extent
from .junit import RUN_SUITE, case_names, child_name
from .markdown import CASE, case_head
from .model import HARMLESS
from .operators import operator_document, operators
from .registry import FILES
from .view import View
from .words import state_words


@dataclass
class _Page(HTMLParser):
    """The parts of the page that state a verdict."""

    data: str = ""
    visible: dict[str, int] = field(default_factory=dict)
    clauses: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    operators: dict[str, str] = field(default_factory=dict)
    next: list[tuple[str, int]] = field(default_factory=list)
    title: str = ""
    heading: str = ""
    _inside: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
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
        elif tag == "div" and "data-test" in named:
            self.failures.append((named["data-test"], named["data-verdict"]))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside == "title":
            self.title += data
        elif self._inside == "h1":
            self.heading += data


def _differ(name: str, expected: object, seen: object) -> list[str]:
    if expected == seen:
        return []
    return [f"{name}: JSON says {_short(expected)}, it says {_short(seen)}"]


def _short(value: object) -> str:
    return text.shorten(str(value), 200)


def _operator_rows(document: dict[str, Any]) -> dict[str, str]:
    """The matrix as the page's rows have it."""
    return {
        name: " ".join(f"{dtype}:{code}" for dtype, code in row.items())
        for name, row in document["operators"]["rows"].items()
    }


def _next(document: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["operator"], one["checks"]) for one in document["operators"]["next"]]


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
    found = _differ("html verdict", document["verdict"], data.get("verdict"))
    found += _differ("html exit code", document["exit_code"], data.get("exit_code"))
    found += _differ("html counts", document["counts"], data.get("counts"))
    found += _differ("html shown counts", document["counts"], page.visible)
    found += _differ("html problems", document["problems"], data.get("problems"))
    found += _differ("html title", view.stamp, page.title.split(" · ")[0])
    found += _differ("html tier", document["tier"], data.get("tier"))
    found += _differ("html completeness", document["complete"], data.get("complete"))
    found += _differ("html headline", view.headline, page.heading)
    found += _differ("html notes", document["notes"], data.get("notes"))
    found += _differ("html operators", _operator_rows(document), page.operators)
    found += _differ("html next operators", _next(document), page.next)
    if tests != data.get("tests"):
        found.append("html: the embedded tests are not those of the JSON")
    found += _differ("html clause states", states, page.clauses)
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


def lint_junit(document: dict[str, Any], source: str) -> list[str]:
    try:
        root = ET.fromstring(source)  # noqa: S314 - our own file
    except ET.ParseError as error:
        return [f"junit: {error}"]
    judged = judged_from_document(document)
    stated = {item.get("name", ""): item.get("value", "") for item in root.iterfind(".//property")}
    found = _differ("junit verdict", document["verdict"], stated.get("tbk.verdict"))
    found += _differ("junit exit code", str(document["exit_code"]), stated.get("tbk.exit_code"))
    found += _differ("junit tier", document["tier"], stated.get("tbk.tier"))
    complete = "yes" if document["complete"] else "no"
    found += _differ("junit completeness", complete, stated.get("tbk.complete"))
    counts = {
        name.removeprefix("tbk.count."): int(value)
        for name, value in stated.items()
        if name.startswith("tbk.count.")
    }
    found += _differ("junit counts", document["counts"], counts)
    expected = Counter((*case_names(test), child_name(test.verdict)) for test in judged.tests)
    seen: Counter[tuple[str, str, str]] = Counter()
    for case in root.iter("testcase"):
        if case.get("classname") != RUN_SUITE:
            seen[(case.get("classname", ""), case.get("name", ""), _child(case))] += 1
    found += _differ("junit cases", expected, seen)
    green = root.find(".//failure") is None and root.find(".//error") is None
    found += _differ("junit green", document["verdict"] == "pass", green)
    return found + _junit_sums(root)


def _child(case: ET.Element) -> str:
    for name in ("error", "failure", "skipped"):
        if case.find(name) is not None:
            return name
    return ""


def _junit_sums(root: ET.Element) -> list[str]:
    found = []
    whole = Counter(_child(case) for case in root.iter("testcase"))
    for attribute, name in (("failures", "failure"), ("errors", "error")):
        if root.get(attribute) != str(whole[name]):
            found.append(f"junit: the whole states {root.get(attribute)} {attribute}")
    for suite in root.iterfind("testsuite"):
        children = Counter(_child(case) for case in suite.iterfind("testcase"))
        for attribute, name in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            stated = suite.get(attribute)
            if stated != str(children[name]):
                found.append(f"junit: {suite.get('name')} states {stated} {attribute}")
        if suite.get("tests") != str(sum(children.values())):
            found.append(f"junit: {suite.get('name')} states {suite.get('tests')} tests")
    return found


_ROW = re.compile(r"^\| ([a-z-]+) \| (\d+) \|$", re.MULTILINE)
_HEADING = re.compile(r"\A## \S+ ([A-Z]+(?: \([a-z, ]+\))?): ")
_NEXT = re.compile(r"^\d+\. `([^`]+)`: ([\d,]+) check", re.MULTILINE)
_EXIT = re.compile(r"^Exit code (\d+)\.$", re.MULTILINE)


def lint_markdown(document: dict[str, Any], source: str) -> list[str]:
    heading = _HEADING.match(source)
    rows = {name: int(count) for name, count in _ROW.findall(source)}
    total = rows.pop("all", None)
    exits = _EXIT.findall(source)
    stamp = View(judged_from_document(document)).stamp
    found = _differ("markdown verdict", stamp, heading[1] if heading else None)
    found += _differ("markdown counts", document["counts"], rows)
    found += _differ("markdown total", len(document["tests"]), total)
    unlocks = [(name, int(checks.replace(",", ""))) for name, checks in _NEXT.findall(source)]
    found += _differ("markdown next operators", _next(document), unlocks)
    found += _markdown_cases(document, source)
    return found + _differ("markdown exit code", [str(document["exit_code"])], exits[-1:])


def _markdown_cases(document: dict[str, Any], source: str) -> list[str]:
    failing = [test for test in judged_from_document(document).tests if test.failed]
    told = {case_head(test) for test in failing}
    shown = [row for row in source.splitlines() if row.startswith(CASE)]
    found = [
        f"markdown: {_short(row.removeprefix(CASE))} is shown, which it is not"
        for row in shown
        if row not in told
    ]
    return found if shown or not failing else [*found, "markdown: no failure is shown"]


_TOLD = re.compile(r"^     test +(\S.*)$", re.MULTILINE)


def lint_terminal(document: dict[str, Any], source: str) -> list[str]:
    lines = source.splitlines()
    last, counts = lines[-1] if lines else "", document["counts"]
    counted = ", ".join(f"{count:,} {state_words(verdict)}" for verdict, count in counts.items())
    tests = f": {text.count_words(len(document['tests']), 'test')} ({counted})"
    stamp = View(judged_from_document(document)).stamp
    found = _differ("terminal verdict", stamp, last.partition("  ")[0])
    if counts and tests not in last:
        found += _differ("terminal counts", tests, last)
    failing = [test for test in judged_from_document(document).tests if test.failed]
    told, shown = {text.line(test.id, 400) for test in failing}, _TOLD.findall(source)
    found += [f"terminal: {name} is shown, and does not fail" for name in shown if name not in told]
    return found if shown or not failing else [*found, "terminal: no failure is shown"]


def lint_json(document: dict[str, Any]) -> list[str]:
    matrix = operator_document(operators(judged_from_document(document).tests))
    if matrix != document["operators"]:
        return ["json: the operators do not fit the tests"]
    again = extent(judged_from_document(document))
    if (again.tier, not again.partial) != (document["tier"], document["complete"]):
        return ["json: tier or completeness do not fit the header and the tests"]
    counts = dict(Counter(test.get("verdict") for test in document["tests"]))
    found = [] if counts == document["counts"] else ["json: the counts do not fit the tests"]
    failing = [name for name in counts if name not in HARMLESS]
    if document["verdict"] == "pass" and (failing or document["problems"]):
        found.append(f"json: a pass with {', '.join(map(str, failing)) or 'problems'}")
    if (document["exit_code"] == 0) != (document["verdict"] == "pass"):
        found.append(f"json: {document['verdict']} with exit code {document['exit_code']}")
    return found


def lint_reports(folder: Path) -> list[str]:
    """Returns all disagreements between the reports in `folder`; empty when they say the same."""
    try:
        document = json.loads((folder / FILES["json"]).read_text("utf-8"))
        found = lint_json(document)
        found += lint_html(document, (folder / FILES["html"]).read_text("utf-8"))
        found += lint_junit(document, (folder / FILES["junit"]).read_text("utf-8"))
        found += lint_markdown(document, (folder / FILES["markdown"]).read_text("utf-8"))
        found += lint_terminal(document, (folder / FILES["terminal"]).read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"the reports cannot be read: {error}"]
    return found
