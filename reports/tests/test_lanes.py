# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a finding: its lanes, its arrows, and the read that was wrong."""

from __future__ import annotations

import itertools
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tbk_reports.finding import Finding, finding_of, ordering_of
from tbk_reports.lanes import draw, layout, route
from tbk_reports.ordering import render_ordering

# A wait on another stream does nothing: the copy reads before the fill has run.
RECORD: dict[str, Any] = {
    "record": "litmus-finding",
    "outcome": "wrong",
    "call": -1,
    "message": "",
    "clauses": ["STR-001", "EVT-012", "EVT-018"],
    "size_bytes": 1,
    "program": [
        "fill(m5, 0x20, s3)", "event_record(e3, s3)", "event_wait(s1, e3)",
        "copy(m4, m5, s1)", "download(host7, m4, s1)", "stream_synchronize(s1)",
        "host reads host7",
    ],
    "lanes": ["s3", "s3", "s1", "s1", "s1", "host", "host"],
    "chain": [
        {"from": 0, "to": 1, "kind": "RECORD", "clause": "EVT-012", "text": "a record"},
        {"from": 1, "to": 2, "kind": "WAIT", "clause": "EVT-018", "text": "a wait"},
        {"from": 2, "to": 3, "kind": "STREAM", "clause": "STR-001", "text": "a stream"},
    ],
    "read": 6, "wrote": -1, "over": 0, "moved": [3, 4],
    "reason": ["host reads host7: host7 holds 0x06 at byte 0; legal: 0x20"],
    "seed": 1, "index": 4, "calls_before": 30, "shown": 20, "replays": 20, "repeats": 1,
}  # fmt: skip


def picture(**changes: Any) -> ET.Element:
    return ET.fromstring(draw(finding_of({**RECORD, **changes})))  # noqa: S314 - our own


def groups(root: ET.Element, looks: str) -> list[ET.Element]:
    return [one for one in root.iter("g") if looks in (one.get("class") or "").split()]


def words(element: ET.Element) -> str:
    return " ".join(one.text or "" for one in element.iter("text"))


def test_there_is_a_lane_for_the_host_and_for_each_stream() -> None:
    lanes = [one.get("data-lane") for one in groups(picture(), "lane")]
    assert lanes == ["host", "s1", "s3"]
    threads = [one.get("data-lane") for one in groups(picture(lanes=["host 1", "host 2"]), "lane")]
    assert threads == ["host", "host 1", "host 2"]


def test_there_is_no_empty_lane_for_the_host() -> None:
    drawn = picture(lanes=["s1"] * len(RECORD["program"]))
    assert [one.get("data-lane") for one in groups(drawn, "lane")] == ["s1"]


def test_lines_of_a_reason_stay_as_deep_as_they_are() -> None:
    deep = ["it is", "    fill(m5)", "      before [STR-001: a stream]", " " * 90 + "\x1b[1mx"]
    told = finding_of({**RECORD, "reason": deep}).reason
    assert told == (*deep[:3], " " * 8 + "x")


def test_a_finding_that_was_not_run_again_says_so() -> None:
    assert "not run again at its final size" in finding_of({**RECORD, "replays": 0}).frequency
    unknown = {name: value for name, value in RECORD.items() if name != "replays"}
    assert finding_of(unknown).frequency == "it was 30 calls"
    assert "it showed 20 of 20 times" in finding_of(RECORD).frequency


def test_each_call_stands_in_its_lane_below_the_one_before() -> None:
    finding = finding_of(RECORD)
    drawing = layout(finding)
    boxes = [drawing.boxes[call] for call in range(len(finding.calls))]
    assert [drawing.lanes[box.lane or 0] for box in boxes] == list(finding.lanes)
    assert all(one.bottom < two.top for one, two in itertools.pairwise(boxes))


def test_each_step_of_the_chain_is_an_arrow_with_its_clause() -> None:
    arrows = groups(picture(), "edge")
    assert [words(one) for one in arrows] == ["EVT-012", "EVT-018", "STR-001"]
    assert all(one.find("polygon") is not None for one in arrows)


def test_lines_begin_and_end_at_their_calls_and_cross_no_other() -> None:
    drawing = layout(finding_of(RECORD))
    for before in drawing.boxes.values():
        for after in drawing.boxes.values():
            if before is after:
                continue
            corners = route(drawing, before, after)
            assert before.top <= corners[0][1] <= before.bottom
            assert after.top <= corners[-1][1] <= after.bottom
            crossed = [
                box
                for box in drawing.boxes.values()
                if box not in (before, after) and box.lane is not None
                for (x, y), (x2, y2) in itertools.pairwise(corners)
                if min(x, x2) < drawing.left(box.lane) + 216 and max(x, x2) > drawing.left(box.lane)
                if min(y, y2) < box.bottom and max(y, y2) > box.top
            ]
            assert not crossed


def test_the_wrong_read_the_write_it_saw_and_the_one_over_it_are_marked() -> None:
    root = picture()
    (wrong,), (over,) = groups(root, "wrong"), groups(root, "over")
    assert wrong.get("data-call") == "6"
    assert "host7 holds 0x06" in words(wrong)
    assert over.get("data-call") == "0"
    assert [one.get("data-call") for one in groups(root, "saw")] == ["-1", "3", "4"]
    assert "the beginning" in words(groups(root, "saw")[0])
    assert [words(one) for one in groups(root, "value")] == ["0x06"] * 3  # by two copies


