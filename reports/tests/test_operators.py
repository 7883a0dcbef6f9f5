# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest
import synthetic
from judged import judged
from tbk_reports.document import judged_document
from tbk_reports.html import render_html
from tbk_reports.lint import lint_reports
from tbk_reports.markdown import render_markdown
from tbk_reports.model import read_record
from tbk_reports.operators import (
    LETTERS,
    NEXT,
    ON_DEVICE,
    SERVED,
    SERVED_MEANING,
    Operators,
    operators,
    percent,
)
from tbk_reports.registry import FILES
from tbk_reports.render import write_reports
from tbk_reports.words import cause_of

WALL = judged(synthetic.wall())


def _of(*records: synthetic.Record) -> Operators:
    return operators(map(read_record, records))


def _served(index: int, served: str, verdict: str = "pass", **changes: object) -> synthetic.Record:
    made = synthetic.torch_case(index, verdict, **changes)
    return {**made, "facts": {**made["facts"], "served": served}}


def test_the_worst_of_several_tests_is_what_serves_a_dtype() -> None:
    found = _of(_served(0, "native"), _served(0, "fallback", "fail"), _served(1, "composite"))
    assert found.rows[0].code == "float32:fallback! float16:composite"
    assert found.served == {"composite": 1, "fallback": 1}


def test_each_dtype_tells_how_much_of_it_is_native() -> None:
    found = _of(_served(0, "native"), _served(8, "fallback"), _served(1, "native"))
    assert found.native == {"float32": (1, 2), "float16": (1, 1)}


def test_each_kind_of_kernel_of_the_device_counts_as_its_own() -> None:
    ways = ("named", "generic", "composed", "native", "composite", "fallback")
    found = _of(*(_served(8 * index, way) for index, way in enumerate(ways)))
    assert found.served == dict.fromkeys(
        ("native", "named", "generic", "composed", "composite", "fallback"), 1
    )
    assert sum(own for own, _ in found.native.values()) == 4
    assert not {one.name for one in found.next} & {
        row.name for row in found.rows if set(row.served) <= set(ON_DEVICE)
    }


def test_the_letters_of_all_ways_differ() -> None:
    assert set(LETTERS) == set(SERVED) == set(SERVED_MEANING)
    assert len(set(LETTERS.values())) == len(SERVED)
    assert [percent(*share) for share in ((0, 7), (7, 7), (1, 2), (1, 999), (998, 999))] == [
        "0 %", "100 %", "50 %", "1 %", "99 %",
    ]  # fmt: skip


def test_the_row_with_most_failures_comes_first_and_cells_lead_to_the_worst() -> None:
    found = _of(
        _served(0, "native"), _served(8, "fallback"), _served(16, "native", "fail"),
        _served(16, "native", "crash", id="torch_operators/worse"), _served(24, "missing"),
    )  # fmt: skip
    assert [row.name for row in found.worst_first] == ["op_002", "op_003", "op_001", "op_000"]
    assert found.worst_first[0].cells["float32"].test == "torch_operators/worse"


def test_the_next_operators_are_ranked_by_what_they_unlock() -> None:
    said = "NotImplementedError: Could not run 'aten::mul.out' with arguments from the backend"
    found = _of(
        _served(0, "fallback", checks=7),
        _served(8, "missing", checks=50),
        _served(16, "native", "fail", seen=said, checks=90),
        _served(24, "native", "fail", seen="The operator 'aten::mul.out' is not there", checks=5),
        _served(32, "native"),
    )
    assert [(one.name, one.served, one.checks, one.tests) for one in found.next] == [
        ("mul", "missing", 95, 2), ("op_001", "missing", 50, 1), ("op_000", "fallback", 7, 1),
    ]  # fmt: skip


def test_what_a_traced_script_calls_comes_first(tmp_path: Path) -> None:
    found = judged([_served(0, "fallback", checks=9), _served(8, "missing", checks=2)])
    traced = replace(found, trace={"op_001": 12, "elsewhere": 99})
    assert [one.name for one in operators(found.tests).next] == ["op_000", "op_001"]
    first, second = operators(traced.tests, traced.trace).next
    assert (first.name, first.calls, second.name, second.calls) == ("op_001", 12, "op_000", 0)
    assert first.words.endswith("; your script calls it 12 times")
    write_reports(traced, tmp_path)
    assert not lint_reports(tmp_path)


def test_what_waits_for_an_operator_is_counted() -> None:
    refused = _served(0, "refused", checks=1)
    refused["facts"] |= {"missing": ["aten::sort.stable"], "waiting": 42}
    gradient = _served(8, "", checks=1)  # it says nothing of who serves the operator
    gradient["facts"] |= {"missing": ["aten::sort_backward"], "waiting": 9}
    whole = _served(16, "native")
    assert [(one.name, one.served, one.checks) for one in _of(refused, gradient, whole).next] == [
        ("sort", "refused", 42), ("sort_backward", "missing", 9),
    ]  # fmt: skip


def test_a_fallback_is_that_of_the_operators_that_fell_back() -> None:
    made = _served(0, "fallback", checks=3)
    made["facts"]["fell_back"] = ["aten::sort.stable", "aten::sort", "aten::gather.out"]
    assert [(one.name, one.checks, one.tests) for one in _of(made).next] == [
        ("gather", 3, 1), ("sort", 3, 1),
    ]  # fmt: skip


