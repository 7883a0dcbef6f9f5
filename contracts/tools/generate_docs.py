#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write docs/reference/clauses.md and docs/reference/operators.md from the spec.

With --check, writes nothing and exits 1 if a page differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

from generate_operators import SchemaError, parse_schema  # noqa: E402
from spec_world import World, load_world  # noqa: E402
from tbk_contracts import Clause, SpecError  # noqa: E402

PAGES = Path("docs") / "reference"
SHOWN_FUNCTIONS = 3

CLAUSES_HEAD = """\
# Clauses

Generated from `contracts/spec` by `contracts/tools/generate_docs.py`; do not edit.

*Level*: **must** decides, **should** is reported, **may** permits. *Kind*: **checked** is shown by
tests; **undefined** is what no test may rely on; **untestable** holds, but nothing can show it, for
the reason given. *Source* says where a clause comes from: a file of PyTorch and what stands there,
or this ABI and why.
"""
OPERATORS_HEAD = """\
# Operators

Generated from `contracts/spec/operators.yml` by `contracts/tools/generate_docs.py`; do not edit.

The argument struct of each operator stands in `<tbk/tbk_operators.h>`, made of the types of
`<tbk/tbk_arguments.h>`. A backend offers an operator by answering `kernel_find` for its name and
version; it offers none that it does not name.
"""


def escape(text: str) -> str:
    """Text for a cell of a table; what stands in backticks stays as it is."""
    parts = text.replace("|", "&#124;").split("`")
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"([*_\[\]])", r"\\\1", parts[place])
        parts[place] = parts[place].replace("<", "&lt;").replace(">", "&gt;")
    return "`".join(parts)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Returns a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def of_text(clause: Clause) -> str:
    """Returns the functions that state it, shortened where there are many."""
    shown = [f"`{name}`" for name in clause.of[:SHOWN_FUNCTIONS]]
    rest = len(clause.of) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def sentence(clause: Clause) -> str:
    """Returns the sentence, and what a reader must know besides."""
    parts = [escape(clause.text)]
    if clause.reason:
        parts.append(f"*No test:* {escape(clause.reason)}.")
    if clause.note:
        parts.append(f"*Note:* {escape(clause.note)}.")
    return "<br>".join(parts)


def clause_row(world: World, clause: Clause) -> list[str]:
    """Returns one row; tests and mutants only where there can be any."""
    row = [
        f'<a id="{clause.id.lower()}"></a>{clause.id}',
        clause.level,
        clause.kind,
        sentence(clause),
        of_text(clause),
        "<br>".join(escape(source) for source in clause.source),
    ]
    if "c" in clause.layer:
        tests = [f"`{one.id}`" for one in world.rows if one.clause == clause.id]
        breaking = [one for one in world.mutants or [] if one.clause == clause.id]
        row += ["<br>".join(tests), str(len(breaking)) if world.mutants is not None else "?"]
    return row


def summary_row(world: World, area: str, clauses: list[Clause]) -> list[str]:
    """Returns how much there is in an area."""
    ids = {clause.id for clause in clauses}
    counts = [
        len(clauses),
        sum(clause.checked_must for clause in clauses),
        *(
            sum(one.kind == kind for one in clauses)
            for kind in ("checked", "undefined", "untestable")
        ),
        sum(row.clause in ids for row in world.rows),
    ]
    return [area, *map(str, counts)]


def areas(world: World, layer: str) -> dict[str, list[Clause]]:
    """Returns the clauses of a layer by area, by id."""
    chosen = [clause for clause in world.clauses if ("c" in clause.layer) == (layer == "c")]
    order = (
        list(world.areas.values()) if layer == "c" else list(dict.fromkeys(c.area for c in chosen))
    )
    grouped = {
        area: sorted((c for c in chosen if c.area == area), key=lambda c: c.id) for area in order
    }
    return {area: clauses for area, clauses in grouped.items() if clauses}


def clause_sections(world: World) -> Iterator[str]:
    """Yields the page of clauses, part by part."""
    yield CLAUSES_HEAD
    columns = ["Area", "Clauses", "Checked must", "Checked", "Undefined", "Untestable", "Tests"]
    for layer, title in (("c", "The C layer"), ("torch", "The torch layer")):
        grouped = areas(world, layer)
        everything = [clause for clauses in grouped.values() for clause in clauses]
        rows = [summary_row(world, area, clauses) for area, clauses in grouped.items()]
        rows.append(summary_row(world, "**all**", everything))
        yield f"\n## {title}\n\n"
        if layer == "torch":
            yield "What can be seen only through PyTorch. The tests come with the bridge.\n\n"
        width = len(columns) if layer == "c" else len(columns) - 1
        yield table(columns[:width], [row[:width] for row in rows])
        head = ["Id", "Level", "Kind", "Clause", "Of", "Source", "Tests", "Mutants"]
        for area, clauses in grouped.items():
            yield f"\n### {area if layer == 'c' else f'torch: {area}'}\n\n"
            yield table(head if layer == "c" else head[:6], [clause_row(world, c) for c in clauses])


def operator_sections(path: Path) -> Iterator[str]:
    """Yields the page of operators, part by part."""
    yield OPERATORS_HEAD
    for entry in yaml.safe_load(path.read_text())["operators"]:
        operator = parse_schema(entry["schema"])
        yield f"\n## {operator.name}\n\n"
        yield f"    {entry['schema']}\n\n"
        yield f"Version {entry['version']}; `tbk_args_{operator.identifier}_t`. "
        yield f"{escape(str(entry.get('rules', '')))}\n\n"
        rows = [
            [f"`{member.name}`", f"`{member.c_type}`", f"`{member.origin}`"]
            for member in operator.members
        ]
        yield table(["Member", "Type", "In the schema"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--root", type=Path, default=TOOLS.parent.parent, help="the checkout")
    parser.add_argument("--mutants", type=Path, help="the output of tbk-mutants, to count them")
    options = parser.parse_args()
    root: Path = options.root
    try:
        world = load_world(root, options.mutants)
        pages: dict[str, Callable[[], Iterator[str]]] = {
            "clauses.md": lambda: clause_sections(world),
            "operators.md": lambda: operator_sections(root / "contracts/spec/operators.yml"),
        }
        stale = False
        for name, sections in pages.items():
            path, text = root / PAGES / name, "".join(sections())
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                print(f"generate_docs: {path} is stale; run ci/update")
                stale = True
    except (SpecError, SchemaError, OSError, ValueError, KeyError, yaml.YAMLError) as error:
        print(f"generate_docs: {error}", file=sys.stderr)
        return 2
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
