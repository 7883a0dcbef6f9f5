# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the reports of one run back and says where any two of them disagree."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

from . import text
from .document import judged_from_document
from .extent import extent
from .junit import RUN_SUITE, case_names, child_name
from .lint_page import differ, lint_html, next_operators, short
from .markdown import CASE, case_head
from .model import HARMLESS
from .operators import operator_document, operators
from .registry import FILES
from .view import View
from .words import state_words


def lint_junit(document: dict[str, Any], source: str) -> list[str]:
    try:
        root = ET.fromstring(source)  # noqa: S314 - our own file
    except ET.ParseError as error:
        return [f"junit: {error}"]
    judged = judged_from_document(document)
    stated = {item.get("name", ""): item.get("value", "") for item in root.iterfind(".//property")}
    found = differ("junit verdict", document["verdict"], stated.get("tbk.verdict"))
    found += differ("junit exit code", str(document["exit_code"]), stated.get("tbk.exit_code"))
    found += differ("junit tier", document["tier"], stated.get("tbk.tier"))
    complete = "yes" if document["complete"] else "no"
    found += differ("junit completeness", complete, stated.get("tbk.complete"))
    counts = {
        name.removeprefix("tbk.count."): int(value)
        for name, value in stated.items()
        if name.startswith("tbk.count.")
    }
    found += differ("junit counts", document["counts"], counts)
    expected = Counter((*case_names(test), child_name(test.verdict)) for test in judged.tests)
    seen: Counter[tuple[str, str, str]] = Counter()
    for case in root.iter("testcase"):
        if case.get("classname") != RUN_SUITE:
            seen[(case.get("classname", ""), case.get("name", ""), _child(case))] += 1
    found += differ("junit cases", expected, seen)
    green = root.find(".//failure") is None and root.find(".//error") is None
    found += differ("junit green", document["verdict"] == "pass", green)
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
    found = differ("markdown verdict", stamp, heading[1] if heading else None)
    found += differ("markdown counts", document["counts"], rows)
    found += differ("markdown total", len(document["tests"]), total)
    unlocks = [(name, int(checks.replace(",", ""))) for name, checks in _NEXT.findall(source)]
    found += differ("markdown next operators", next_operators(document), unlocks)
    found += _markdown_cases(document, source)
    return found + differ("markdown exit code", [str(document["exit_code"])], exits[-1:])


def _markdown_cases(document: dict[str, Any], source: str) -> list[str]:
    failing = [test for test in judged_from_document(document).tests if test.failed]
    told = {case_head(test) for test in failing}
    shown = [row for row in source.splitlines() if row.startswith(CASE)]
    found = [
        f"markdown: {short(row.removeprefix(CASE))} is shown, which it is not"
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
    found = differ("terminal verdict", stamp, last.partition("  ")[0])
    if counts and tests not in last:
        found += differ("terminal counts", tests, last)
    failing = [test for test in judged_from_document(document).tests if test.failed]
    told, shown = {text.line(test.id, 400) for test in failing}, _TOLD.findall(source)
    found += [f"terminal: {name} is shown, and does not fail" for name in shown if name not in told]
    return found if shown or not failing else [*found, "terminal: no failure is shown"]


_BADGE = {"pass": "passes", "fail": "fails", "error": "no verdict"}


def lint_badge(document: dict[str, Any], svg: str, source: str) -> list[str]:
    """Compares the badges with the word, the tier and what takes from them."""
    said = json.loads(source)["message"]
    verdict, found = document["verdict"], extent(judged_from_document(document))
    words = said.split(", ")
    partial = verdict == "pass" and not document["complete"]
    result = differ("badge word", "partial" if partial else _BADGE[verdict], words[0])
    result += differ("badge simulated", found.simulated, "simulated" in words)
    if verdict != "error":
        result += differ("badge tier", document["tier"], words[1])
        result += differ("badge partial", not document["complete"], "partial" in words)
    name = ET.fromstring(svg).get("aria-label")  # noqa: S314 - our own file
    return result + differ("badge picture", f"tbk: {said}", name)


def lint_json(document: dict[str, Any]) -> list[str]:
    judged = judged_from_document(document)
    matrix = operator_document(operators(judged.tests, judged.trace))
    if matrix != document["operators"]:
        return ["json: the operators do not fit the tests"]
    again = extent(judged)
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
        badge, as_json = (folder / FILES[name] for name in ("badge", "badge-json"))
        found += lint_badge(document, badge.read_text("utf-8"), as_json.read_text("utf-8"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ET.ParseError) as error:
        return [f"the reports cannot be read: {error}"]
    return found
