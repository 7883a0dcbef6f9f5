# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What litmus programs of many nodes saw as one run, from synthetic records."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from tbk_harness.farm.programs import APART, PIECE_S, Asked
from tbk_harness.farm.together import Answer, Pairs, first_found, together
from tbk_harness.litmus_on_farm import share_words, tell

Record = dict[str, Any]


def _edge(kind: str = "WAIT", state: str = "proven", **more: Any) -> Record:
    return {
        "record": "litmus-edge", "kind": kind, "clause": "EVT-018", "text": "waits", "state": state,
        "why": "" if state == "proven" else f"because {state}", "tried": 100, "controls": 50,
        "shown": 20, "one_in": 9, "of_processes": [60, 12, 40, 8], **more,
    }  # fmt: skip


def _answer(number: int, node: str, *more: Record, code: int = 0) -> Answer:
    header = {"record": "litmus-header", "library": "/tmp/copy/liba.so", "seed": 1}
    footer = {
        "record": "litmus-footer", "programs": 900, "controls": 100, "processes": 2,
        "exit_code": code,
    }  # fmt: skip
    return Answer(number, node, (header, *more, footer), 1.5)


def _finding(index: int, *edges: str) -> Record:
    return {"record": "litmus-finding", "index": index, "edges": list(edges)}


class _Asked:
    """Answers as tbk-litmus does, with what is told of lines of processes and of nodes."""

    def __init__(self, processes: int = 40, nodes: int = 30, percent: int = 70) -> None:
        self.lines: list[tuple[int, Pairs]] = []
        self._told = [
            {"one_in": processes, "share_percent": 50, "share_one_in": 35},
            {"one_in": nodes, "share_percent": percent, "share_one_in": 7},
        ]

    def __call__(self, lines: Sequence[tuple[int, Pairs]]) -> list[Record]:
        self.lines = list(lines)
        return [self._told[at % 2] for at in range(len(lines))]


def _together(answers: Sequence[Answer], asked: _Asked | None = None) -> list[Record]:
    end = {"exit_code": 0, "reason": "", "milliseconds": 9}
    found = together(answers, {"library": "./liba.so", "farm": {}}, end, asked or _Asked())
    return [dict(one) for one in found]


def test_counts_are_added_up_and_processes_stay_apart() -> None:
    asked = _Asked()
    parts = [_answer(1, "b", _edge()), _answer(0, "a", _edge(tried=50)), _answer(2, "a", _edge())]
    header, edge, footer = _together(parts, asked)
    assert header["library"] == "./liba.so"
    assert header["nodes"]["a"] == {"parts": 2, "programs": 2000, "findings": 0, "seconds": 3.0}
    assert (edge["tried"], edge["controls"], edge["shown"]) == (250, 150, 60)
    assert footer["programs"] == 2700
    assert footer["processes"] == 6
    of_processes, of_nodes = asked.lines
    assert of_processes == (3000, [(60, 12), (40, 8)] * 3)
    assert of_nodes == (3000, [(150, 40), (100, 20)])


def test_the_worse_of_both_ways_to_count_is_said() -> None:
    _, edge, _ = _together([_answer(0, "a", _edge()), _answer(1, "b", _edge())])
    assert edge["one_in"] == 30
    assert edge["share_one_in"] == 30
    assert (edge["node_percent"], edge["node_one_in"]) == (70, 7)


def test_one_node_is_no_sample_of_nodes() -> None:
    _, edge, _ = _together([_answer(0, "a", _edge()), _answer(1, "a", _edge())])
    assert edge["one_in"] == 40
    assert "node_percent" not in edge


def test_the_finding_is_of_the_least_part_whichever_came_first() -> None:
    late = _answer(5, "b", _finding(500, "WAIT"), _edge(), code=1)
    early = _answer(2, "a", _finding(200, "STREAM"), _edge(), _edge("STREAM"), code=1)
    assert first_found([late, early]) is early
    records = _together([late, early, _answer(0, "c", _edge())])
    (found,) = (one for one in records if one["record"] == "litmus-finding")
    assert (found["index"], found["node"]) == (200, "a")
    states = {one["kind"]: one["state"] for one in records if one["record"] == "litmus-edge"}
    assert states == {"WAIT": "proven", "STREAM": "broken"}
    assert records[0]["nodes"]["b"]["findings"] == 1


@pytest.mark.parametrize(
    ("edges", "state", "why"),
    [
        ((_edge("W", "trivial", shown=0), _edge("W", "trivial", shown=0)), "trivial", "because tr"),
        (
            (_edge("W", "trivial", shown=0), _edge("W", "not-shown", shown=0)),
            "not-shown",
            "because",
        ),
        ((_edge("W", "trivial", shown=0), _edge("W", "not-shown")), "not-shown", "too few"),
        ((_edge("W"), _edge("W", "not-shown", shown=0)), "not-shown", "the nodes are too far"),
    ],
)
def test_what_is_not_proven_together_says_why(
    edges: tuple[Record, Record], state: str, why: str
) -> None:
    parts = [_answer(at, f"node-{at}", edge) for at, edge in enumerate(edges)]
    _, edge, _ = _together(parts, _Asked(processes=40, nodes=0))
    assert edge["state"] == state
    assert edge["why"].startswith(why)


def test_a_kind_that_some_nodes_lack_counts_where_it_is() -> None:
    asked = _Asked()
    _together([_answer(0, "a", _edge(), _edge("PEER")), _answer(1, "b", _edge())], asked)
    assert [programs for programs, _ in asked.lines] == [2000, 2000, 1000, 1000]


def test_nodes_are_told_with_what_they_found() -> None:
    parts = [_answer(0, "rack-1", _edge()), _answer(1, "rack-2", _finding(9), _edge(), code=1)]
    header, *rest = _together(parts)
    header["farm"] = {"lost": ["rack-3"]}
    console = Console(width=200, record=True, file=StringIO())
    tell([header, *rest], console)
    assert console.export_text().splitlines() == [
        "of 2 nodes: a fault that 70 % of them have, in all of their processes, would have been"
        " seen, too",
        "  rack-1: 1,000 programs in 1 part",
        "  rack-2: 1,000 programs in 1 part, 1 finding",
        "  went away, and what was lost with it was run again: rack-3",
    ]
    tell([{"record": "litmus-header"}], console)
    assert console.export_text() == ""


def test_parts_have_programs_of_their_own() -> None:
    asked = Asked(("--seed=1",), "", "", "litmus.c", seconds=60, first=10, programs=100)
    ranges = [asked.part(number, 3)[-2:] for number in range(3)]
    assert ranges == [
        ["--first=10", "--programs=33"], ["--first=43", "--programs=33"],
        ["--first=76", "--programs=34"],
    ]  # fmt: skip
    assert asked.rounds == 1
    night = Asked((), "", "", "litmus.c", seconds=8 * 3600, first=10)
    assert night.rounds * PIECE_S == 8 * 3600
    assert night.part(3, 40) == ["--seconds=300", f"--first={10 + 3 * APART}"]


@pytest.mark.parametrize(
    ("percents", "said"), [((100,), ""), ((70, 70), "70 %"), ((70, 81), "70 to 81 %")]
)
def test_shares_of_nodes_in_words(percents: tuple[int, ...], said: str) -> None:
    edges = [_edge(node_percent=one) for one in percents]
    assert share_words(edges).startswith(f"a fault that {said}" if said else "")
    assert bool(share_words(edges)) == bool(said)
