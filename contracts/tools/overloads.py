#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Look overloads of PyTorch up in contracts/spec/operators/overloads.txt, and say what to write.

`overloads.py NAME...` prints of each the schema and the members of its argument struct. What is not
found, what several overloads share, and a schema of another PyTorch are told in a line.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generate_operators import SchemaError, parse_schema

NEAR = 0.65  # below it, words are alike by mere chance
LIST = Path(__file__).resolve().parent.parent / "spec" / "operators" / "overloads.txt"


@dataclass(frozen=True)
class Overload:
    """A schema of PyTorch, and how often it has changed since it was first written down."""

    name: str
    schema: str
    version: int


def read_list(text: str) -> dict[str, Overload]:
    """Returns the overloads of a list by name. A line is a version and a schema."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        version, _, schema = line.partition(" ")
        name = schema.partition("(")[0]
        if not version.isdecimal() or "->" not in schema or name in found:
            raise SchemaError(f"overloads.txt:{number}: not a version and a new schema: {line}")
        found[name] = Overload(name, schema, int(version))
    return found


def load_list(path: Path = LIST) -> dict[str, Overload]:
    """Returns the overloads that there are."""
    return read_list(path.read_text())


def find(word: str, known: Mapping[str, Overload]) -> Overload:
    """Returns what a name or a whole schema means; else raises, and says what to write."""
    word = word.strip().removeprefix("aten::")
    name = word.partition("(")[0]
    if name not in known:
        raise SchemaError(unknown(name, known))
    if "(" in word and word != known[name].schema:
        raise SchemaError(f"{name} has another schema in this PyTorch; write {known[name].schema}")
    return known[name]


def unknown(name: str, known: Mapping[str, Overload]) -> str:
    """Returns what is wrong with a name that there is not: a line."""
    operator = name.partition(".")[0]
    shared = [one for one in known if one.partition(".")[0] == operator]
    if shared:
        what = "means several overloads" if len(shared) > 1 else "is no overload"
        what = what if name == operator else f"is no overload of {operator}"
        return f"{name} {what}; write {' or '.join(sorted(shared))}"
    plain = operator.removesuffix("_")
    if any(one.partition(".")[0] == plain for one in known):
        return f"{name} writes into an operand: the host calls {plain} for it; write that"
    near = difflib.get_close_matches(name, known, 3, NEAR)
    return f"PyTorch has no {name}" + (f"; write {' or '.join(near)}" if near else "")


def show(one: Overload) -> str:
    """Returns a schema and the members of its struct, a line each."""
    members = [f"  {member.c_type} {member.name}" for member in parse_schema(one.schema).members]
    return "\n".join([f"{one.schema}  (version {one.version})", *members])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="add.Tensor, or a whole schema")
    options = parser.parse_args()
    try:
        known = load_list()
        print("\n".join(show(find(name, known)) for name in options.names))
    except (SchemaError, OSError) as error:
        print(f"overloads: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
