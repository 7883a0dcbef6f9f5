# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What axe-core finds on pages of the built site, which TBK_SITE names, light and dark: nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from browser import CHROMIUM, axe, measure

SITE = os.environ.get("TBK_SITE")
PAGES = ("index.html", "first-backend.html", "exit-codes/1.html", "commands/run.html")


@pytest.mark.skipif(not SITE, reason="not run: no site, which ci/test docs builds")
@pytest.mark.skipif(not CHROMIUM or not axe(), reason="not run: no Chromium, or no axe-core")
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (400, True)], ids=["wide", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(name: str, width: int, dark: bool) -> None:
    library, page = axe(), Path(str(SITE)) / name
    assert library
    try:  # beside the page, whose style is found from there
        found = measure(
            page.parent, page.read_text("utf-8"),
            "const told = await axe.run(document, {resultTypes: ['violations']});"
            "return [told.passes.length, told.violations.map((one) => one.id + ': '"
            " + one.nodes[0].html.slice(0, 200) + ' ' + one.nodes[0].failureSummary)];",
            width=width, dark=dark, library=library.read_text("utf-8"),
        )  # fmt: skip
    finally:
        for made in ("page.html", "frame.html"):
            (page.parent / made).unlink(missing_ok=True)
    assert found[1] == []
    assert found[0] > 10  # it has looked
