# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What gates of a run's tests showed of orders that litmus programs did not show."""

from __future__ import annotations

from typing import Any

from tbk_reports.finding import Ordering
from tbk_reports.litmus import LAYER, ordering_of_tests
from tbk_reports.model import Test


def kind(name: str, clause: str, state: str) -> Test:
    edge = {"kind": name, "clause": clause, "text": name, "state": state, "why": "too few"}
    return Test(f"litmus/{name}", "not-shown", layer=LAYER, clause=clause, facts={"edge": edge})


def held(clause: str, **more: Any) -> Test:
    facts = {"verdict": "pass", "evidence": "proven", "gates": 2, **more}
    return Test(f"event/{clause}", layer="c", clause=clause, **facts)


def ordering(*tests: Test) -> Ordering:
    kinds = (kind("WAIT", "EVT-018", "not-shown"), kind("RECORD", "EVT-012", "proven"))
    found = ordering_of_tests([*kinds, *tests])
    assert found is not None
    return found


def test_what_gates_showed_is_told_beside_and_proves_nothing() -> None:
    found = ordering(held("EVT-018"), held("EVT-018"), held("EVT-012"))
    assert [edge.gate_words for edge in found.edges] == ["shown by gates: 2 tests", ""]
    assert [edge.state for edge in found.edges] == ["not-shown", "proven"]
    assert found.headline == "1 of 2 kinds of order shown by gates of tests, and 1 more proven"


def test_only_a_test_that_passed_behind_a_gate_counts() -> None:
    others = (
        held("EVT-018", gates=0), held("EVT-018", verdict="fail"), held("EVT-999"),
        held("EVT-018", evidence="trivial"), held("EVT-018", evidence="not-shown"),
    )  # fmt: skip
    found = ordering(*others)
    assert [edge.gate_words for edge in found.edges] == ["", ""]
    assert found.headline == "1 of 2 kinds of order proven"
