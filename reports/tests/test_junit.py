# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from judged import hostile, judged
from lxml import etree
from tbk_reports.junit import child_name, render_junit
from tbk_reports.model import VERDICTS, Judged

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))


@pytest.mark.parametrize(
    "run",
    [
        judged(synthetic.passing()),
        judged(synthetic.failing()),
        judged(synthetic.every_verdict()),
        judged(synthetic.many()),
        judged([], problems=("no device",), exit_code=5),
        judged([], exit_code=3),
        hostile(),
    ],
    ids=["passing", "failing", "every", "many", "empty", "silent", "hostile"],
)
def test_the_schema_holds(run: Judged) -> None:
    root = etree.fromstring(render_junit(run).encode())
    SCHEMA.assertValid(root)
    assert int(root.get("tests", "")) == len(root.findall(".//testcase"))
    for name, attribute in (("failure", "failures"), ("error", "errors")):
        assert int(root.get(attribute, "")) == len(root.findall(f".//{name}"))
    green = not root.findall(".//failure") and not root.findall(".//error")
    assert green == (run.verdict == "pass")


def test_each_verdict_has_its_child() -> None:
    root = etree.fromstring(render_junit(judged(synthetic.every_verdict())).encode())
    cases = root.findall(".//testcase")[1:]
    assert [
        (case[0].tag if len(case) and case[0].tag != "system-out" else "") for case in cases
    ] == [child_name(record["verdict"]) for record in synthetic.every_verdict()]
    assert {child_name(verdict) for verdict in VERDICTS} == {"", "skipped", "failure", "error"}


def test_a_failure_can_be_understood_from_the_xml_alone() -> None:
    root = etree.fromstring(render_junit(judged(synthetic.failing())).encode())
    failure = root.find(".//failure")
    assert failure is not None
    for part in ("clause:", "expected:", "seen:", "replay: tbk-run"):
        assert part in (failure.text or "")


def test_a_run_without_tests_is_not_green() -> None:
    root = etree.fromstring(render_junit(judged([], exit_code=3)).encode())
    assert root.find(".//error") is not None
