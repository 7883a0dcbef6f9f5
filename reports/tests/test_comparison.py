# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import re
from pathlib import Path

import lxml.html
import pytest
import synthetic
from browser import CHROMIUM, axe, measure
from judged import hostile, judged
from tbk_reports.comparison import Comparison
from tbk_reports.comparison_page import (
    PAGE,
    SUMMARY,
    lint_comparison,
    render_page,
    render_summary,
    write_comparison,
)

Record = synthetic.Record


def _failing(index: int, cause: str, **changes: object) -> Record:
    return synthetic.case(index, "fail", cause=cause, **changes)


def _compared(before: list[Record], after: list[Record]) -> Comparison:
    return Comparison(judged(before), judged(after))


def _told(found: Comparison) -> dict[str, list[tuple[str, list[str], str]]]:
    return {
        name: [(one.title, [test.id for test in one.tests], one.note) for one in groups]
        for name, groups in found.groups.items() if groups
    }  # fmt: skip


def _id(index: int) -> str:
    return str(synthetic.case(index)["id"])


def test_nothing_changed() -> None:
    found = _compared(synthetic.failing(), synthetic.failing())
    assert (found.word, found.clean, _told(found), found.same) == ("no worse", True, {}, 300)


def test_of_twenty_known_causes_the_new_and_the_mended_one_are_named() -> None:
    known = [_failing(index, f"cause {index}") for index in range(20)]
    before = [*known, synthetic.case(30), synthetic.case(31)]
    after = [synthetic.case(0), *known[1:], _failing(30, "another"), synthetic.case(31)]
    found = _compared(before, after)
    assert _told(found) == {
        "new": [("another", [_id(30)], "")], "mended": [("cause 0", [_id(0)], "")],
    }  # fmt: skip
    assert (found.word, found.same) == ("worse", 20)
    assert found.headline == "1 cause new, 1 cause mended"


def test_a_known_failure_that_passes_is_mended() -> None:
    known = [synthetic.case(index, "xfail", cause=f"cause {index}") for index in range(2)]
    found = _compared(known, [synthetic.case(0), known[1]])
    assert _told(found) == {"mended": [("cause 0", [_id(0)], "")]}
    assert (found.word, found.same) == ("better", 1)


def test_a_failure_by_another_cause_has_moved() -> None:
    found = _compared([_failing(1, "early")], [_failing(1, "late")])
    assert _told(found) == {"moved": [("late", [_id(1)], "before: early")]}
    assert (found.clean, found.same) == (True, 0)


def test_a_known_cause_in_more_tests_is_new_there_and_says_so() -> None:
    found = _compared(
        [_failing(1, "one"), synthetic.case(2)], [_failing(1, "one"), _failing(2, "one")]
    )
    assert _told(found) == {"new": [("one", [_id(2)], "all by what other tests failed by before")]}


def test_a_cause_that_is_mended_in_part_says_so() -> None:
    found = _compared(
        [_failing(1, "one"), _failing(2, "one")], [_failing(1, "one"), synthetic.case(2)]
    )
    assert _told(found) == {"mended": [("one", [_id(2)], "in part: 1 test still so")]}
    assert found.word == "better"


def test_what_is_no_longer_tested_is_told_by_reason_and_is_not_mended() -> None:
    before = [_failing(1, "one"), synthetic.case(2), synthetic.case(3), synthetic.case(4)]
    after = [
        synthetic.case(1, "unsupported"), synthetic.case(2, "unsupported"),
        synthetic.case(3, "left-out"),
    ]  # fmt: skip
    assert _told(_compared(before, after)) == {
        "lost": [
            (
                "copies between devices (`peer` is NULL)",
                [_id(1), _id(2)],
                "1 of them failed before",
            ),
            ("left out", [_id(3)], ""),
            ("not in the run any more", [_id(4)], ""),
        ]
    }  # fmt: skip


def test_a_run_without_a_verdict_is_an_error() -> None:
    torn = judged(synthetic.passing(9), verdict="error", exit_code=7, problems=("it was ended",))
    found = Comparison(judged(synthetic.passing(9)), torn)
    assert (found.word, len(found.problems)) == ("error", 1)
    assert "it was ended" in render_page(found)


