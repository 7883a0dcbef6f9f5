#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write into spec/*.yml, above each clause that the header states, what stands there, as a comment.

The header is the one place of these sentences: members `of`, `line` and `text` that repeat it are
taken out. With --check, writes nothing and exits 1 if a file differs.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from pathlib import Path

CONTRACTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CONTRACTS / "python"))

from tbk_contracts import HeaderLine, clause_files, load_header  # noqa: E402

MARK = "#: "
WIDTH = 100
SHOWN_FUNCTIONS = 3

ENTRY = re.compile(r"^- id: (?P<id>\S+)\n(?P<rest>(?:(?:[ ].*)?\n)*)", re.MULTILINE)
REPEATED = re.compile(r"^  (?:of|line|text):.*\n(?:   .*\n)*", re.MULTILINE)
MARKED = re.compile(rf"^{re.escape(MARK)}.*\n", re.MULTILINE)


def stated_lines(root: Path) -> dict[str, list[HeaderLine]]:
    """Returns the lines of the header by the clause that they state."""
    stated: dict[str, list[HeaderLine]] = {}
    for line in (line for block in load_header(root) for line in block.lines):
        if line.clause:
            stated.setdefault(line.clause, []).append(line)
    return stated


def comment(lines: list[HeaderLine]) -> str:
    """Returns who states it, and the sentence."""
    functions = [line.function for line in lines]
    rest = len(functions) - SHOWN_FUNCTIONS
    shown = ", ".join(functions[:SHOWN_FUNCTIONS]) + (f" and {rest} more" if rest > 0 else "")
    words = f"{lines[0].label} of {shown}: {lines[0].text}"
    wrapped = textwrap.wrap(
        words, WIDTH - len(MARK), break_long_words=False, break_on_hyphens=False
    )
    return "".join(f"{MARK}{line}\n" for line in wrapped)


def render(text: str, stated: dict[str, list[HeaderLine]]) -> str:
    """Returns a clause file as it should be."""

    def entry(found: re.Match[str]) -> str:
        lines = stated.get(found["id"])
        if lines is None:
            return found[0]
        return f"{comment(lines)}- id: {found['id']}\n{REPEATED.sub('', found['rest'])}"

    return ENTRY.sub(entry, MARKED.sub("", text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--root", type=Path, default=CONTRACTS, help="the contracts folder")
    options = parser.parse_args()
    stale = False
    try:
        stated = stated_lines(options.root)
        for path in clause_files(options.root):
            before = path.read_text()
            text = render(before, stated)
            if text != before and options.check:
                print(f"generate_spec: {path} is stale; run ci/update")
                stale = True
            elif text != before:
                path.write_text(text)
    except OSError as error:
        print(f"generate_spec: {error}", file=sys.stderr)
        return 2
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
