# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the page looks like and does in a browser. Sizes are of a window of 1200 by 900."""

from __future__ import annotations

import os
from pathlib import Path

import lxml.html
import pytest
import synthetic
from browser import CHROMIUM, axe, load_ms, measure, printed_pages
from judged import judged
from tbk_reports.anchors import test_anchor as anchor_of  # by another name, since it is no test
from tbk_reports.html import render_html

SCREEN = 900
NARROW = 400
in_a_browser = pytest.mark.skipif(not CHROMIUM, reason="not run: no Chromium")

_SIMULATED = synthetic.header(300)
_SIMULATED["devices"][0]["simulated"] = True
PAGES = {
    "pass": render_html(judged(synthetic.whole())),
    "partial": render_html(judged(synthetic.passing(), header=synthetic.header(400))),
    "simulated": render_html(judged(synthetic.passing(), header=_SIMULATED)),
    "wall": render_html(judged(synthetic.wall())),
    "fail": render_html(judged(synthetic.failing())),
    "every": render_html(judged(synthetic.every_verdict())),
}
STAMPS = {
    "pass": "pass (quick)",
    "partial": "partial (quick)",
    "simulated": "pass (quick, simulated)",
    "wall": "fail (quick, partial)",
}
# What must be in sight at once, by what it is called in a message.
_SEEN = """
const first = {};
for (const [name, selector] of [
  ["stamp", ".stamp"], ["headline", "h1"], ["lead", ".lead"], ["counts", ".counts"],
  ["cards", ".card h2"], ["fix", ".fix > li a"],
]) {
  const one = document.querySelector(selector);
  if (one) { const box = one.getBoundingClientRect(); first[name] = [box.bottom, box.right]; }
}
return { first, stamp: document.querySelector(".stamp").textContent,
  notes: [...document.querySelectorAll(".partial-note b, .partial-note strong")]
    .map((one) => one.textContent),
  height: document.documentElement.scrollHeight, width: document.documentElement.scrollWidth };
"""


def _folded(source: str) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(source.encode())


def test_a_passing_page_is_folded() -> None:
    """By counting, where no browser measures it: an area takes a line, and nothing else is long."""
    page = _folded(PAGES["pass"])
    areas = page.xpath("//details[@data-area]")
    assert len(areas) == synthetic.WHOLE_AREAS + 1  # and that of the operators
    assert not page.xpath("//details[@open]")
    assert len(page.xpath("//tr[@data-clause][not(ancestor::details)]")) == 0
    assert len(page.xpath("//li[not(ancestor::details)]")) < 80


