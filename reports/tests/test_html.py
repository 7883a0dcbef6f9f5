# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from pathlib import Path

import lxml.html
import pytest
import synthetic
from judged import hostile, judged
from tbk_reports.document import judged_document
from tbk_reports.html import coverage_links, render_html
from tbk_reports.lint_page import lint_html
from tbk_reports.model import Judged

ALL = [
    judged(synthetic.passing()),
    judged(synthetic.failing()),
    judged(synthetic.every_verdict()),
    judged([], problems=("libacme.so: the entry point is missing",), exit_code=4),
    hostile(),
]
OURS = """
    a article b body button circle code dd details div dl dt figcaption figure footer h1 h2 h3 h4
    head header html input label li line main meta nav ol option p path pre q rect script section
    select span strong style summary svg symbol table tbody td text th thead title tr ul use wbr
    """
NAMES = ["passing", "failing", "every", "empty", "hostile"]


def _document(run: Judged) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(render_html(run))


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_nothing_a_backend_says_becomes_markup(run: Judged) -> None:
    page = _document(run)
    assert {element.tag for element in page.iter() if isinstance(element.tag, str)} <= set(
        OURS.split()
    )
    assert len(page.findall(".//script")) == 2
    assert not page.findall(".//img")
    for element in page.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name != "style"
            assert not value.strip().lower().startswith("javascript:")


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_the_policy_allows_our_own_style_and_script_and_no_more(run: Judged) -> None:
    source = render_html(run)
    page = lxml.html.document_fromstring(source)
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none'")
    for part in ("style", "script"):
        found = re.findall(rf"<{part}>(.*?)</{part}>", source, re.DOTALL)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_the_page_loads_nothing(run: Judged) -> None:
    page = _document(run)
    assert not page.xpath("//link | //iframe | //object | //embed | //base | //form")
    assert not page.xpath("//*[@src]")
    assert all(href.startswith("#") for href in page.xpath("//@href"))


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_the_embedded_data_can_be_read(run: Judged) -> None:
    data = json.loads(_document(run).xpath("//script[@id='tbk-data']")[0].text)
    assert data["counts"] == run.counts
    assert [entry[0] for entry in data["tests"]] == [test.id for test in run.tests]


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_the_lint_agrees(run: Judged) -> None:
    document = json.loads(json.dumps(judged_document(run)))
    assert lint_html(document, render_html(run)) == []


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_links_within_the_page_arrive(run: Judged) -> None:
    page = _document(run)
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    for href in page.xpath("//@href"):
        assert href[1:] in ids, href
    for reference in page.xpath("//@aria-labelledby | //label/@for"):
        assert reference in ids, reference


@pytest.mark.parametrize("run", ALL, ids=NAMES)
def test_headings_and_landmarks(run: Judged) -> None:
    page = _document(run)
    assert page.get("lang") == "en"
    assert len(page.xpath("//main")) == len(page.xpath("//h1")) == 1
    levels = [int(element.tag[1]) for element in page.xpath("//h1 | //h2 | //h3 | //h4")]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert all(item.get("scope") for item in page.xpath("//th"))
    assert all(item.get("aria-hidden") or item.get("aria-label") for item in page.xpath("//svg"))
    for button in page.xpath("//button"):
        assert button.text_content().strip()
        assert button.get("type") == "button"


def test_a_full_failing_suite_stays_below_two_megabytes() -> None:
    records = [
        synthetic.case(index, "fail", cause=f"cause {index}", output=synthetic.HOSTILE * 30)
        for index in range(300)
    ]
    assert len(render_html(judged(records)).encode()) < 2_000_000


def test_a_long_run_stays_small() -> None:
    assert len(render_html(judged(synthetic.many())).encode()) < 2_000_000


def test_each_failure_says_what_is_needed_to_mend_it() -> None:
    page = _document(judged(synthetic.failing()))
    cases = page.xpath("//div[@data-test]")
    assert len(cases) == 15  # of each cause at most six
    for case in cases:
        words = case.text_content()
        for part in ("Expected", "Seen", "To blame", "Replay", "tbk-run", "c10/core"):
            assert part in words


def test_the_first_screen_answers() -> None:
    page = _document(judged(synthetic.failing()))
    assert page.xpath("//h1")[0].text_content() == "acme 1.4.2 does not conform"
    assert len(page.xpath("//ol[@class='fix']/li")) == 4
    assert "peer" in page.xpath("//section[@aria-labelledby='untested']")[0].text_content()
    assert "hold a stream" in page.xpath("//section[@aria-labelledby='unshown']")[0].text_content()


def test_coverage_pages_are_linked(tmp_path: Path) -> None:
    for name in ("cpu", "harness"):
        (tmp_path / "coverage" / name).mkdir(parents=True)
        (tmp_path / "coverage" / name / "index.html").write_text("x")
    links = coverage_links(tmp_path / "coverage", tmp_path / "report")
    assert links == [
        ("cpu", "../coverage/cpu/index.html"),
        ("harness", "../coverage/harness/index.html"),
    ]
    assert 'href="../coverage/cpu/index.html"' in render_html(judged(synthetic.passing()), links)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_is_enough_for_wcag_aa(scheme: int) -> None:
    style = re.search(r"<style>(.*?)</style>", render_html(ALL[0]), re.DOTALL)
    assert style
    blocks = re.findall(r":root \{(.*?)\}", style[1], re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", blocks[scheme]))
    for ink in ("ink", "soft", "faint", "good", "bad", "warn", "quiet", "link"):
        for ground in ("paper", "sheet", "well"):
            assert _contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert _contrast(colours["ink"], colours["bad-wash"]) >= 4.5
    assert _contrast(colours["line-strong"], colours["sheet"]) >= 3
