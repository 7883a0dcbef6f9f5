#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write contracts/spec/operators/schemas.yml: what the installed PyTorch has of each overload.

Of each overload that a family names: the function, its form in place and that with an output, as
far as a backend has a kernel to write. Those that PyTorch makes of others, with autograd,
are left out.
With --check, writes nothing and exits 1 if the file differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import torch

CONTRACTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CONTRACTS / "tools"))

from generated import generate  # noqa: E402
from row_spec import SPEC, Argument, SpecError, families, parse_schema, read_yaml  # noqa: E402

TARGET = SPEC / "schemas.yml"
HEAD = """\
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# The schemas of the overloads that the families name. Written by contracts/rows/take_schemas.py; do
# not edit.
"""


def overloads(operator: str) -> Iterator[str]:
    """Yields the schemas of all overloads of an operator of ATen."""
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{operator}"):
        yield str(schema).removeprefix("aten::")


def is_composite(name: str) -> bool:
    """Returns whether PyTorch makes it of other operators, and differentiates those."""
    key = "CompositeImplicitAutograd"
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key))


def in_place_name(operator: str) -> str:
    """Returns the name of an operator's form in place."""
    if operator.startswith("__") and operator.endswith("__"):
        return f"__i{operator[2:]}"
    return f"{operator}_"


def plain(arguments: tuple[Argument, ...]) -> list[tuple[str, str]]:
    """Returns the names and types of arguments."""
    return [(one.name, one.type) for one in arguments]


def forms(name: str) -> dict[str, str]:
    """Returns the schemas of an overload's forms that a backend may implement."""
    operator = name.partition(".")[0]
    own = [one for one in overloads(operator) if one.partition("(")[0] == name]
    if not own:
        raise SpecError(f"PyTorch {torch.__version__} has no {name}")
    wanted = plain(parse_schema(own[0]).arguments)
    found = {"function": own[0]}
    for one in overloads(in_place_name(operator)):
        if plain(parse_schema(one).arguments) == wanted:
            found["in_place"] = one
    for one in overloads(operator):
        arguments = parse_schema(one).arguments
        if "!" in one and plain(arguments[:-1]) == wanted:
            found["out"] = one
    return {form: text for form, text in found.items() if not is_composite(text.partition("(")[0])}


def take(root: Path) -> str:
    """Returns the file for the families below `root`."""
    entries = [entry for path in families(root) for entry in read_yaml(path)["rows"]]
    lines = [HEAD.rstrip()]
    for name in sorted({name for entry in entries for name in entry["of"]}):
        taken = forms(name)
        if not taken:
            raise SpecError(f"PyTorch makes every form of {name} of other operators")
        lines += [f"{name}:", *(f"  {form}: {quoted(text)}" for form, text in taken.items())]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Returns a text as YAML has it between single quotes."""
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    sys.exit(generate(__doc__, "take_schemas", CONTRACTS, TARGET, take))
