# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Read a formula of contracts/spec/operators into nodes, each of which names earlier ones.

A formula has the syntax of Python: `self + alpha * other`, and before it, ended by semicolons,
names for what is needed twice: `t = exp(-abs(self)); 1 / (1 + t)`. Its functions are the opcodes of
tbk_opcodes.h in lower case, and what the file defines. A value is a truth value or of the dtype
that is computed in; where an operation of numbers takes a truth value, that becomes 0 or 1.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

OPCODES = Path(__file__).resolve().parent.parent / "include" / "tbk" / "tbk_opcodes.h"
ROW = re.compile(r"^\s+X\((?P<name>\w+), (?P<number>\d+), (?P<operands>-?\d+), (?P<takes>\w+), "
                 r"(?P<gives>\w+),", re.MULTILINE)  # fmt: skip
# What only the host writes: loads, casts and the like.
OF_THE_HOST = {"CONSTANT", "NUMBER", "PARAMETER", "LOAD", "PHILOX", "CAST", "BITCAST"}
KINDS = ("truth", "integer", "real")
# The kinds of number that an opcode's column "takes" names.
TAKES = {
    "I": {"integer"},
    "F": {"real"},
    "N": {"integer", "real"},
    "L": {"truth", "integer"},
    "V": {"truth", "integer", "real"},
}
BINARY = {
    ast.Add: "ADD", ast.Sub: "SUB", ast.Mult: "MUL", ast.Div: "DIV", ast.FloorDiv: "DIV_FLOOR",
    ast.Mod: "REM_FLOOR", ast.BitAnd: "AND", ast.BitOr: "OR", ast.BitXor: "XOR",
    ast.LShift: "SHL", ast.RShift: "SHR", ast.Pow: "POW",
}  # fmt: skip
UNARY = {ast.USub: "NEG", ast.Invert: "NOT"}
COMPARE = {
    ast.Eq: "EQ", ast.NotEq: "NE", ast.Lt: "LT", ast.LtE: "LE", ast.Gt: "GT", ast.GtE: "GE",
}  # fmt: skip
CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}
# Ends of a dtype: the node that stands for each.
ENDS = {"least": "kLeast", "greatest": "kGreatest", "largest": "kLargest"}
MOST_NODES = 1000


class FormulaError(ValueError):
    """A formula that cannot be read, or that does what its kind of number cannot."""


@dataclass(frozen=True)
class Opcode:
    """What tbk_opcodes.h says of an opcode: how many operands, of which kinds; what it gives."""

    name: str
    operands: int
    takes: str
    gives: str


def load_opcodes(header: Path = OPCODES) -> dict[str, Opcode]:
    """Returns the opcodes that a formula may use, by name."""
    found = [
        Opcode(row["name"], int(row["operands"]), row["takes"], row["gives"])
        for row in ROW.finditer(header.read_text())
    ]
    if not found:
        raise FormulaError(f"{header}: no opcodes")
    return {one.name: one for one in found if one.name not in OF_THE_HOST}


@dataclass(frozen=True)
class Node:
    """One step. `kind` is a NodeKind of rows.h; `name` the argument or opcode; bits are exact."""

    kind: str
    name: str = ""
    operands: tuple[int, ...] = ()
    literal: str = ""  # as float.hex writes it, so that -0 and 0 are two
    is_truth: bool = False


@dataclass(frozen=True)
class Formula:
    """Nodes in order; the last one is the result."""

    nodes: tuple[Node, ...]
    is_truth: bool


@dataclass(frozen=True)
class Language:
    """What formulas of a file may name beside arguments: opcodes and the file's own functions."""

    opcodes: Mapping[str, Opcode]
    functions: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)


def steps_of(text: str) -> tuple[list[tuple[str, ast.expr]], ast.expr]:
    """Returns what a formula names, in order, and its result; raises FormulaError for all else."""
    try:
        statements = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise FormulaError(f"{text!r}: {error.msg}") from error
    steps = []
    for one in statements[:-1]:
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if not isinstance(one, ast.Assign) or not isinstance(target, ast.Name):
            raise FormulaError(f"{text!r}: before the result stand only names: `t = ...;`")
        steps.append((target.id, one.value))
    result = statements[-1] if statements else None
    if not isinstance(result, ast.Expr):
        raise FormulaError(f"{text!r}: the result is missing")
    return steps, result.value


