#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Bring the list in tests/suites.c up to date: each suite that has rows, in the order that it had.

A new suite goes behind those of its area, or to the end. With --check, writes nothing and exits 1
if the file differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

CONTRACTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CONTRACTS / "python"))

from tbk_contracts import load_areas, load_rows  # noqa: E402

TARGET = Path("tests") / "suites.c"
LIST = re.compile(r"#define SUITES\(X\)(?:.*\\\n)*.*\n")


def area_of(suite: str, areas: list[str]) -> str:
    """The longest name of an area that the suite's name begins with; else its first word."""
    found = [area for area in areas if suite == area or suite.startswith(f"{area}_")]
    return max(found, key=len, default=suite.partition("_")[0])


def ordered(listed: list[str], written: set[str], areas: list[str]) -> list[str]:
    """The suites that have rows, those that were listed where they were."""
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
    """The file with its list made anew."""
    found = LIST.search(text)
    if not found:
        raise ValueError(f"{TARGET} has no list SUITES(X)")
    suites = ordered(re.findall(r"\bX\((\w+)\)", found[0].partition(")")[2]), written, areas)
    rows = [f"  X({suite})" for suite in suites]
    width = max(len(row) for row in ["#define SUITES(X)", *rows]) + 1
    lines = [f"{row:<{width}}\\" for row in ["#define SUITES(X)", *rows[:-1]]] + rows[-1:]
    return text[: found.start()] + "\n".join(lines) + "\n" + text[found.end() :]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--root", type=Path, default=CONTRACTS, help="the contracts folder")
    options = parser.parse_args()
    target: Path = options.root / TARGET
    try:
        before = target.read_text()
        written = {row.suite for row in load_rows(options.root)}
        text = render(before, written, list(load_areas(options.root).values()))
    except (OSError, ValueError) as error:
        print(f"generate_suites: {error}", file=sys.stderr)
        return 2
    if text == before:
        return 0
    if options.check:
        print(f"generate_suites: {target} is stale; run ci/update")
        return 1
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
