# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Read a formula of complex numbers into nodes of real ones: each complex value is two of them.

The syntax is that of row_formula.py. Arguments are complex, constants are real, and what
real(), imag(), abs() and angle() give is; `+`, `-`, `*`, `/`, `==`, `!=` and `where` take both
kinds. Of a complex operand a function is that of complex.yml, of real ones an opcode: exp(z) is
made of exp(real(z)).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from row_formula import (
    BINARY,
    COMPARE,
    CONSTANTS,
    Formula,
    FormulaError,
    Language,
    Node,
    Reader,
    prune,
    steps_of,
)


@dataclass(frozen=True)
class Pair:
    """The places of a complex value's real and imaginary part."""

    real: int
    imaginary: int


Value = Pair | int  # a place alone holds a real number or a truth value


@dataclass(frozen=True)
class ComplexFormula:
    """Nodes in order, and the places of the result: -1 where it has no imaginary part."""

    nodes: tuple[Node, ...]
    real: int
    imaginary: int
    is_truth: bool


class ComplexReader:
    """Reads one formula, as Reader does of real numbers."""

    def __init__(
        self,
        language: Language,
        of_complex: Mapping[str, tuple[tuple[str, ...], str]],
        arguments: Mapping[str, str],
        absent: frozenset[str],
    ) -> None:
        self.parts = Reader(language, "real", arguments, absent)
        self.of_complex = of_complex
        self.scope: dict[str, Value] = {}
        self.depth = 0

    def read(self, text: str) -> ComplexFormula:
        """Returns the nodes of a formula, those alone that the result needs."""
        result = self.body(text)
        if isinstance(result, int):
            pruned = prune(self.parts.nodes, result)
            return ComplexFormula(pruned.nodes, len(pruned.nodes) - 1, -1, pruned.is_truth)
        nodes, (real, imaginary) = prune_all(self.parts.nodes, (result.real, result.imaginary))
        return ComplexFormula(nodes, real, imaginary, is_truth=False)

    def body(self, text: str) -> Value:
        steps, result = steps_of(text)
        for name, value in steps:
            self.scope[name] = self.value(value)
        return self.value(result)

    def value(self, tree: ast.expr) -> Value:  # noqa: PLR0911  a flat switch
        """Returns what an expression gives."""
        match tree:
            case ast.Constant(value=int() | float() as number):
                return self.parts.literal(float(number))
            case ast.Name(id=name):
                return self.named(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.binary(BINARY[type(op)], self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.parts.opcode("NOT", [self.truth(self.value(operand))])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.each(lambda one: self.parts.opcode("NEG", [one]), self.value(operand))
            case ast.BoolOp(op=op, values=values):
                name = "AND" if isinstance(op, ast.And) else "OR"
                places = [self.truth(self.value(one)) for one in values]
                last = places[0]
                for place in places[1:]:
                    last = self.parts.opcode(name, [last, place])
                return last
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                return self.compare(COMPARE[type(op)], self.value(left), self.value(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments)
        raise FormulaError(f"`{ast.unparse(tree)}` is no part of a formula of complex numbers")

    def named(self, name: str) -> Value:
        if name in self.scope:
            return self.scope[name]
        if name in self.parts.absent:
            raise FormulaError(f"{name} may be absent: say given({name}, ...)")
        kind = self.parts.arguments.get(name)
        if kind is None and name in CONSTANTS:
            return self.parts.literal(CONSTANTS[name])
        place = self.parts.named(name)
        if kind not in ("tensor", "number"):
            return place
        imaginary = "kTensorImaginary" if kind == "tensor" else "kNumberImaginary"
        return Pair(place, self.parts.add(Node(imaginary, name)))

    def each(self, change: Callable[[int], int], value: Value) -> Value:
        """Returns what `change` makes of the part or both parts."""
        if isinstance(value, int):
            return change(value)
        return Pair(change(value.real), change(value.imaginary))

    def pair(self, value: Value) -> Pair:
        """Returns a value as a complex one."""
        if isinstance(value, Pair):
            return value
        return Pair(self.parts.compute(value), self.parts.literal(0.0))

    def binary(self, name: str, left: Value, right: Value) -> Value:  # noqa: PLR0911  a flat switch
        if isinstance(left, int) and isinstance(right, int):
            return self.parts.opcode(name, [left, right])
        if name in ("MUL", "DIV") and isinstance(right, int):
            factor = right
            return self.each(lambda one: self.parts.opcode(name, [one, factor]), left)
        if name == "MUL" and isinstance(left, int):
            factor = left
            return self.each(lambda one: self.parts.opcode(name, [factor, one]), right)
        if name == "ADD" and isinstance(left, int):
            left, right = right, left
        match name:
            case "ADD" | "SUB" if isinstance(right, int):
                one = self.pair(left)
                return Pair(self.parts.opcode(name, [one.real, right]), one.imaginary)
            case "ADD" | "SUB":
                return self.by_parts(name, self.pair(left), self.pair(right))
            case "MUL":
                return self.product(self.pair(left), self.pair(right))
            case "DIV":
                return self.function("quotient_of", [self.pair(left), self.pair(right)])
        raise FormulaError(f"{name} is not for complex numbers")

    def by_parts(self, name: str, a: Pair, b: Pair) -> Pair:
        return Pair(
            self.parts.opcode(name, [a.real, b.real]),
            self.parts.opcode(name, [a.imaginary, b.imaginary]),
        )

    def product(self, a: Pair, b: Pair) -> Pair:
        def times(x: int, y: int) -> int:
            return self.parts.opcode("MUL", [x, y])

        real = [times(a.real, b.real), times(a.imaginary, b.imaginary)]
        imaginary = [times(a.real, b.imaginary), times(a.imaginary, b.real)]
        return Pair(self.parts.opcode("SUB", real), self.parts.opcode("ADD", imaginary))

    def compare(self, name: str, left: Value, right: Value) -> int:
        if isinstance(left, int) and isinstance(right, int):
            return self.parts.opcode(name, [left, right])
        if name not in ("EQ", "NE"):
            raise FormulaError(f"{name} is not for complex numbers")
        both = self.by_parts(name, self.pair(left), self.pair(right))
        return self.parts.opcode("AND" if name == "EQ" else "OR", [both.real, both.imaginary])

    def truth(self, value: Value) -> int:
        """Returns whether a value is not 0."""
        if isinstance(value, int):
            return self.parts.truth(value)
        return self.parts.opcode(
            "OR", [self.parts.truth(value.real), self.parts.truth(value.imaginary)]
        )

    def call(self, name: str, arguments: list[ast.expr]) -> Value:
        if name == "given":
            return self.given(arguments)
        values = [self.value(one) for one in arguments]
        own = self.own(name, values)
        if own is not None:
            return own
        is_opcode = name.upper() in self.parts.language.opcodes and name == name.lower()
        is_complex = any(isinstance(one, Pair) for one in values)
        of_here = name in self.of_complex and (is_complex or not is_opcode)
        if of_here or name in self.parts.language.functions:
            return self.function(name, values)
        if is_opcode:
            return self.parts.opcode(name.upper(), [self.real(one) for one in values])
        raise FormulaError(f"no function {name} of {len(arguments)} operands")

    def given(self, arguments: list[ast.expr]) -> Value:
        if len(arguments) != 2 or not isinstance(arguments[0], ast.Name):
            raise FormulaError("given takes the name of an argument and what stands for it")
        return self.value(arguments[arguments[0].id in self.parts.absent])

    def own(self, name: str, values: list[Value]) -> Value | None:  # noqa: PLR0911  a flat switch
        """Returns what a function gives that is neither an opcode nor one of a file."""
        match name, values:
            case "real", [one]:
                return self.pair(one).real
            case "imag", [one]:
                return self.pair(one).imaginary
            case "complex", [one, other]:
                return Pair(self.real(one), self.real(other))
            case "truth", [one]:
                return self.truth(one)
            case "number", [int() as one]:
                return self.parts.compute(one)
            case "where", [condition, yes, no]:
                return self.where(self.truth(condition), yes, no)
        return None

    def real(self, value: Value) -> int:
        if isinstance(value, Pair):
            raise FormulaError("an opcode takes real numbers: say real(...) or imag(...)")
        return value

    def where(self, condition: int, yes: Value, no: Value) -> Value:
        def select(one: int, other: int) -> int:
            return self.parts.opcode("SELECT", [condition, one, other])

        if isinstance(yes, int) and isinstance(no, int):
            return select(yes, no)
        a, b = self.pair(yes), self.pair(no)
        return Pair(select(a.real, b.real), select(a.imaginary, b.imaginary))

    def function(self, name: str, values: list[Value]) -> Value:
        """Reads a function in a scope of its own."""
        known = self.of_complex if name in self.of_complex else self.parts.language.functions
        parameters, body = known[name]
        if len(parameters) != len(values) or self.depth == 20:
            raise FormulaError(f"{name} takes {len(parameters)} operands")
        outer, self.scope = self.scope, dict(zip(parameters, values, strict=True))
        arguments, self.parts.arguments = self.parts.arguments, {}
        self.depth += 1
        result = self.body(body)
        self.depth -= 1
        self.scope, self.parts.arguments = outer, arguments
        return result


def prune_all(nodes: list[Node], results: tuple[int, ...]) -> tuple[tuple[Node, ...], list[int]]:
    """Returns the nodes that the results need, numbered anew, and the results' new places."""
    # A node that needs them all, which prune() keeps last.
    whole: Formula = prune([*nodes, Node("kOpcode", "ALL", results)], len(nodes))
    return whole.nodes[:-1], list(whole.nodes[-1].operands)
