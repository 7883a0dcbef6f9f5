# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The C interface as pages, one for each part of the header: declarations, then functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tbk_contracts.header import Block, header_files, parse_header

FOLDER = "reference/c"
INDEX = f"{FOLDER}/index.md"
# 2,000 structs, one for each overload of PyTorch, that nobody reads from top to bottom.
TOO_LONG = {"tbk_aten.h"}
WIDTH = 90

_LEAD = re.compile(r"\A/\*.*?\n \*\n \* (\w+\.h): (.*?)\n \*/\n", re.DOTALL)
_DOC = re.compile(r"^[ \t]*/\*\*\n.*?\*/\n", re.MULTILINE | re.DOTALL)
_GUARD = re.compile(r"\A#ifndef (\w+)\n#define \1\n|^#ifdef __cplusplus\n.*?#endif\n"
                    r"|^#endif(?: /\* \w+ \*/)?\s*\Z", re.MULTILINE | re.DOTALL)  # fmt: skip
_MARKS = re.compile(r"([\\`*_\[\]<>|])")


def escape(text: str) -> str:
    """Returns text with Markdown's own signs told apart, but for what stands in backticks."""
    parts = text.split("`")
    parts[::2] = [_MARKS.sub(r"\\\1", one) for one in parts[::2]]
    return "`".join(parts)


def headers(contracts: Path) -> list[Path]:
    """Returns the parts that have a page, each behind those that it includes."""
    return [path for path in header_files(contracts) if path.name not in TOO_LONG]


def lead(text: str) -> str:
    """Returns what the head of a header says that it is."""
    found = _LEAD.match(text)
    words = " ".join(found[2].replace("\n *", " ").split()) if found else ""
    return words[:1].upper() + words[1:]


def declarations(text: str) -> str:
    """Returns a header without its doc blocks, its guard and its licence."""
    rest = _GUARD.sub("", _DOC.sub("", _LEAD.sub("", text)))
    return re.sub(r"\n{3,}", "\n\n", rest).strip()


def declaration(block: Block) -> str:
    """Returns the declaration of a function, broken behind commas where it is long."""
    lines = [""]
    for part in block.declaration.split(", "):
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines.append("    ")
        lines[-1] += part + ", "
    return "\n".join(line.rstrip() for line in lines).removesuffix(",") + ";"


def function(block: Block) -> Iterator[str]:
    """Yields the section of one function."""
    yield f"### `{block.function}` {{ #{block.function} }}\n\n{escape(block.brief)}\n\n"
    yield f"```c\n{declaration(block)}\n```\n\n| | | clause |\n|---|---|---|\n"
    for line in block.lines:
        clause = f"[{line.clause}](../clauses.md#{line.clause.lower()})" if line.clause else ""
        yield f"| {line.label} | {escape(line.text)} | {clause} |\n"
    yield "\n"


def page(path: Path) -> str:
    """Returns the page of one part of the header."""
    text = path.read_text("utf-8")
    blocks = parse_header(text)
    parts = [f"# {path.name}\n\n{escape(lead(text))}\n\n"]
    parts.append(f"## What it declares\n\n```c\n{declarations(text)}\n```\n\n")
    if blocks:
        parts.append("## Functions\n\n")
    parts += [piece for block in blocks for piece in function(block)]
    return "".join(parts)


def index(contracts: Path) -> str:
    """Returns the page that lists the parts and their functions."""
    rows = []
    for path in headers(contracts):
        text = path.read_text("utf-8")
        named = ", ".join(f"[`{one.function}`]({path.stem}.md#{one.function})"
                          for one in parse_header(text))  # fmt: skip
        rows.append(f"| [{path.name}]({path.stem}.md) | {escape(lead(text))} | {named} |\n")
    return (
        "# The C interface\n\n"
        "What a backend and its host say to each other, made from the header itself. Each\n"
        "sentence of a function has the [clause](../clauses.md) that the tests prove; include\n"
        "`<tbk/tbk.h>` for all of it. `<tbk/tbk_aten.h>`, the argument structs of PyTorch's other\n"
        "overloads, has no page:\n"
        "`python contracts/tools/overloads.py NAME` prints one.\n\n"
        "| part | what it is | functions |\n|---|---|---|\n" + "".join(rows)
    )


def pages(contracts: Path) -> dict[str, str]:
    """Returns all pages by their paths below docs/, in the order of the header."""
    made = {f"{FOLDER}/{path.stem}.md": page(path) for path in headers(contracts)}
    return {INDEX: index(contracts), **made}


def places(contracts: Path) -> dict[str, str]:
    """Returns where each function has its section: a path below docs/ with an anchor."""
    return {
        block.function: f"{FOLDER}/{path.stem}.md#{block.function}"
        for path in headers(contracts)
        for block in parse_header(path.read_text("utf-8"))
    }
