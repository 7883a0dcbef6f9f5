# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the docs site that can be tested without building it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import c_pages
import check_site
import click
import command_pages
import exit_pages
import names
import navigation
import program_pages
import pytest
import schema_page
from tbk_contracts.header import load_header
from tbk_harness.commands import tbk
from tbk_reports import model

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = ROOT / "contracts"
DOCS = ROOT / "docs"


def test_every_decision_stands_in_the_navigation_by_number() -> None:
    behind = {navigation.DECISIONS: navigation.decisions(DOCS)}
    nav = navigation.extend([{"Explanation": [{"Decisions": navigation.DECISIONS}]}], behind)
    listed = nav[0]["Explanation"][0]["Decisions"]
    paths = [path for one in listed[1:] for path in one.values()]
    assert listed[0] == navigation.DECISIONS
    assert paths == sorted(f"adr/{path.name}" for path in (DOCS / "adr").glob("[0-9]*.md"))
    assert {"5. Ordering is proved with gates": "adr/0005-gates.md"} in listed


def test_the_page_of_decisions_lists_each_by_number() -> None:
    page = (DOCS / navigation.DECISIONS).read_text("utf-8")
    assert "](0" not in page, "the site makes the list; one by hand conflicts with each landing"
    names = re.findall(r"^\* \[\d+\. .+\]\((.+)\)$", navigation.listed(page, DOCS), re.MULTILINE)
    assert names == sorted(path.name for path in (DOCS / "adr").glob("[0-9]*.md"))


def test_every_sentence_of_the_header_stands_beside_its_function() -> None:
    pages = c_pages.pages(CONTRACTS)
    blocks = load_header(CONTRACTS)
    assert len(blocks) > 40
    for block in blocks:
        page = pages[f"{c_pages.FOLDER}/{Path(block.file).stem}.md"]
        section = page.partition(f"{{ #{block.function} }}")[2].partition("\n### ")[0]
        assert (
            c_pages.declaration(block).replace("\n    ", " ").removesuffix(";") == block.declaration
        )
        for line in block.lines:
            assert f"| {line.label} | {c_pages.escape(line.text)} | " in section
            assert (
                not line.clause
                or f"[{line.clause}](../clauses.md#{line.clause.lower()})" in section
            )
    assert "typedef struct tbk_event_ops {" in pages[f"{c_pages.FOLDER}/event.md"]
    assert "#ifndef TBK_EVENT_H" not in pages[f"{c_pages.FOLDER}/event.md"]


def test_every_command_and_option_has_its_row() -> None:
    pages = command_pages.pages()
    with click.Context(tbk) as context:
        for name in tbk.list_commands(context):
            command = tbk.get_command(context, name)
            assert command
            page = pages[f"{command_pages.FOLDER}/{name}.md"]
            shown = [
                one for one in command.params if isinstance(one, click.Option) and not one.hidden
            ]
            assert [one.opts for one in shown if f"`{one.opts[-1]}" not in page
                    and f" {one.opts[-1]}" not in page] == []  # fmt: skip
            assert getattr(command, "examples", "") in page
    assert "| `--layer [c|torch|both]` | " in pages[f"{command_pages.FOLDER}/run.md"]


@pytest.mark.parametrize(
    ("name", "source", "table"),
    [
        ("tbk-run", "options.c", "struct argp_option table[]"),
        ("tbk-litmus", "litmus/main.c", "struct option known[]"),
    ],
)
def test_every_option_of_a_program_is_on_its_page(name: str, source: str, table: str) -> None:
    text = (ROOT / "harness/src" / source).read_text("utf-8").partition(table)[2].partition("};")[0]
    shown = (one for one in text.split("{")[1:] if "OPTION_HIDDEN" not in one)
    options = [one.split('"')[1] for one in shown if one.startswith('"')]
    assert len(options) > 15
    page = program_pages.pages()[f"{program_pages.FOLDER}/{name}.md"]
    assert [one for one in options if f"--{one}" not in page] == []


def test_every_exit_code_has_a_page_and_the_table_is_theirs() -> None:
    known = {value for name, value in vars(model).items() if name.startswith("EXIT_")}
    codes = exit_pages.load()
    assert [one["code"] for one in codes] == sorted(known)
    assert all(one["cases"] for one in codes)
    page = (DOCS / exit_pages.INDEX).read_text("utf-8")
    assert page == exit_pages.filled(page), "run ci/site/exit_pages.py"
    assert exit_pages.linked(page).count("](exit-codes/") == len(codes)
    for path, text in exit_pages.pages().items():
        for linked in check_links(text):
            made = (*command_pages.pages(), *exit_pages.pages())
            place = ((DOCS / path).parent / linked).resolve()
            assert place.is_file() or str(place.relative_to(DOCS)) in made


def check_links(text: str) -> list[str]:
    """Returns the files that a page links to."""
    parts = [one.partition(")")[0].partition("#")[0] for one in text.split("](")[1:]]
    return [one for one in parts if one]


def test_every_member_of_a_result_file_has_its_row() -> None:
    schema = json.loads((ROOT / "harness/schema/results.schema.json").read_text("utf-8"))
    page = schema_page.page(schema)
    for name, one in schema["$defs"].items():
        if one.get("type") == "object":
            section = page.partition(f"{{ #{name} }}")[2].partition("\n## ")[0]
            for member in one["properties"]:
                assert f"| `{member}` | " in section
    assert "| `backend.path` | string | yes |" in page


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="other.html#there">', None),
        ('<a href="https://example.org/">', None),
        ('<a href="none.html">', "no such page: none.html"),
        ('<a href="other.html#nowhere">', "no such anchor: other.html#nowhere"),
        ('<img src="none.png">', "no such page: none.png"),
        ('<script src="https://example.org/a.js"></script>', "asks another host"),
        ('<link rel="preconnect" href="//example.org">', "asks another host"),
        ("<style>a { background: url(https://example.org/a.png) }</style>", "asks another host"),
    ],
)
def test_a_fault_of_a_site_is_told(page: str, fault: str | None, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "other.html").write_text('<h1 id="there">')
    found = list(check_site.faults(tmp_path))
    assert (fault is None and not found) or (len(found) == 1 and str(fault) in found[0])


def test_a_style_that_asks_another_host_and_a_site_without_pages_are_told(tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text('@import "https://example.org/a.css";')
    found = list(check_site.faults(tmp_path))
    assert [one.partition(": ")[2] for one in found] == [
        "no pages",
        "asks another host: https://example.org/a.css",
    ]


def test_what_the_theme_leaves_without_a_name_gets_one() -> None:
    page = f"""{names.DIALOG}</div>
<label class="md-nav__link" for="__nav_4_4" id="__nav_4_4_label" tabindex="0">
  <span class="md-nav__icon md-icon"></span></label>
<nav class="md-nav" aria-labelledby="__nav_4_4_label">
<label class="md-nav__title" for="__nav_4_4">
  <span class="md-nav__icon md-icon"></span>
  The C interface
</label></nav>
<label class="md-nav__link" for="__nav_2" id="__nav_2_label"><span>Tutorials</span></label>
<nav class="md-nav" aria-labelledby="__nav_2_label"></nav>
<tr><th style="text-align: left;"></th><th>then</th></tr>"""
    said = names.named(page)
    assert 'role="dialog" aria-label="Search">' in said
    assert '<nav class="md-nav" aria-label="The C interface">' in said
    assert '<nav class="md-nav" aria-labelledby="__nav_2_label">' in said
    assert '<td style="text-align: left;"></td><th>then</th>' in said
