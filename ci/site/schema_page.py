# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The schema of result files as a page: the members of each kind of line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from c_pages import escape

PATH = "reference/results.md"
FILE = "reference/results.schema.json"
HEAD = """\
# Result files

A result file has one JSON object a line: a *header*, then a record for each test as it ends, and
a *footer* where the run came to its end. A line may be cut short by whatever ended the run;
`--resume` and `tbk report` know what to do with it. Members are added and never change their
meaning; whoever reads a file passes over those that it does not know.

This page is made from [the schema](results.schema.json) (JSON Schema, draft 2020-12), which CI
holds the lines of real runs against. A file is held against it by any validator:

```python
import json
from pathlib import Path

import jsonschema
from tbk_harness.locate import result_schema

schema = json.loads(result_schema().read_text("utf-8"))
for line in Path("tbk-report/results.jsonl").read_text("utf-8").splitlines():
    jsonschema.validate(json.loads(line), schema)
```
"""


def _type(schema: dict[str, Any], definitions: dict[str, Any]) -> str:  # noqa: PLR0911
    """Returns in words what a value may be."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if definitions[name].get("type") == "object":
            return f"[{name}](#{name})"
        return _type(definitions[name], definitions)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join("null" if one is None else f'`"{one}"`' for one in schema["enum"])
    if either := schema.get("oneOf") or schema.get("anyOf"):
        return " or ".join(_type(one, definitions) for one in either)
    kinds = schema.get("type", "any value")
    said = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if said == "array":
        return f"array of {_type(schema.get('items', {}), definitions)}"
    if said == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object, each member {_type(schema['additionalProperties'], definitions)}"
    if "minimum" in schema:
        said += f", {schema['minimum']} or more"
    return said


def _rows(schema: dict[str, Any], definitions: dict[str, Any], before: str = "") -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, member in schema.get("properties", {}).items():
        must = "yes" if name in required else ""
        about = escape(member.get("description", ""))
        yield f"| `{before}{name}` | {_type(member, definitions)} | {must} | {about} |\n"
        if member.get("type") == "object":
            yield from _rows(member, definitions, f"{before}{name}.")


def page(schema: dict[str, Any]) -> str:
    """Returns the page."""
    definitions = schema["$defs"]
    parts = [HEAD, "\n"]
    for name, one in definitions.items():
        if one.get("type") != "object":
            continue
        parts.append(f"## {name} {{ #{name} }}\n\n")
        if one.get("description"):
            parts.append(f"{escape(one['description'])}\n\n")
        parts.append("| member | type | always there | |\n|---|---|---|---|\n")
        parts += [*_rows(one, definitions), "\n"]
    return "".join(parts)
