# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import pytest
import synthetic
from judged import judged
from tbk_reports.facts import environment, lacking, others
from tbk_reports.html import render_html


@pytest.mark.parametrize(
    ("word", "layer", "said"),
    [
        ("fault", "c", "fault injection (`fault` is NULL)"),
        ("elapsed", "c", "time between events (`event_elapsed` is NULL)"),
        ("exclusive", "c", "one process at a time (flag `EXCLUSIVE` is not set)"),
        ("granularity", "c", "copies in units of several bytes (`copy_granularity` is 1)"),
        ("op:mm", "c", "kernels of mm (`kernel_find` answers NULL)"),
        ("dtype:BOOL", "c", "kernels for BOOL (not in `dtypes`)"),
        ("event_timing", "torch", "“events measure time” does not hold (`event_timing`)"),
        ("unheard_of", "c", "unheard_of is not declared"),
        ("unheard_of", "torch", "unheard_of is not declared"),
    ],
)
def test_what_is_not_there_is_told_in_words(word: str, layer: str, said: str) -> None:
    assert lacking(word, layer) == said


def test_what_is_for_others_says_for_whom() -> None:
    assert others("stream", "c") == "tests for a device without streams"
    assert others("event", "torch") == "tests for a device of which “it has events” does not hold"


def test_facts_have_units() -> None:
    device = dict(environment(judged(synthetic.passing(9)))["devices"][0])
    assert device["memory"] == "256 MiB"
    assert device["copies in units of"] == "1 byte"
    assert device["dimensions of a tensor"] == "at most 8"
    assert device["handles are addresses"] == "yes"


def test_what_says_nothing_is_not_there() -> None:
    run = judged(synthetic.passing(9))
    run.header["torch"] = {"version": "2.13.0", "declared": None, "imports": [], "warm": True}
    assert environment(run)["pytorch"] == [
        ("version", "2.13.0"), ("PyTorch is imported", "once, before processes are forked"),
    ]  # fmt: skip


def test_the_page_has_the_command_that_was_typed() -> None:
    run = judged(synthetic.passing(9))
    run.header["typed"] = ["tbk", "run", "./lib acme.so"]
    page = render_html(run)
    assert "<code>tbk run &#39;./lib acme.so&#39;</code>" in page
    assert "tbk-report/results.jsonl" not in page
