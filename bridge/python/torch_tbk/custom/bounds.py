# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of a formula that ends: Python's own numbers and lists grow without a bound."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

_BITS = 1024  # of a whole number: what is larger is no float either
_LENGTH = 100_000  # of a list or a text
_Operation = Callable[[Any, Any], Any]


class BeyondBoundsError(ArithmeticError):
    """A number or list of a formula is larger than any use of it."""


def _power(left: Any, right: Any) -> Any:
    if _whole(left, right) and abs(left) > 1 and right > _BITS:
        raise BeyondBoundsError(f"a power has more than {_BITS} bits")
    return _bounded(left**right)


def _shifted(left: Any, right: Any) -> Any:
    if _whole(left, right) and left and right > _BITS:
        raise BeyondBoundsError(f"a shift has more than {_BITS} bits")
    return _bounded(left << right)


def _product(left: Any, right: Any) -> Any:
    for some, count in ((left, right), (right, left)):
        if isinstance(some, (list, tuple, str)) and isinstance(count, int):
            _check_length(len(some) * count)
    return _bounded(left * right)


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, (list, tuple, str)) and isinstance(right, (list, tuple, str)):
        _check_length(len(left) + len(right))
    return left + right


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise BeyondBoundsError("a formula fills no text: %")
    return left % right


def _whole(left: Any, right: Any) -> bool:
    return isinstance(left, int) and isinstance(right, int)


def _bounded(found: Any) -> Any:
    if isinstance(found, int) and found.bit_length() > _BITS:
        raise BeyondBoundsError(f"a whole number has more than {_BITS} bits")
    return found


def _check_length(count: int) -> None:
    if count > _LENGTH:
        raise BeyondBoundsError(f"a list has {count} elements; {_LENGTH} are the most")


_BOUNDED: Mapping[type[ast.operator], _Operation] = {
    ast.Pow: _power,
    ast.LShift: _shifted,
    ast.Mult: _product,
    ast.Add: _sum,
    ast.Mod: _remainder,
}
# By names that a formula can't write.
FUNCTIONS: Mapping[str, _Operation] = {
    f"bounded {kind.__name__}": function for kind, function in _BOUNDED.items()
}


class Bounding(ast.NodeTransformer):
    """Replaces operators by their functions here, and so keeps Python's compiler from folding."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Returns the call that computes the same within bounds."""
        self.generic_visit(node)
        if type(node.op) not in _BOUNDED:
            return node
        name = ast.Name(id=f"bounded {type(node.op).__name__}", ctx=ast.Load())
        return ast.Call(func=name, args=[node.left, node.right], keywords=[])
