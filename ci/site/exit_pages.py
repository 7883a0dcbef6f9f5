#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A page for each exit code, and the table of them, all from exit_codes.yml.

Run as a program it writes the table into docs/exit-codes.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
INDEX = "exit-codes.md"
FOLDER = "exit-codes"
BEGIN, END = "<!-- exit codes: begin -->\n", "<!-- exit codes: end -->\n"


def load() -> list[dict[str, Any]]:
    """Returns the codes in order, each with `code`, `name`, `meaning`, `do` and `cases`."""
    codes: list[dict[str, Any]] = yaml.safe_load((HERE / "exit_codes.yml").read_text("utf-8"))
    return codes


def table() -> str:
    """Returns the table of all codes."""
    rows = [f"| {one['code']} | {one['name']}: {' '.join(one['meaning'].split())} "
            f"| {one['do']} |\n" for one in load()]  # fmt: skip
    return "| code | meaning | what to do |\n|---|---|---|\n" + "".join(rows)


def filled(page: str) -> str:
    """Returns docs/exit-codes.md with the table between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}"


def linked(page: str) -> str:
    """Returns docs/exit-codes.md with a link from each code to its page."""
    for code in (one["code"] for one in load()):
        page = page.replace(f"\n| {code} |", f"\n| [{code}]({FOLDER}/{code}.md) |")
    return page


def page(one: dict[str, Any]) -> str:
    """Returns the page of one code."""
    # The sentences of the table have links as seen from docs/.
    said = (
        " ".join(one["meaning"].split()).replace("](", "](../").replace("](../#", f"](../{INDEX}#")
    )
    parts = [
        f"# {one['code']}: {one['name']}\n\n{said[:1].upper()}{said[1:]}.\n\n## What to do\n\n"
    ]
    parts.append("| what you see | what to do |\n|---|---|\n")
    parts += [f"| {case['seen']} | {case['do']} |\n" for case in one["cases"]]
    parts.append(f"\n[All exit codes](../{INDEX})\n")
    return "".join(parts)


def pages() -> dict[str, str]:
    """Returns all pages by their paths below docs/."""
    return {f"{FOLDER}/{one['code']}.md": page(one) for one in load()}


if __name__ == "__main__":
    target = HERE.parents[1] / "docs" / INDEX
    target.write_text(filled(target.read_text("utf-8")), "utf-8")
