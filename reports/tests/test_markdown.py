# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import markdown_it
import pytest
import synthetic
from judged import hostile, judged
from tbk_reports.markdown import code, escape, render_markdown
from tbk_reports.model import Judged

# As GitHub reads a summary: HTML is live, tables and bare addresses are too.
READER = markdown_it.MarkdownIt("gfm-like", {"html": True, "linkify": False}).enable("table")


def _types(source: str) -> set[str]:
    found = set()
    for token in READER.parse(source):
        found.add(token.type)
        found.update(child.type for child in token.children or ())
    return found


@pytest.mark.parametrize(
    "piece",
    [
        *synthetic.HOSTILE.split(" "),
        synthetic.HOSTILE,
        "1. x",
        "12) x",
        "- x",
        "> x",
        "# x",
        "---",
        "a_b_c",
        "~~x~~",
        "[x]: y",
        "&lt;b&gt;",
        "$x$",
    ],
)
def test_an_escaped_text_is_text(piece: str) -> None:
    assert _types(escape(piece)) <= {
        "paragraph_open",
        "inline",
        "text",
        "text_special",
        "paragraph_close",
    }


@pytest.mark.parametrize(
    "run", [hostile(), judged(synthetic.every_verdict())], ids=["hostile", "every"]
)
def test_no_markup_comes_from_a_backend(run: Judged) -> None:
    types = _types(render_markdown(run))
    assert not types & {"html_block", "html_inline", "image", "link_open", "softbreak_html"}
    assert "http://" not in render_markdown(run)


def test_the_counts_are_a_table() -> None:
    source = render_markdown(judged(synthetic.failing()))
    assert "table_open" in _types(source)
    assert "| crash | 5 |" in source
    assert "Exit code 1." in source


def test_the_summary_stays_below_the_limit_of_ci_systems() -> None:
    records = [
        synthetic.case(index, "fail", cause=f"cause {index}", seen=synthetic.HOSTILE * 50)
        for index in range(3_000)
    ]
    assert len(render_markdown(judged(records)).encode()) < 200_000


def test_names_are_code_and_other_things_are_not() -> None:
    assert code("memory/alloc_zero") == "`memory/alloc_zero`"
    assert "`" not in code("a`b").replace("&#96;", "")