def test_another_ending_marks_the_call_that_went_wrong() -> None:
    root = picture(outcome="hang", call=5, chain=[], read=None, wrote=None, over=None, moved=[])
    (wrong,) = groups(root, "wrong")
    assert wrong.get("data-call") == "5"
    assert "a call did not return" in words(wrong)
    at_the_end = picture(outcome="crash", chain=[], read=None, wrote=None, over=None, moved=[])
    assert groups(at_the_end, "wrong")[0].get("data-call") == "7"


def test_whatever_a_record_holds_the_picture_is_well_formed() -> None:
    hostile = "<script>&\"'\x1b[31m\x00\ud800</script>"
    root = picture(program=[hostile] * 3, lanes=[hostile], reason=[f"x: {hostile}"], read=1)
    assert root.find(".//script") is None
    assert "<script>" in words(root)
    for broken in (
        {"chain": [{"from": 99, "to": True}, 7, {"from": 0, "to": 6}]},
        {"read": 1e300, "moved": ["x", 3], "program": None},
        {"lanes": 5, "wrote": -7, "over": 10**30},
        {"program": [], "outcome": [], "reason": [1]},
    ):
        assert groups(picture(**broken), "lane")


def page(*records: dict[str, Any], **more: str) -> str:
    return render_ordering(ordering_of(records), "libacme.so", **more)


def test_the_page_names_the_clauses_and_holds_the_program() -> None:
    shown = page(RECORD, again="tbk litmus ./libacme.so --first 4", code="int main(void) { <&> }")
    assert "One of these clauses is broken: STR-001, EVT-012, EVT-018" in shown
    assert '<svg class="lanes"' in shown
    assert "int main(void) { &lt;&amp;&gt; }" in shown
    assert "tbk litmus ./libacme.so --first 4" in shown
    assert "http" not in shown.replace("http-equiv", "")  # it loads nothing


@pytest.mark.parametrize(
    ("shown", "runs", "processes", "words"),
    [
        (0, 0, 1, "The same calls without the suite: litmus.py, not tried"),
        (3, 3, 1, "See it without the suite: litmus.py, shown by 3 of 3 runs of it"),
        (0, 3, 1, "The same calls without the suite: litmus.py, not shown by 3 runs of it: "
                  "it needs what ran before"),
        (0, 3, 16, "The same calls without the suite: litmus.py, not shown by 3 runs of it: "
                   "only some processes show it"),
    ],
)  # fmt: skip
def test_the_page_says_whether_the_file_shows_it(
    shown: int, runs: int, processes: int, words: str
) -> None:
    told = {**RECORD, "alone_shown": shown, "alone_runs": runs, "processes": processes}
    assert f"<summary>{words}</summary>" in page(told, code="import torch", code_name="litmus.py")


def edge(kind: str, state: str, one_in: int = 0, why: str = "") -> dict[str, Any]:
    return {"record": "litmus-edge", "kind": kind, "clause": "EVT-012", "text": f"what {kind} says",
            "state": state, "why": why, "tried": 9, "controls": 7, "shown": 3,
            "one_in": one_in}  # fmt: skip


def test_the_page_says_of_each_kind_of_edge_how_sure_it_is() -> None:
    footer = {"record": "litmus-footer", "programs": 1200, "controls": 300, "milliseconds": 1500}
    shown = page(
        edge("RECORD", "proven", 41), edge("WAIT", "not-shown", 5, "too few"),
        edge("STREAM", "trivial", 0, "nothing was ever pending"), footer,
    )  # fmt: skip
    assert "libacme.so: 1 of 3 kinds of order proven" in shown
    assert 'data-edge="RECORD" data-state="proven"' in shown
    assert "one in 41" in shown
    assert "one in 5" not in shown  # of what is not proven nothing is promised
    assert "holds trivially" in shown
    assert "1,200 programs and 300 controls in 1.5 s" in shown


def test_the_page_says_what_it_knows_of_faults_of_some_processes() -> None:
    footer = {"record": "litmus-footer", "programs": 1200, "controls": 300, "milliseconds": 1500}
    shares = {"share_percent": 28, "share_one_in": 96}
    many = page({**edge("RECORD", "proven", 410), **shares}, {**footer, "processes": 64})
    assert "in 28 % of processes: one in 96" in many
    assert "in 1.5 s, in 64 processes" in many
    assert "share of processes" in many
    assert "one process" not in many
    alone = page(
        {**edge("RECORD", "proven", 410), "share_percent": 100}, {**footer, "processes": 1}
    )
    assert "all ran in one process" in alone
    assert "%," not in alone.partition("<table")[2].partition("</table")[0]
    unproven = page({**edge("RECORD", "not-shown"), **shares}, {**footer, "processes": 64})
    assert "28 %" not in unproven.partition("<table")[2].partition("</table")[0]


def test_one_kind_is_broken_and_of_several_one_may_be() -> None:
    assert "may be broken" not in page(edge("RECORD", "broken"), RECORD)
    assert "may be broken" in page(edge("RECORD", "broken"), edge("WAIT", "broken"), RECORD)


def test_a_finding_of_any_quality_is_read() -> None:
    assert finding_of({}).calls == ()
    found: Finding = finding_of({"outcome": "wrong", "program": ["a"], "read": 1})
    assert found.name(1) == "the end, when all is complete"