def _cause(index: int, cause: str, **changes: str) -> str:
    return cause_of(read_record(synthetic.torch_case(index, "fail", cause=cause, **changes)))


def test_wrong_numbers_of_two_operators_are_two_causes() -> None:
    first, second, again = (_cause(index, "fail/judge.py/result/") for index in (0, 8, 1))
    assert first == again == "fail/judge.py/result/op_000"
    assert second == "fail/judge.py/result/op_001"


def test_one_exception_is_one_cause_whatever_was_called() -> None:
    said = "RuntimeError: {} has no float64 on device {}"
    first = _cause(0, "a", seen=said.format("op_000", 0), expected="a result")
    second = _cause(8, "b", seen=said.format("op_001", 1), expected="no exception")
    assert first == second == "raises/RuntimeError: the operator has no floatN on device N"
    wanted = _cause(0, "c", seen=said.format("op_000", 0), expected="ValueError")
    assert wanted == "c/op_000"


def test_there_are_at_most_ten() -> None:
    assert len(_of(*(_served(8 * index, "missing") for index in range(30))).next) == NEXT


def test_what_no_test_says_is_in_no_matrix() -> None:
    odd = {"operator": 7, "dtype": [], "served": "somehow"}
    assert not _of(synthetic.case(1), synthetic.torch_case(1, facts=odd))


def test_a_hostile_name_is_a_plain_one() -> None:
    facts = {"operator": "<b>`|x`", "dtype": "f\n", "served": "missing"}
    run = judged([synthetic.torch_case(1, facts=facts)])
    assert operators(run.tests).next[0].name == "_b___x_"
    assert "<b>`" not in render_html(run) + render_markdown(run)


def test_a_dispatch_key_without_kernels_is_one_cause_and_no_operator() -> None:
    said = "NotImplementedError: Could not run 'aten::{}' with arguments from the '{}' backend."
    key = "AutocastPrivateUse1"
    assert _cause(1, "a", seen=said.format("mm", key)) == f"missing/kernels for {key}"
    assert _cause(2, "b", seen=said.format("conv2d", key)) == f"missing/kernels for {key}"
    assert _cause(3, "c", seen=said.format("mm", "PrivateUse1")) == "missing/aten::mm"


def test_the_matrix_is_on_the_page_in_the_summary_and_in_the_document() -> None:
    page = lxml.html.document_fromstring(render_html(WALL).encode())
    rows = page.xpath("//tr[@data-operator]")
    assert len(rows) == len({test.facts["operator"] for test in WALL.tests}) == 1225
    assert {cell for row in rows for cell in row.xpath("./td/@class")} >= {"native", "fails"}
    failing = page.xpath("//tr[@data-operator]/td[@class='fails']/a")
    assert len(failing) == 8_000
    assert failing[0].get("href") == "#t-torch_operators/op_001[float32]"
    document = judged_document(WALL)["operators"]
    assert document["next"][0]["operator"] == "add"
    assert f"1. `add`: {document['next'][0]['checks']:,} checks" in render_markdown(WALL)


def test_a_wall_of_failures_is_four_lines_and_a_small_page() -> None:
    source = render_html(WALL)
    page = lxml.html.document_fromstring(source.encode())
    first = page.xpath("//ol[@class='fix']/li")
    assert len(first) == 4
    words = [item.text_content() for item in first]
    for said in ("SIGSEGV", "aten::add.out is missing (in 20 clauses)", "float64", "8 dimensions"):
        assert sum(said in one for one in words) == 1
    assert all("torch.op_" in one for one in words)  # a program each, without the suite
    verdict = page.xpath("//section[@class='verdict fail']")[0].text_content()
    assert "1,200 tests left out by the budget" in verdict
    assert len(source) < 2_000_000
    assert sum(1 for _ in page.iter()) < 40_000


# One small lie about operators, which a reader might believe.
LIES = [
    ("html", 'data-cells="float32:native!', 'data-cells="float32:native'),
    ("html", 'data-native="', 'data-native="1'),
    ("html", '<td class="fails"><a href="#t-', '<td class="fails"><a href="#t-x'),
    ("html", 'data-next="add" data-checks="', 'data-next="add" data-checks="1'),
    ("markdown", "1. `add`:", "1. `sub`:"),
    ("json", '"float32": "native!"', '"float32": "native"'),
]


@pytest.mark.parametrize(("name", "truth", "lie"), LIES)
def test_every_lie_is_found(name: str, truth: str, lie: str, tmp_path: Path) -> None:
    write_reports(judged(synthetic.wall(400, 500)), tmp_path)
    assert lint_reports(tmp_path) == []
    path = tmp_path / FILES[name]
    source = path.read_text("utf-8")
    assert truth in source
    path.write_text(source.replace(truth, lie, 1), "utf-8")
    assert lint_reports(tmp_path)


def test_the_document_can_be_read_back(tmp_path: Path) -> None:
    run = judged(synthetic.wall(40, 50), notes=("one",), baseline=({"cause": "x"},))
    write_reports(run, tmp_path)
    document = json.loads((tmp_path / FILES["json"]).read_text())
    assert document["notes"] == ["one"]
    assert document["tests"][0]["facts"]["operator"] == "op_000"
