# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The doc blocks of tbk.h: which function states which clause, on which line of the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tbk_contracts.places import contracts_root

HEADER = Path("include") / "tbk" / "tbk.h"
LABELS = (
    "Requires",
    "Ensures",
    "Ordering",
    "Threads",
    "Ownership",
    "Errors",
    "On error",
    "Since",
)

_BLOCK = re.compile(r"/\*\*\n(?P<body>.*?)\*/\s*(?P<declaration>.*?);", re.DOTALL)
_MEMBER = re.compile(r"\(\*(\w+)\)\s*\(")
_FUNCTION = re.compile(r"(\w+)\s*\(")
_LINE = re.compile(r"^\s*\*\s(?P<label>[A-Z][a-z]+(?: [a-z]+)?):\s+(?P<rest>.*?)\s*$")
_MORE = re.compile(r"^\s*\*\s{2,}(?P<rest>\S.*?)\s*$")
_ID = re.compile(r"^(?P<text>.*?)\s*\[(?P<id>[A-Z]{3}-\d{3})\]$", re.DOTALL)


@dataclass(frozen=True)
class HeaderLine:
    """One labelled line of a doc block. `clause` is None for "none" and for Since."""

    function: str
    label: str
    text: str
    clause: str | None
    number: int


@dataclass(frozen=True)
class Block:
    """One documented function."""

    function: str
    number: int
    lines: tuple[HeaderLine, ...]


def _function_name(declaration: str) -> str:
    found = _MEMBER.search(declaration) or _FUNCTION.search(declaration)
    return found[1] if found else "?"


def _gather(body: str, first: int) -> list[tuple[str, str, int]]:
    """Label, joined text and line number; a line that is indented further continues the last."""
    gathered: list[tuple[str, str, int]] = []
    for number, line in enumerate(body.split("\n"), first):
        if found := _LINE.match(line):
            gathered.append((found["label"], found["rest"], number))
        elif gathered and (more := _MORE.match(line)):
            label, text, start = gathered[-1]
            gathered[-1] = (label, f"{text} {more['rest']}", start)
    return gathered


def _header_line(function: str, label: str, text: str, number: int) -> HeaderLine:
    found = _ID.match(text)
    words = found["text"] if found else text
    return HeaderLine(
        function, label, " ".join(words.split()), found["id"] if found else None, number
    )


def parse_header(text: str) -> list[Block]:
    """The doc blocks of a header, in order."""
    blocks = []
    for found in _BLOCK.finditer(text):
        function = _function_name(found["declaration"])
        first = text.count("\n", 0, found.start("body")) + 1
        lines = [_header_line(function, *parts) for parts in _gather(found["body"], first)]
        blocks.append(Block(function, first - 1, tuple(lines)))
    return blocks


@cache
def _packaged() -> tuple[HeaderLine, ...]:
    text = (contracts_root() / HEADER).read_text(encoding="utf-8")
    return tuple(line for block in parse_header(text) for line in block.lines)


def header_lines(clause_id: str) -> list[HeaderLine]:
    """Where tbk.h states this clause."""
    return [line for line in _packaged() if line.clause == clause_id]
