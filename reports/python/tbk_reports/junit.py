# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""JUnit XML as CI systems read it: real failure, error and skipped children."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

from . import text
from .model import Judged, Test
from .view import View
from .words import blame_words, seen_words, sentence, stood_words

ERRORS = frozenset({"crash", "hang", "poisoned", "not-reached", "suite-error"})
SKIPS = frozenset({"unsupported", "not-shown", "left-out", "warning", "xfail"})
RUN_SUITE = "tbk.run"
OUTPUT_LIMIT = 4_096


def child_name(verdict: str) -> str:
    """Returns the element that says what became of a test; empty for a pass."""
    if verdict == "pass":
        return ""
    if verdict in SKIPS:
        return "skipped"
    return "error" if verdict in ERRORS else "failure"


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f}"  # the schema of Jenkins takes no more digits


def _cost(test: Test) -> int:
    return test.wall_ns or test.duration_ns


def _message(test: Test) -> str:
    if test.verdict == "unsupported":
        return f"not declared: {test.needs_missing or 'what it needs'}"
    if test.verdict == "not-shown":
        return f"not shown: {test.evidence_reason or 'no reason given'}"
    if test.verdict == "left-out":
        return "left out: the budget was spent"
    if test.verdict == "xfail":
        return f"known: {test.waiver}"
    return sentence(test)


def _body(test: Test) -> str:
    parts = (
        ("clause", f"{test.clause} ({test.level}) {test.clause_text}"),
        ("source", test.clause_source),
        ("expected", test.expected),
        ("seen", seen_words(test)),
        ("where", f"{test.where} {test.what}".strip()),
        ("stack", test.stack) if test.stack else stood_words(test),
        ("blame", blame_words(test)),
        ("waiver", test.waiver),
        ("replay", test.replay),
        ("without the suite", test.alone),
        ("without the suite", test.program),
        ("the test's source", test.source),
    )
    return "\n".join(f"{name}: {text.clean(value)}" for name, value in parts if value.strip())


def case_names(test: Test) -> tuple[str, str]:
    """Returns the class and the name by which a CI system knows a test."""
    name = test.id.partition("/")[2] or test.id
    if test.repeat:
        name += f" [repeat {test.repeat}]"
    return text.line(test.suite, 200), text.line(name, 200)


def _test_case(parent: ET.Element, test: Test) -> None:
    suite, name = case_names(test)
    case = ET.SubElement(parent, "testcase", classname=suite, name=name, time=_seconds(_cost(test)))
    child = child_name(test.verdict)
    if child == "skipped":
        ET.SubElement(case, child, message=text.line(_message(test), 500))
    elif child:
        found = ET.SubElement(
            case, child, message=text.line(_message(test), 500), type=f"tbk.{test.verdict}"
        )
        found.text = _body(test)
    if test.output:
        ET.SubElement(case, "system-out").text = text.ends(test.output, OUTPUT_LIMIT)


def _counts(tests: Iterable[Test]) -> dict[str, str]:
    children = [child_name(test.verdict) for test in tests]
    return {
        "tests": str(len(children)),
        "failures": str(children.count("failure")),
        "errors": str(children.count("error")),
        "skipped": str(children.count("skipped")),
    }


def _properties(suite: ET.Element, judged: Judged) -> None:
    view = View(judged)
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("tbk.verdict", judged.verdict),
        ("tbk.exit_code", str(judged.exit_code)),
        ("tbk.tier", view.extent.tier),
        ("tbk.complete", "no" if view.extent.partial else "yes"),
        *(("tbk.missing", words) for words in view.extent.missing),
        *([("tbk.simulated", view.simulated_words)] if view.simulated_words else ()),
        *(("tbk.unverified", said) for said in view.unverified),
        ("tbk.headline", view.headline),
        ("tbk.backend", view.title_name),
        *(("tbk.driver", words) for words in view.drivers),
        *((f"tbk.count.{verdict}", str(count)) for verdict, count in view.counts.items()),
    ):
        ET.SubElement(properties, "property", name=name, value=value)


def _run_suite(root: ET.Element, judged: Judged) -> int:
    """Returns one test case for the run itself, so that a run without tests is not green."""
    problems = [text.line(problem, 500) for problem in judged.problems]
    if judged.verdict == "error" and not problems:
        problems = [View(judged).lead]
    suite = ET.SubElement(
        root,
        "testsuite",
        name=RUN_SUITE,
        tests="1",
        failures="0",
        errors=str(int(bool(problems))),
        skipped="0",
        time="0.000",
    )
    _properties(suite, judged)
    case = ET.SubElement(suite, "testcase", classname=RUN_SUITE, name="run", time="0.000")
    if problems:
        found = ET.SubElement(case, "error", message=problems[0], type="tbk.run")
        found.text = "\n".join(problems)
    return int(bool(problems))


def render_junit(judged: Judged) -> str:
    suites: dict[str, list[Test]] = {}
    for test in judged.tests:
        suites.setdefault(test.suite, []).append(test)
    root = ET.Element("testsuites", name="tbk")
    problems = _run_suite(root, judged)
    started = str(judged.header.get("started") or "")[:19]
    for name, tests in suites.items():
        suite = ET.SubElement(root, "testsuite", name=text.line(name, 200), attrib=_counts(tests))
        suite.set("time", _seconds(sum(map(_cost, tests))))
        if len(started) == 19 and started.isascii():
            suite.set("timestamp", started)
        for test in tests:
            _test_case(suite, test)
    totals = _counts(judged.tests)
    root.set("tests", str(len(judged.tests) + 1))
    root.set("failures", totals["failures"])
    root.set("errors", str(int(totals["errors"]) + problems))
    root.set("time", _seconds(sum(map(_cost, judged.tests))))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"
