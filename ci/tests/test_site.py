# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the docs site that can be tested without building it."""

from __future__ import annotations

from pathlib import Path

import decisions

ROOT = Path(__file__).resolve().parents[2]


def test_every_decision_stands_in_the_navigation_by_number() -> None:
    nav = decisions.extend([{"Explanation": [{"Decisions": decisions.LIST}]}], ROOT / "docs")
    listed = nav[0]["Explanation"][0]["Decisions"]
    paths = [path for one in listed[1:] for path in one.values()]
    assert listed[0] == decisions.LIST
    assert paths == sorted(f"adr/{path.name}" for path in (ROOT / "docs/adr").glob("[0-9]*.md"))
    assert {"5. Ordering is proved with gates": "adr/0005-gates.md"} in listed


def test_the_list_of_decisions_has_every_page() -> None:
    listed = (ROOT / "docs" / decisions.LIST).read_text("utf-8")
    missing = [path.name for path in (ROOT / "docs/adr").glob("[0-9]*.md")
               if f"({path.name})" not in listed]  # fmt: skip
    assert missing == []