def test_areas_are_open_where_something_fails() -> None:
    page = _folded(PAGES["fail"])
    states = {area.get("data-states"): "open" in area.attrib
              for area in page.xpath("//details[@data-area]")}  # fmt: skip
    assert states
    for said, is_open in states.items():
        assert is_open == any(word in said for word in ("fail:", "crash:", "hang:"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_small(name: str) -> None:
    assert len(PAGES[name].encode()) < 2_000_000


@in_a_browser
@pytest.mark.parametrize("name", STAMPS)
@pytest.mark.parametrize("width", [1200, NARROW])
def test_the_first_screen_is_right(name: str, width: int, tmp_path: Path) -> None:
    seen = measure(tmp_path, PAGES[name], _SEEN, width=width, height=SCREEN)
    assert seen["stamp"].strip() == STAMPS[name]
    assert seen["width"] <= width  # nothing makes a reader scroll sideways
    wanted = {"stamp", "headline", "lead", "counts", "cards"} | (
        {"fix"} if name == "wall" else set()
    )
    assert set(seen["first"]) >= wanted
    for word in wanted:
        bottom, right = seen["first"][word]
        assert bottom <= SCREEN, word
        assert right <= width, word
    assert ("Partial:" in seen["notes"]) == ("partial" in STAMPS[name])
    assert ("Simulated:" in seen["notes"]) == ("simulated" in STAMPS[name])


@in_a_browser
def test_a_passing_page_takes_six_screens(tmp_path: Path) -> None:
    assert measure(tmp_path, PAGES["pass"], _SEEN)["height"] <= 6 * SCREEN


@in_a_browser
def test_a_page_of_8000_failures_opens_at_once(tmp_path: Path) -> None:
    """In 2 s; later by what others take of the processors."""
    shares = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert min(load_ms(tmp_path, PAGES["wall"]) for _ in range(3)) < 2_000 * shares


@in_a_browser
def test_paper_has_the_summary_and_the_failures(tmp_path: Path) -> None:
    assert printed_pages(tmp_path, PAGES["pass"]) <= 2
    assert printed_pages(tmp_path, PAGES["fail"]) <= 20


_ROUTED = """
const found = document.querySelector(".found");
const shown = [...document.querySelectorAll("tr.clause")]
  .filter((row) => !row.hidden && row.closest("details").open).length;
return { found: found && (found.id || found.textContent), shown,
  visible: Boolean(found && found.getClientRects().length),
  links: document.querySelectorAll("button.link").length };
"""
WALL = judged(synthetic.wall())


@in_a_browser
@pytest.mark.parametrize("which", ["shown", "named", "neither", "passes"])
def test_a_link_to_any_test_leads_there(which: str, tmp_path: Path) -> None:
    """Also to one that the page lists only when it is asked for."""
    page = _folded(PAGES["wall"])
    there = set(page.xpath("//@id"))
    fails = [test.id for test in WALL.tests if test.failed]
    test_id = {
        "shown": page.xpath("//div[@data-test]/@data-test")[0],
        "named": next(one for one in fails if anchor_of(one) in there),
        "neither": next(one for one in fails if anchor_of(one) not in there),
        "passes": next(test.id for test in reversed(WALL.tests) if anchor_of(test.id) not in there),
    }[which]
    anchor = anchor_of(test_id)
    seen = measure(tmp_path, PAGES["wall"], _ROUTED, address=f"#{anchor}")
    assert (seen["found"], seen["visible"]) == (anchor, True)


@in_a_browser
def test_an_odd_name_has_the_same_anchor_in_the_script(tmp_path: Path) -> None:
    odd = "memory/ü <b> 100% \U0001f600 `x` [a, b]"
    records = [synthetic.case(0, id=f"memory/test_{n}", clause="MEM-001") for n in range(9)]
    run = judged([*records, synthetic.case(0, id=odd, clause="MEM-001")])
    seen = measure(tmp_path, render_html(run), _ROUTED, address=f"#{anchor_of(odd)}")
    assert (seen["found"], seen["visible"]) == (anchor_of(odd), True)


@in_a_browser
def test_filters_stand_in_the_address(tmp_path: Path) -> None:
    crashes = PAGES["fail"].count('data-state="crash"')
    seen = measure(tmp_path, PAGES["fail"], _ROUTED, address="#clauses?state=crash")
    assert seen["shown"] == crashes > 0
    assert seen["links"] > crashes  # of clauses, causes and tests
    pressed = measure(
        tmp_path, PAGES["fail"],
        'document.querySelector(".chip[data-value=crash]").click();'
        'const search = document.querySelector("#search"); search.value = "a b";'
        'search.dispatchEvent(new Event("input")); return location.hash;',
    )  # fmt: skip
    assert pressed == "#clauses?state=crash&q=a%20b"


AXE = {  # of each kind of page a small one: axe looks at every element
    "pass": judged(synthetic.passing(80)),
    "fail": judged(synthetic.failing(120)),
    "every": judged(synthetic.every_verdict()),
    "operators": judged(synthetic.wall(60, 80)),
}


@in_a_browser
@pytest.mark.skipif(not axe(), reason="not run: no axe-core")
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (NARROW, True)], ids=["wide", "dark"])
@pytest.mark.parametrize("name", AXE)
def test_axe_finds_nothing(name: str, width: int, dark: bool, tmp_path: Path) -> None:
    library = axe()
    assert library
    found = measure(
        tmp_path, render_html(AXE[name]),
        "for (const one of document.querySelectorAll('details')) { one.open = true; }"
        "const told = await axe.run(document, {resultTypes: ['violations']});"
        "return [told.passes.length, told.violations.map((one) => one.id + ': '"
        " + one.nodes[0].html.slice(0, 200) + ' ' + one.nodes[0].failureSummary)];",
        width=width, dark=dark, library=library.read_text("utf-8"),
    )  # fmt: skip
    assert found[1] == []
    assert found[0] > 10  # it has looked
