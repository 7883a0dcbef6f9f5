# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Formulas: what an operator computes, in the syntax of Python, of PyTorch's own functions."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping
from functools import cache
from types import CodeType
from typing import Any

import torch

from torch_tbk.custom.bounds import FUNCTIONS, Bounding
from torch_tbk.custom.near import meant

_NODES = (
    ast.Module, ast.Expr, ast.Assign, ast.Name, ast.Load, ast.Store, ast.Constant, ast.BinOp,
    ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Tuple, ast.List,
    ast.Subscript, ast.Slice, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Attribute,
)  # fmt: skip
_ATTRIBUTES = frozenset({"dtype", "shape", "ndim", "device"})
_RESULT = "result of the formula"  # no name that a formula can write
_TOO_DEEP = "it is nested too deep: name parts of it in lines before the last one"


class FormulaError(ValueError):
    """A formula that can't be understood; the text says why, in a line."""


def _size(tensor: torch.Tensor, dim: int) -> int:
    return tensor.size(dim)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype)


_HELPERS: Mapping[str, Any] = {
    "size": _size,
    "cast": _cast,
    "min_of": min,
    "max_of": max,
    "len": len,
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
}


def known(name: str) -> Any:
    """Returns what a formula calls `name` beside its arguments; None where there is nothing."""
    if name in _HELPERS:
        return _HELPERS[name]
    if name.startswith("_"):
        return None
    found = getattr(torch._C._VariableFunctions, name, None)
    if found is None:
        found = getattr(torch.nn.functional, name, None)
        found = found if callable(found) and not isinstance(found, type) else None
    if found is None:
        found = getattr(torch, name, None)
        found = found if isinstance(found, torch.dtype) else None
    return found


@cache
def dtypes() -> tuple[str, ...]:
    """Returns the names of PyTorch's dtypes."""
    return tuple(name for name, one in vars(torch).items() if isinstance(one, torch.dtype))


class Formula:
    """An expression, after any number of lines that name a part of it: `t = tanh(x)`.

    Holds no tensors. Threads: any.
    """

    def __init__(self, text: str, names: Collection[str]) -> None:
        """Reads a formula of values called `names`. Raises FormulaError."""
        self.text = text
        try:
            tree = ast.parse(text.strip())
        except SyntaxError as error:
            raise FormulaError(f"not an expression: {error.msg}: {text.strip()}") from None
        except (RecursionError, MemoryError):
            raise FormulaError(_TOO_DEEP) from None
        except ValueError as error:  # such as a letter that no text has
            raise FormulaError(f"not an expression: {error}") from None
        own = _assigned(tree)
        self._functions: dict[str, Any] = dict(FUNCTIONS)
        for node in ast.walk(tree):
            self._check(node, names, own)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.names = frozenset(used & set(names))
        try:
            self._code = _compile(tree)
        except (RecursionError, MemoryError):
            raise FormulaError(_TOO_DEEP) from None

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Returns what it computes of `values`; what PyTorch raises, it raises."""
        room = {name: values[name] for name in self.names}
        exec(self._code, self._functions, room)  # noqa: S102  # of nodes that were looked through
        return room[_RESULT]

    def _check(self, node: ast.AST, names: Collection[str], own: Collection[str]) -> None:
        if not isinstance(node, _NODES):
            raise FormulaError(f"a formula has no {type(node).__name__}: {self.text.strip()}")
        if isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
            raise FormulaError(f"a formula has no .{node.attr}: write {node.attr}(...)")
        if not isinstance(node, ast.Name) or node.id in names or node.id in own:
            return
        found = known(node.id)
        if found is None:
            raise FormulaError(_unknown(node.id, names))
        self._functions[node.id] = found


def _assigned(tree: ast.Module) -> set[str]:
    """Returns the names that lines before the last one give."""
    found: set[str] = set()
    for line in tree.body[:-1]:
        if not isinstance(line, ast.Assign):
            raise FormulaError("lines before the last one name a part: `t = tanh(x)`")
        for target in line.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {one.id for one in parts if isinstance(one, ast.Name)}
    return found


def _compile(tree: ast.Module) -> CodeType:
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise FormulaError("a formula ends with an expression")
    last = tree.body[-1]
    target = ast.Name(id=_RESULT, ctx=ast.Store())
    tree.body[-1] = ast.Assign(targets=[target], value=last.value)
    tree = Bounding().visit(tree)
    return compile(ast.fix_missing_locations(tree), "formula", "exec")


def _unknown(name: str, names: Collection[str]) -> str:
    there = [*names, *_HELPERS, *dir(torch._C._VariableFunctions), *dir(torch.nn.functional)]
    hint = meant(name, (one for one in there if one[0] != "_"))
    return f"{name!r} is no argument, and no function of PyTorch{hint}"
