# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The torch layer's tests and mutants, from their syntax: PyTorch need not be there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What writes a row into the table of mutants.
REGISTER = frozenset({"mutant", "operator", "native", "storage", "backend"})


@dataclass(frozen=True)
class TorchTest:
    """A function that cites a clause."""

    file: str
    number: int
    name: str
    clauses: tuple[str, ...]
    """One; where it depends on a parameter, all that it may be; none that can be read is "?"."""
    needs: str


@dataclass(frozen=True)
class TorchMutant:
    """A row of the mutants' table."""

    file: str
    number: int
    name: str
    clauses: tuple[str, ...]


def parse_file(path: Path) -> ast.Module:
    """Returns the syntax of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _constants(tree: ast.Module) -> dict[str, str]:
    """Module-level names of strings."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = _text(node.value, found)
            if text is not None:
                found[node.targets[0].id] = text
    return found


def _text(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    """Returns a string that is written out, named, or put together of such."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _text(node.left, constants), _text(node.right, constants)
        return None if None in parts else "".join(part for part in parts if part)
    return None


def _call(node: ast.expr, names: frozenset[str]) -> ast.Call | None:
    """Returns a call of one of these, by its bare name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
        return node
    return None


def read_tests(tree: ast.Module, file: str) -> Iterator[TorchTest]:
    """Functions with @clause; a need that can't be read is "?", which is no word."""
    constants = _constants(tree)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for decorator in function.decorator_list:
            call = _call(decorator, frozenset({"clause"}))
            if call is None:
                continue
            given = {one.arg: one.value for one in call.keywords}
            stated = call.args[1] if len(call.args) > 1 else given.get("needs")
            needs = _text(stated, constants) if stated is not None else ""
            cited = _ids(call.args[0], tree) if call.args else []
            yield TorchTest(file, function.lineno, function.name, tuple(cited or ["?"]),
                            "?" if needs is None else needs)  # fmt: skip


def _ids(node: ast.expr, tree: ast.Module) -> list[str]:
    """Returns the ids that stand there: a string, or TABLE.get(..., "default") with a table of
    strings."""
    text = _text(node, _constants(tree))
    if text is not None:
        return [text]
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return []
    table = getattr(node.func.value, "id", "")
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == table:
            values = statement.value.values if isinstance(statement.value, ast.Dict) else []
            found = [_text(value, {}) for value in [*values, *node.args[1:]]]
            return [one for one in found if one is not None]
    return []


def read_mutants(tree: ast.Module, file: str) -> Iterator[TorchMutant]:
    """Calls that write rows."""
    for node in ast.walk(tree):
        call = _call(node, REGISTER) if isinstance(node, ast.Call) else None
        if call is None or len(call.args) < 3:
            continue
        stated = [_text(argument, {}) for argument in call.args[:2]]
        if stated[0] is None or stated[1] is None:
            continue
        layer = "backend:" if getattr(call.func, "id", "") == "backend" else ""
        yield TorchMutant(file, call.lineno, layer + stated[0], tuple(stated[1].split()))


def torch_tests(folder: Path, root: Path, files: str = "test_*.py") -> Iterator[TorchTest]:
    """Yields those in some files of `folder`, which are named from `root` on."""
    for path in sorted(folder.glob(files)):
        yield from read_tests(parse_file(path), path.relative_to(root).as_posix())


def torch_tests_of(clause_id: str) -> list[TorchTest]:
    """Returns the tests of this package that cite a clause."""
    here = Path(__file__).resolve().parent
    return [one for one in torch_tests(here / "torch", here) if clause_id in one.clauses]


def torch_mutants(folder: Path, root: Path) -> Iterator[TorchMutant]:
    """Yields the rows of the mutants' tables in `folder`."""
    for path in sorted(folder.glob("*.py")):
        yield from read_mutants(parse_file(path), path.relative_to(root).as_posix())