def test_the_headline_says_why_a_run_has_no_verdict() -> None:
    """Of a run that nobody can trust it is not said that nothing is new."""
    sound = judged(synthetic.passing(9))
    torn = judged(
        synthetic.passing(9), verdict="error", exit_code=6, problems=("it lacks a header",)
    )
    worse = judged(synthetic.failing(9), verdict="error", exit_code=6, problems=("it was cut",))
    assert Comparison(sound, torn).headline == "No verdict on the run after: it lacks a header"
    assert Comparison(torn, sound).headline == "No verdict on the run before: it lacks a header"
    both = Comparison(torn, worse).headline
    assert both.startswith(
        "No verdict on the run before: it lacks a header; no verdict on the run after: it was cut; "
    )
    assert "new" in both
    silent = judged(synthetic.passing(9), verdict="error", exit_code=6)
    assert "does not say why" in Comparison(sound, silent).headline
    assert "it lacks a header" in render_summary(Comparison(sound, torn)).splitlines()[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (synthetic.passing(), synthetic.failing()),
        (synthetic.failing(), synthetic.wall(40, 60)),
        (synthetic.every_verdict(), synthetic.passing(15)),
        (synthetic.passing(15), synthetic.every_verdict()),
    ],
)
def test_every_test_is_told_once(before: list[Record], after: list[Record]) -> None:
    """Each of either run is in one section, added, otherwise changed, or the same."""
    found = _compared(before, after)
    ids = [one.id for groups in found.groups.values() for group in groups for one in group.tests]
    assert len(ids) == len(set(ids))
    told = len(ids) + found.same + found.added + found.other
    assert told == len({record["id"] for record in (*before, *after)})


PAIRS = {
    "worse": (synthetic.passing(), synthetic.failing()),
    "better": (synthetic.failing(), synthetic.passing()),
    "wall": (synthetic.failing(), synthetic.wall()),
    "many": ([synthetic.case(n) for n in range(300)], [_failing(n, f"c {n}") for n in range(300)]),
}
COMPARED = {name: _compared(*pair) for name, pair in PAIRS.items()} | {
    "hostile": Comparison(judged([]), hostile())
}


@pytest.mark.parametrize("name", COMPARED)
def test_page_and_summary_agree(name: str, tmp_path: Path) -> None:
    write_comparison(COMPARED[name], tmp_path)
    assert lint_comparison(tmp_path) == []
    assert (tmp_path / PAGE).stat().st_size < 2_000_000
    assert (tmp_path / SUMMARY).stat().st_size < 60_000


LIES = [
    (PAGE, "<title>WORSE", "<title>BETTER"),
    (PAGE, 'data-section="new" data-causes="4"', 'data-section="new" data-causes="3"'),
    (PAGE, '<h3 id="new-2-title">', '<h3 id="mended-2-title">'),
    (PAGE, '"clean":false', '"clean":true'),
    (SUMMARY, "WORSE:", "BETTER:"),
    (SUMMARY, "| new | 4 |", "| new | 3 |"),
    (SUMMARY, "1. **", "1. **not "),
]


@pytest.mark.parametrize(("name", "truth", "lie"), LIES)
def test_every_lie_is_found(name: str, truth: str, lie: str, tmp_path: Path) -> None:
    write_comparison(COMPARED["worse"], tmp_path)
    path = tmp_path / name
    source = path.read_text("utf-8")
    assert truth in source
    path.write_text(source.replace(truth, lie, 1), "utf-8")
    assert lint_comparison(tmp_path)


def test_nothing_a_backend_says_becomes_markup() -> None:
    page = lxml.html.document_fromstring(render_page(COMPARED["hostile"]))
    assert len(page.findall(".//script")) == 2
    assert not page.xpath("//img | //link | //iframe | //*[@src]")
    assert all(href.startswith("#") for href in page.xpath("//@href"))
    summary = render_summary(COMPARED["hostile"])
    assert not re.search(r"<script|<img|\]\(javascript", summary)


@pytest.mark.skipif(not (CHROMIUM and axe()), reason="not run: no Chromium, or no axe-core")
@pytest.mark.parametrize("name", ["worse", "better"])
def test_axe_finds_nothing(name: str, tmp_path: Path) -> None:
    library = axe()
    assert library
    found = measure(
        tmp_path, render_page(COMPARED[name]),
        "const told = await axe.run(document, {resultTypes: ['violations']});"
        "return [document.documentElement.scrollWidth, told.violations.map((one) => one.id + ': '"
        " + one.nodes[0].html.slice(0, 200))];",
        width=400, library=library.read_text("utf-8"),
    )  # fmt: skip
    assert found == [400, []]
