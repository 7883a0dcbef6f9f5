#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write tbk_operators.h, the argument structs of operators, from ATen schemas.

Reads contracts/spec/operators.yml. With --check, writes nothing and exits 1 if the header differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

CONTRACTS = Path(__file__).resolve().parent.parent
SOURCE = CONTRACTS / "spec" / "operators.yml"
HEADER = CONTRACTS / "include" / "tbk" / "tbk_operators.h"

# Every member is 8 bytes wide or a struct of such, so that no struct has padding at its tail.
SCALARS = {
    "Scalar": "tbk_scalar_t",
    "int": "int64_t",
    "SymInt": "int64_t",
    "bool": "int64_t",
    "float": "double",
    "ScalarType": "int64_t",
    "Layout": "int64_t",
    "MemoryFormat": "int64_t",
    "QScheme": "int64_t",
    "Device": "int64_t",
}
POINTERS = {
    "Tensor": "const tbk_tensor_t*",
    "Generator": "const tbk_generator_t*",
    "str": "const char*",
    "Dimname": "const char*",
    "DeviceIndex": "const int64_t*",
}
LISTS = {
    "Tensor": "tbk_tensor_list_t",
    "Scalar": "tbk_scalar_list_t",
    "int": "tbk_int_list_t",
    "SymInt": "tbk_int_list_t",
    "float": "tbk_double_list_t",
    "bool": "tbk_bool_list_t",
    "Dimname": "tbk_string_list_t",
}
RESERVED = {"auto", "default", "double", "float", "int", "register", "signed", "this", "operator"}


class SchemaError(ValueError):
    """A schema that this generator does not understand."""


@dataclass(frozen=True)
class Member:
    """One member of an argument struct: its C type, its name and the schema's own words."""

    c_type: str
    name: str
    origin: str

    @property
    def is_output(self) -> bool:
        """Returns whether the operator writes it."""
        return self.origin.startswith("->") or "!" in self.origin


@dataclass(frozen=True)
class Operator:
    """One overload: ATen's name, the C identifier made of it, and the members of its struct."""

    name: str
    identifier: str
    members: tuple[Member, ...]


def c_type(schema_type: str) -> str:
    """Translates one ATen type, without its alias annotation, into a C type."""
    optional = schema_type.endswith("?")
    base = schema_type.removesuffix("?")
    if found := re.fullmatch(r"(\w+)(\?)?\[\d*\]", base):
        if found[1] not in LISTS:
            raise SchemaError(f"no list of {found[1]}")
        return f"const {LISTS[found[1]]}*" if optional else LISTS[found[1]]
    if base in POINTERS:
        return POINTERS[base]
    if base not in SCALARS:
        raise SchemaError(f"no type for {schema_type}")
    return f"const {SCALARS[base]}*" if optional else SCALARS[base]


