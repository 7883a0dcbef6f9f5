# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The doc blocks of tbk.h and its parts: which function states which clause, and on which line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tbk_contracts.places import contracts_root

INCLUDE = Path("include")
HEADER = INCLUDE / "tbk" / "tbk.h"
OPCODES = INCLUDE / "tbk" / "tbk_opcodes.h"
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

_PART = re.compile(r"^#include <(tbk/\w+\.h)>", re.MULTILINE)
_BLOCK = re.compile(r"/\*\*\n(?P<body>.*?)\*/\s*(?P<declaration>.*?);", re.DOTALL)
_MEMBER = re.compile(r"\(\*(\w+)\)\s*\(")
_FUNCTION = re.compile(r"(\w+)\s*\(")
_LINE = re.compile(r"^\s*\*\s(?P<label>[A-Z][a-z]+(?: [a-z]+)?):\s+(?P<rest>.*?)\s*$")
_MORE = re.compile(r"^\s*\*\s{2,}(?P<rest>\S.*?)\s*$")
_BRIEF = re.compile(r"^\s*\*\s(?P<rest>\S.*?)\s*$")
_OPCODE = re.compile(r"^ {2}X\((\w+), \d+,", re.MULTILINE)
_FLAGS = re.compile(r"^/\* Flags\. \*/\nenum \{(.*?)^\};", re.MULTILINE | re.DOTALL)
_FLAG = re.compile(r"^ +TBK_[A-Z]+_([A-Z]+) = \d+", re.MULTILINE)
_ID = re.compile(r"^(?P<text>.*?)\s*\[(?P<id>[A-Z]{3}-\d{3})\]$", re.DOTALL)


@dataclass(frozen=True)
class HeaderLine:
    """One labelled line of a doc block. `clause` is None for "none" and for Since."""

    function: str
    label: str
    text: str
    clause: str | None
    number: int
    file: str


@dataclass(frozen=True)
class Block:
    """One documented function: what stands above its labelled lines, those, and its declaration."""

    function: str
    number: int
    lines: tuple[HeaderLine, ...]
    file: str
    brief: str
    declaration: str


def header_files(root: Path) -> list[Path]:
    """Returns the header under `root` (contracts/) and its parts, each behind those that it
    includes."""
    found: list[Path] = []

    def add(path: Path) -> None:
        for part in _PART.findall(path.read_text(encoding="utf-8")):
            if root / INCLUDE / part not in found:
                add(root / INCLUDE / part)
        found.append(path)

    add(root / HEADER)
    return found


def _function_name(declaration: str) -> str:
    found = _MEMBER.search(declaration) or _FUNCTION.search(declaration)
    return found[1] if found else "?"


def _gather(body: str, first: int) -> tuple[str, list[tuple[str, str, int]]]:
    """Returns the words above the labels; then label, joined text and line number of each line.

    A line that is indented further continues the last one.
    """
    gathered: list[tuple[str, str, int]] = []
    brief: list[str] = []
    for number, line in enumerate(body.split("\n"), first):
        if found := _LINE.match(line):
            gathered.append((found["label"], found["rest"], number))
        elif gathered and (more := _MORE.match(line)):
            label, text, start = gathered[-1]
            gathered[-1] = (label, f"{text} {more['rest']}", start)
        elif not gathered and (words := _BRIEF.match(line)):
            brief.append(words["rest"])
    return " ".join(brief), gathered


def _header_line(function: str, label: str, text: str, number: int, file: str) -> HeaderLine:
    found = _ID.match(text)
    words = " ".join((found["text"] if found else text).split())
    return HeaderLine(function, label, words, found["id"] if found else None, number, file)


def parse_header(text: str, file: str = "tbk/tbk.h") -> list[Block]:
    """Returns the doc blocks of one header, in order."""
    blocks = []
    for found in _BLOCK.finditer(text):
        declaration = found["declaration"]
        function = _function_name(declaration)
        first = text.count("\n", 0, found.start("body")) + 1
        brief, gathered = _gather(found["body"], first)
        lines = tuple(_header_line(function, *parts, file) for parts in gathered)
        blocks.append(Block(function, first - 1, lines, file, brief, " ".join(declaration.split())))
    return blocks


def load_header(root: Path) -> list[Block]:
    """Returns the doc blocks of the header and its parts under `root` (contracts/), in order."""
    include = root / INCLUDE
    return [
        block
        for path in header_files(root)
        for block in parse_header(
            path.read_text(encoding="utf-8"), path.relative_to(include).as_posix()
        )
    ]


@cache
def _packaged() -> tuple[HeaderLine, ...]:
    return tuple(line for block in load_header(contracts_root()) for line in block.lines)


def header_lines(clause_id: str) -> list[HeaderLine]:
    """Returns where the header states this clause."""
    return [line for line in _packaged() if line.clause == clause_id]


@cache
def opcodes() -> tuple[str, ...]:
    """Returns the names of what an instruction of a program computes, as tbk_opcodes.h has them."""
    text = (contracts_root() / OPCODES).read_text("utf-8")
    return tuple(_OPCODE.findall(text))


@cache
def flags() -> tuple[str, ...]:
    """Returns the names of the flags of generic kernels, as the headers of their arguments have
    them."""
    found: list[str] = []
    for part in sorted((contracts_root() / INCLUDE / "tbk").glob("tbk_*.h")):
        for block in _FLAGS.findall(part.read_text("utf-8")):
            found.extend(_FLAG.findall(block))
    return tuple(found)
