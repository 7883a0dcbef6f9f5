#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Bring the list in tests/suites.c up to date: each suite that has rows, in the order that it had.

A new suite goes behind those of its area, or to the end. With --check, writes nothing and exits 1
if the file differs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CONTRACTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CONTRACTS / "python"))

from generated import generate  # noqa: E402
from tbk_contracts import load_areas, load_rows  # noqa: E402

TARGET = Path("tests") / "suites.c"
LIST = re.compile(r"#define SUITES\(X\)(?:.*\\\n)*.*\n")


def area_of(suite: str, areas: list[str]) -> str:
    """Returns the longest name of an area that the suite's name begins with; else its first
    word."""
    found = [area for area in areas if suite == area or suite.startswith(f"{area}_")]
    return max(found, key=len, default=suite.partition("_")[0])


def ordered(listed: list[str], written: set[str], areas: list[str]) -> list[str]:
    """Returns the suites that have rows, those that were listed where they were."""
    suites = [suite for suite in listed if suite in written]
    for suite in sorted(written - set(listed)):
        area = area_of(suite, areas)
        order = [area_of(one, areas) for one in suites]
        known = [place for place, one in enumerate(order) if one == area]
        before = areas[: areas.index(area)] if area in areas else []
        behind = known or [place for place, one in enumerate(order) if one in before]
        place = behind[-1] + 1 if behind else (0 if area in areas else len(suites))
        suites.insert(place, suite)
    return suites


def render(text: str, written: set[str], areas: list[str]) -> str:
    """Returns the file with its list made anew."""
    found = LIST.search(text)
    if not found:
        raise ValueError(f"{TARGET} has no list SUITES(X)")
    suites = ordered(re.findall(r"\bX\((\w+)\)", found[0].partition(")")[2]), written, areas)
    rows = [f"  X({suite})" for suite in suites]
    goes_on = ["#define SUITES(X)", *rows[:-1]]
    width = max(map(len, goes_on)) + 1
    lines = [f"{row:<{width}}\\" for row in goes_on] + rows[-1:]
    return text[: found.start()] + "\n".join(lines) + "\n" + text[found.end() :]


def made(root: Path) -> str:
    """The file as it stands under `root`, with the suites that have rows."""
    written = {row.suite for row in load_rows(root)}
    return render((root / TARGET).read_text(), written, list(load_areas(root).values()))


def main() -> int:
    return generate(__doc__, "generate_suites", CONTRACTS, TARGET, made)


if __name__ == "__main__":
    sys.exit(main())