def split_top(text: str) -> list[str]:
    """Splits at commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def strip_alias(text: str) -> str:
    """Drops (a!), (a -> *) and the like from a type."""
    return re.sub(r"\([^()]*\)", "", text)


def parse_argument(text: str) -> Member:
    declaration = text.split("=", maxsplit=1)[0].strip()
    words = strip_alias(declaration).split()
    if len(words) != 2:
        raise SchemaError(f"not an argument: {text}")
    name = words[1] + "_" if words[1] in RESERVED else words[1]
    return Member(c_type(words[0]), name, text)


def parse_returns(text: str) -> list[Member]:
    """Members for outputs; what aliases an argument is that argument and needs none."""
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    fresh = [part for part in split_top(inner) if "!" not in part]
    members = []
    for index, part in enumerate(fresh):
        words = strip_alias(part).split()
        name = words[1] if len(words) > 1 else ("out" if len(fresh) == 1 else f"out{index}")
        if name in RESERVED:
            name += "_"
        if words[0] in ("Tensor", "Tensor[]"):
            members.append(Member(c_type(words[0]), name, f"-> {part}"))
        else:
            c_name = c_type(words[0])
            members.append(Member(c_name.removesuffix("*").strip() + "*", name, f"-> {part}"))
    return members


def parse_schema(schema: str) -> Operator:
    """Reads `name.overload(arguments) -> returns`."""
    found = re.fullmatch(r"([\w:]+(?:\.\w+)?)\((.*)\)\s*->\s*(.+)", schema.strip())
    if not found:
        raise SchemaError(f"not a schema: {schema}")
    name = found[1].removeprefix("aten::")
    arguments = [part for part in split_top(found[2]) if part != "*"]
    members = [parse_argument(part) for part in arguments]
    taken = {member.name for member in members}
    for member in parse_returns(found[3]):
        fresh = member.name if member.name not in taken else f"out_{member.name}"
        members.append(Member(member.c_type, fresh, member.origin))
    return Operator(name, re.sub(r"\W", "_", name), tuple(members))


def render_operator(entry: dict[str, object]) -> str:
    schema = str(entry["schema"])
    operator = parse_schema(schema)
    rules = str(entry.get("rules", "none"))
    lines = [f"/*\n * {schema}"]
    words, line = rules.split(), " * Rules:"
    for word in words:
        if len(line) + 1 + len(word) > 98:
            lines.append(line)
            line = " *  "
        line += " " + word
    lines += [line, " */"]
    lines.append(f'#define TBK_NAME_{operator.identifier} "{operator.name}"')
    lines.append(f"#define TBK_VERSION_{operator.identifier} {entry['version']}u")
    lines.append(f"typedef struct tbk_args_{operator.identifier} {{")
    lines.append("  size_t struct_size;")
    for member in operator.members:
        mark = " /* output */" if member.is_output else ""
        lines.append(f"  {member.c_type} {member.name};{mark}")
    lines.append(f"}} tbk_args_{operator.identifier}_t;")
    return "\n".join(lines)


PREAMBLE = """\
/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_operators.h: the argument structs of operators. Generated by
 * contracts/tools/generate_operators.py from contracts/spec/operators.yml; do not edit.
 */
#ifndef TBK_TBK_OPERATORS_H
#define TBK_TBK_OPERATORS_H

#include <tbk/tbk_arguments.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
"""
EPILOGUE = """\
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_OPERATORS_H */
"""


def macro(name: str, rows: list[str]) -> str:
    """Returns an X macro with one row a line."""
    return " \\\n".join([f"#define {name}(X)", *(f"  {row}" for row in rows)]) + "\n"


def render_map(operators: list[Operator]) -> str:
    """Returns the X macros over all operators, and over the tensors of each."""
    tensors = [
        macro(
            f"TBK_{kind}_{one.identifier}",
            [
                f"X({one.identifier}, {member.name})"
                for member in one.members
                if member.c_type == POINTERS["Tensor"] and member.is_output == (kind == "OUTPUTS")
            ],
        )
        for one in operators
        for kind in ("INPUTS", "OUTPUTS")
    ]
    names = macro("TBK_OPERATOR_MAP", [f"X({one.identifier})" for one in operators])
    return (
        f"/* X(operator): every operator of this header. */\n{names}\n"
        "/* X(operator, member): the tensors of each that it reads, and those that it writes. */\n"
        + "".join(tensors)
    )


def render(entries: list[dict[str, object]]) -> str:
    """Returns the whole header."""
    operators = [parse_schema(str(entry["schema"])) for entry in entries]
    structs = [render_operator(entry) + "\n" for entry in entries]
    return "\n".join([PREAMBLE, *structs, render_map(operators), EPILOGUE])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--source", type=Path, default=SOURCE)
    parser.add_argument("--header", type=Path, default=HEADER)
    options = parser.parse_args()
    try:
        text = render(yaml.safe_load(options.source.read_text())["operators"])
    except (SchemaError, OSError, KeyError, yaml.YAMLError) as error:
        print(f"generate_operators: {error}", file=sys.stderr)
        return 2
    if options.check:
        if not options.header.exists() or options.header.read_text() != text:
            print(f"generate_operators: {options.header} is stale; run ci/update")
            return 1
        return 0
    options.header.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
