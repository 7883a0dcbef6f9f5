#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write contracts/spec/operators/overloads.txt: every overload of ATen that PyTorch dispatches.

Left out are the forms in place and with out= of a function that stands there, and what has an
argument that no C struct holds. The version of an overload rises where its schema is not what is
written there.
With --check, writes nothing and exits 1 if the file differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

CONTRACTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CONTRACTS / "tools"))

from generate_operators import SchemaError, parse_schema  # noqa: E402
from generated import generate  # noqa: E402
from overloads import read_list  # noqa: E402

TARGET = Path("spec") / "operators" / "overloads.txt"
HEAD = """\
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# Every overload of ATen that PyTorch dispatches: its version and its schema. Written by
# contracts/rows/take_overloads.py; do not edit.
"""


def dispatched() -> list[str]:
    """Returns the schemas of ATen that have a tensor and that the dispatcher knows, sorted."""
    found = []
    for schema in torch._C._jit_get_all_schemas():
        text = str(schema).removeprefix("aten::")
        if schema.name.startswith("aten::") and "Tensor" in text and is_dispatched(text):
            found.append(text)
    return sorted(found)


def is_dispatched(schema: str) -> bool:
    """Returns whether the dispatcher has it, and not TorchScript alone."""
    name = f"aten::{schema.partition('(')[0]}"
    return bool(torch._C._dispatch_has_kernel(name))


def inputs(schema: str) -> tuple[tuple[str, str], ...]:
    """Returns the types and names of what an overload reads, without what out= gives."""
    members = [one for one in parse_schema(schema).members if not one.origin.startswith("->")]
    end = len(members)
    if operator_of(schema) == schema.partition("(")[0].partition(".")[0]:
        end = next((i for i, one in enumerate(members) if "!" in one.origin), end)
    return tuple((one.c_type, one.name) for one in members[:end])


def operator_of(schema: str) -> str:
    """Returns the name of the function of which an overload may be a form."""
    name = schema.partition("(")[0].partition(".")[0]
    if name.startswith("__i") and name.endswith("__"):
        return f"__{name[3:]}"
    return name.removesuffix("_") if not name.endswith("__") else name


def take(contracts: Path) -> str:
    """Returns the file, with the versions of the one that is there."""
    path = contracts / TARGET
    old = read_list(path.read_text()) if path.exists() else {}
    lines = []
    schemas = [one for one in dispatched() if is_held(one)]
    functions = {(operator_of(one), inputs(one)) for one in schemas if "!" not in one}
    for schema in schemas:
        if "!" in schema and (operator_of(schema), inputs(schema)) in functions:
            continue
        before = old.get(schema.partition("(")[0])
        changed = before is not None and before.schema != schema
        lines.append(f"{before.version + changed if before else 1} {schema}")
    return HEAD + "\n".join(lines) + "\n"


def is_held(schema: str) -> bool:
    """Returns whether a C struct holds all arguments."""
    try:
        parse_schema(schema)
    except SchemaError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(generate(__doc__, "take_overloads", CONTRACTS, TARGET, take))
