# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What names PyTorch and the torch layer know, read from their files: importing them takes
seconds."""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

HEADERS = ("torch/headeronly/core/DeviceType.h", "c10/core/DeviceType.h")
_ENUM = re.compile(r"enum class DeviceType\b[^{]*\{(.*?)\}", re.DOTALL)
_ENTRY = re.compile(r"^\s*(\w+) = \d+,", re.MULTILINE)
_RENAMED = {"privateuse1": "privateuseone"}


def torch_folder() -> Path | None:
    """Returns where PyTorch is installed; None where it is not."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@cache
def device_types() -> tuple[str, ...]:
    """Returns the devices that PyTorch's own code has a name for; none where it came without its
    headers. What a package registers is not among them."""
    folder = torch_folder()
    for name in HEADERS if folder else ():
        path = folder / "include" / name if folder else Path()
        found = _ENUM.search(path.read_text("utf-8")) if path.is_file() else None
        if found:
            names = [one.lower() for one in _ENTRY.findall(found[1])]
            kept = [one for one in names if not one.startswith("compile_time")]
            return tuple(_RENAMED.get(one, one) for one in kept)
    return ()


def _contracts() -> Path:
    import tbk_contracts  # noqa: PLC0415  # which reads the whole spec

    return Path(tbk_contracts.__file__).resolve().parent / "torch"


def _assigned(path: Path, name: str) -> ast.expr | None:
    """Returns what a module-level name is bound to, as syntax."""
    for node in ast.parse(path.read_text("utf-8"), str(path)).body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return None


@cache
def capability_words() -> dict[str, str]:
    """Returns the words of the torch layer, each with what it means."""
    table = _assigned(_contracts() / "capability.py", "WORDS")
    found: dict[str, str] = {}
    for key, value in (
        zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ()
    ):
        if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
            meaning = value.elts[0]
            found[str(key.value)] = str(meaning.value) if isinstance(meaning, ast.Constant) else ""
    names = _assigned(_contracts() / "case.py", "DTYPES")
    for one in ast.walk(names) if names is not None else ():
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            found[f"dtype:{one.value}"] = f"tensors of {one.value} can be copied to it and back"
    return found
