# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tbk trace makes of what a script asked for, and what is made of its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tbk_harness.traced import Traced, TraceError, calls_by_operator, trace_of

Row = tuple[str, str, str, int]
ROWS: tuple[Row, ...] = (
    ("aten::add.Tensor", "float32", "named", 40),
    ("aten::add_.Tensor", "float32", "named", 2),
    ("aten::exp.out", "float16", "fallback", 1),
    ("aten::exp", "float32", "fallback", 5),
    ("aten::exp", "bfloat16", "generic", 3),
    ("acme::turn.x", "", "missing", 1),
)


def traced(*rows: Row) -> Traced:
    needs = [dict(zip(("operator", "dtype", "served", "calls"), row, strict=True)) for row in rows]
    seen = {"device": "acme", "version": "1", "pytorch": "2", "counts": True, "needs": needs}
    return trace_of(seen)


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_overloads_that_are_served_in_one_way_are_one_operator() -> None:
    told = [(one.name, one.served, one.calls, one.dtypes) for one in traced(*ROWS).operators]
    assert told == [
        ("acme::turn", "missing", 1, ()),
        ("exp", "fallback", 6, ("float32", "float16")),
        ("add", "named", 40, ("float32",)),
        ("exp", "generic", 3, ("bfloat16",)),
        ("add_", "named", 2, ("float32",)),
    ]


def test_the_sentence_counts_operators_and_calls() -> None:
    assert traced(*ROWS).headline == (
        "the script asks acme for 4 operators; 2 of them, in 7 calls, it does not compute"
    )
    assert traced(ROWS[0]).headline.endswith("for 1 operator, and it computes them all")
    assert "does the script choose it?" in traced().headline


def test_the_calls_of_all_ways_are_read_back(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.json", traced(*ROWS).document())
    assert calls_by_operator(path) == {"acme::turn": 1, "exp": 9, "add": 40, "add_": 2}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"tbk_trace": 2, "operators": []},
        {"tbk_trace": 1, "operators": {"add": 1}},
        {"tbk_trace": 1, "operators": [{"operator": "add"}]},
        {"tbk_trace": 1, "operators": [{"operator": "add", "calls": "many"}]},
        {"tbk_trace": 1, "operators": [{"operator": ["add"], "calls": 1}]},
        {"tbk_trace": 1, "operators": [{"operator": "add", "calls": float("nan")}]},
        {"tbk_trace": 1, "operators": [{"operator": "add", "calls": -1}]},
    ],
)  # fmt: skip
def test_what_is_no_trace_is_told_in_one_line(document: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "trace.json", document)
    with pytest.raises(TraceError, match=r"trace\.json is ") as told:
        calls_by_operator(path)
    assert "\n" not in str(told.value)


def test_what_is_torn_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    whole = json.dumps(traced(*ROWS).document()).encode()
    for torn in (b"", whole[: len(whole) // 2], whole.replace(b"add", b"\xff"), b"[" * 100_000):
        path.write_bytes(torn)
        with pytest.raises(TraceError, match="is no trace"):
            calls_by_operator(path)
