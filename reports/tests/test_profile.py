# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import synthetic
from judged import judged
from tbk_reports.document import judged_document, judged_from_document
from tbk_reports.lint import lint_reports
from tbk_reports.profile import Share, share
from tbk_reports.render import write_reports
from tbk_reports.terminal import render_terminal

ASKED = {"name": "inference", "text": "models run", "clauses": ["MEM-001", "STR-001", "EVT-001"],
         "operators": ["op_000", "op_001", "op_002"], "dtypes": ["float32"]}  # fmt: skip


def _case(clause: str, verdict: str = "pass", **changes: Any) -> synthetic.Record:
    return synthetic.case(0, verdict, clause=clause, id=f"a/{clause}{verdict}{changes}", **changes)


def _operator(name: str, dtype: str, served: str, **more: Any) -> synthetic.Record:
    facts = {"operator": name, "dtype": dtype, "served": served, **more}
    return synthetic.torch_case(0, id=f"torch_operators/{name}[{dtype}]", facts=facts)


def _share(records: list[synthetic.Record], **changes: Any) -> Share:
    found = share(replace(judged(records), profile={**ASKED, **changes}))
    assert found is not None
    return found


def test_a_run_that_was_asked_for_no_profile_says_nothing_of_one() -> None:
    assert share(judged(synthetic.passing())) is None


def test_all_that_is_asked_for_is_counted_and_nothing_else() -> None:
    found = _share(
        [_case("MEM-001"), _case("STR-001", "fail"), _case("CPY-001", "fail"),
         _operator("op_000", "float32", "native"), _operator("op_000", "int64", "missing"),
         _operator("op_001", "float32", "fallback", fell_back=["aten::exp.out"])]
    )  # fmt: skip
    assert list(found.clauses.values()) == [1, 1, 1]
    assert list(found.operators.values()) == [1, 1, 1]
    assert not found.met
    assert found.headline.startswith("inference is not met: 1 of 3 clauses hold (1 fail")


def test_it_is_met_where_all_of_it_is_shown() -> None:
    records = [_case(one) for one in ASKED["clauses"]]
    records += [_operator(one, "float32", "native") for one in ASKED["operators"]]
    assert _share(records).met
    assert not _share([*records, _case("MEM-001", "fail")]).met
    assert not _share(records[1:]).met


def test_functions_kernels_and_operators_are_ranked_by_what_waits_for_them() -> None:
    found = _share(
        [_case("MEM-001", "unsupported", needs_missing="stream"),
         _case("STR-001", "unsupported", needs_missing="stream"),
         _case("EVT-001", "unsupported", needs_missing="op:mm"),
         _case("EVT-001", "unsupported", needs_missing="two_devices"),
         _case("CPY-001", "unsupported", needs_missing="peer"),
         *(_operator(one, "float32", "fallback", fell_back=["aten::exp.out"])
           for one in (*ASKED["operators"], "op_009"))]
    )  # fmt: skip
    assert [(one.name, one.kind, one.weight) for one in found.next] == [
        ("aten::exp", "operator", 3), ("stream: streams", "function", 2), ("mm", "kernel", 1),
    ]  # fmt: skip


def test_all_operators_and_dtypes_are_those_that_the_run_knows() -> None:
    records = [_operator("op_000", "int64", "native"), _operator("x", "float32", "refused")]
    found = _share(records, operators=None, dtypes=None)
    assert list(found.operators.values()) == [1, 1, 0]


def test_all_reports_say_the_same(tmp_path: Path) -> None:
    records = [_case("MEM-001", "unsupported", needs_missing="stream"),
               _operator("op_001", "float32", "refused")]  # fmt: skip
    run = replace(judged(records), profile=ASKED)
    write_reports(run, tmp_path)
    assert lint_reports(tmp_path) == []
    assert "profile: inference is not met: 0 of 3 clauses" in render_terminal(run)
    assert judged_from_document(judged_document(run)).profile == ASKED
    page = tmp_path / "index.html"
    page.write_text(page.read_text().replace('data-met="no"', 'data-met="yes"'))
    assert any("profile" in one for one in lint_reports(tmp_path))