class Reader:
    """Reads one formula for one kind of number.

    `arguments` says of each name that the formula may use whether it is a "tensor", a "truth" (a
    tensor of truth values) or a "number".
    `absent` are optional ones that this row is made without.
    """

    def __init__(
        self, language: Language, kind: str, arguments: Mapping[str, str], absent: frozenset[str]
    ) -> None:
        self.language = language
        self.kind = kind
        self.arguments = arguments
        self.absent = absent
        self.nodes: list[Node] = []
        self.scope: dict[str, int] = {}
        self.depth = 0

    def read(self, text: str) -> Formula:
        """Returns the nodes of a formula, those alone that the result needs."""
        last = self.body(text)
        return prune(self.nodes, last)

    def body(self, text: str) -> int:
        steps, result = steps_of(text)
        for name, value in steps:
            self.scope[name] = self.value(value)
        return self.value(result)

    def add(self, node: Node) -> int:
        """Returns the place of an equal node, or of a new one."""
        if node in self.nodes:
            return self.nodes.index(node)
        if len(self.nodes) == MOST_NODES:
            raise FormulaError(f"more than {MOST_NODES} nodes")
        self.nodes.append(node)
        return len(self.nodes) - 1

    def value(self, tree: ast.expr) -> int:  # noqa: PLR0911  a flat switch
        """Returns the place of what an expression gives."""
        match tree:
            case ast.Constant(value=bool() as truth):
                return self.truth(self.literal(float(truth)))
            case ast.Constant(value=int() | float() as number):
                return self.number_literal(number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.number_literal(-float(number))
            case ast.Name(id=name):
                return self.named(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.opcode(BINARY[type(op)], [self.value(left), self.value(right)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.opcode("NOT", [self.truth(self.value(operand))])
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                return self.opcode(UNARY[type(op)], [self.value(operand)])
            case ast.BoolOp(op=op, values=values):
                return self.chain("AND" if isinstance(op, ast.And) else "OR", values)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                return self.opcode(COMPARE[type(op)], [self.value(left), self.value(right)])
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments)
        raise FormulaError(f"`{ast.unparse(tree)}` is no part of a formula")

    def number_literal(self, number: float) -> int:
        if self.kind == "truth" or (self.kind == "integer" and number != int(number)):
            raise FormulaError(f"{number} is no {self.kind}")
        return self.literal(float(number))

    def literal(self, number: float) -> int:
        return self.add(Node("kLiteral", literal=number.hex(), is_truth=self.kind == "truth"))

    def named(self, name: str) -> int:
        if name in self.scope:
            return self.scope[name]
        if name in self.absent:
            raise FormulaError(f"{name} may be absent: say given({name}, ...)")
        if name in self.arguments:
            kind = "kNumber" if self.arguments[name] == "number" else "kTensor"
            is_truth = self.kind == "truth" or self.arguments[name] == "truth"
            return self.add(Node(kind, name, is_truth=is_truth))
        if name in ENDS:
            return self.add(Node(ENDS[name], is_truth=self.kind == "truth"))
        if name in CONSTANTS and self.kind == "real":
            return self.literal(CONSTANTS[name])
        raise FormulaError(f"nothing has the name {name}")

    def chain(self, opcode: str, values: list[ast.expr]) -> int:
        places = [self.truth(self.value(one)) for one in values]
        last = places[0]
        for place in places[1:]:
            last = self.opcode(opcode, [last, place])
        return last

    def truth(self, place: int) -> int:
        """Returns a value as a truth value."""
        if self.nodes[place].is_truth:
            return place
        return self.add(Node("kTruth", operands=(place,), is_truth=True))

    def compute(self, place: int) -> int:
        """Returns a value in the dtype that is computed in."""
        if not self.nodes[place].is_truth or self.kind == "truth":
            return place
        return self.add(Node("kCompute", operands=(place,)))

    def call(self, name: str, arguments: list[ast.expr]) -> int:
        if name == "given":
            return self.given(arguments)
        if name in ("truth", "number") and len(arguments) == 1:
            place = self.value(arguments[0])
            return self.truth(place) if name == "truth" else self.compute(place)
        if name == "rounded" and len(arguments) == 1 and self.kind == "real":
            return self.add(Node("kRounded", operands=(self.compute(self.value(arguments[0])),)))
        if name == "where" and len(arguments) == 3:
            condition, *values = [self.value(one) for one in arguments]
            return self.opcode("SELECT", [self.truth(condition), *values])
        if name in self.language.functions:
            return self.function(name, [self.value(one) for one in arguments])
        if name.upper() in self.language.opcodes and name == name.lower():
            return self.opcode(name.upper(), [self.value(one) for one in arguments])
        raise FormulaError(f"no function {name} of {len(arguments)} operands")

    def given(self, arguments: list[ast.expr]) -> int:
        """given(x, y): x where the caller says it, else y; there are rows for both."""
        if len(arguments) != 2 or not isinstance(arguments[0], ast.Name):
            raise FormulaError("given takes the name of an argument and what stands for it")
        return self.value(arguments[arguments[0].id in self.absent])

    def function(self, name: str, places: list[int]) -> int:
        """Reads a function of the file in a scope of its own."""
        parameters, body = self.language.functions[name]
        if len(parameters) != len(places) or self.depth == 20:
            raise FormulaError(f"{name} takes {len(parameters)} operands")
        outer, self.scope = self.scope, dict(zip(parameters, places, strict=True))
        arguments, self.arguments = self.arguments, {}
        self.depth += 1
        result = self.body(body)
        self.depth -= 1
        self.scope, self.arguments = outer, arguments
        return result

    def opcode(self, name: str, places: list[int]) -> int:
        """Returns what an opcode gives, its operands cast where truth and number meet."""
        opcode = self.language.opcodes[name]
        if len(places) != opcode.operands:
            raise FormulaError(f"{name} takes {opcode.operands} operands, not {len(places)}")
        if name == "SELECT":
            places[1:], truth = self.alike(places[1:], "ANY")
        else:
            places, truth = self.alike(places, opcode.takes)
        kinds = TAKES.get(opcode.takes, set(KINDS))
        if ("truth" if truth else self.kind) not in kinds:
            raise FormulaError(f"{name} is not for {'truth' if truth else self.kind}")
        is_truth = truth if opcode.gives == "SAME" else opcode.gives == "BOOL"
        return self.add(Node("kOpcode", name, tuple(places), is_truth=is_truth))

    def alike(self, places: list[int], takes: str) -> tuple[list[int], bool]:
        """Returns operands of one dtype, and whether they are truth values."""
        truth = all(self.nodes[one].is_truth for one in places)
        if truth and takes in ("V", "L", "ANY"):
            return places, True
        return [self.compute(one) for one in places], self.kind == "truth"


def prune(nodes: list[Node], last: int) -> Formula:
    """Returns the nodes that the last one needs, numbered anew."""
    needed = {last}
    for place in range(last, -1, -1):
        if place in needed:
            needed.update(nodes[place].operands)
    order = sorted(needed)
    place_of = {old: new for new, old in enumerate(order)}
    kept = [
        Node(
            one.kind, one.name, tuple(place_of[i] for i in one.operands), one.literal, one.is_truth
        )
        for one in (nodes[i] for i in order)
    ]
    return Formula(tuple(kept), nodes[last].is_truth)


def names_in(text: str) -> set[str]:
    """Returns the names that a formula reads, without those of functions that it calls."""
    nodes = list(ast.walk(ast.parse(text.strip())))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}


def optional_in(text: str) -> set[str]:
    """Returns the arguments for which given() has something else."""
    return {
        node.args[0].id
        for node in ast.walk(ast.parse(text.strip()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "given"
        and node.args
        and isinstance(node.args[0], ast.Name)
    }
