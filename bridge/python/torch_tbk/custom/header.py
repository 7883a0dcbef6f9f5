# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The C header of a file of operators: names, versions and argument structs, as in tbk_aten.h."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from torch_tbk.custom.members import Member
from torch_tbk.custom.spec import Operator


def render(operators: Sequence[Operator], file: Path) -> str:
    """Returns the header of the operators of `file` that name a kernel. Ends with a line's end."""
    stem = re.sub(r"\W", "_", file.stem)
    guard = f"{stem.upper()}_OPERATORS_H"
    structs = [structure(one) for one in operators if one.kernel is not None]
    return "\n".join([
        f"/* The argument structs of {file.name}, made by `tbk operators`; do not edit. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <tbk/tbk_arguments.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* clang-format off */",
        "",
        "\n".join(structs),
        "/* clang-format on */",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
        "",
    ])  # fmt: skip


def structure(one: Operator) -> str:
    """Returns the name, the version and the struct of an operator that names a kernel."""
    name = re.sub(r"\W", "_", str(one.kernel))
    return struct(one.definition, name, str(one.kernel), one.version, one.members)


def struct(schema: str, identifier: str, name: str, version: int, members: Sequence[Member]) -> str:
    """Returns a struct, and the macros for its name and version."""
    lines = [f"  {one.c_type} {one.name};" + (" /* output */" if one.is_written else "")
             for one in members]  # fmt: skip
    return "\n".join([
        f"/* {schema} */",
        f'#define TBK_NAME_{identifier} "{name}"',
        f"#define TBK_VERSION_{identifier} {version}u",
        f"typedef struct tbk_args_{identifier} {{",
        "  size_t struct_size;",
        *lines,
        f"}} tbk_args_{identifier}_t;",
        "",
    ])  # fmt: skip
