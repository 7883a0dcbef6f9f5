# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compute rows with PyTorch's CPU, as a backend that runs their programs would.

Tensors are cast to the dtype that the rule says, then to the one that is computed in, which may be
wider than a backend's. Each opcode is one operator of PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from row_formula import Formula, Node
from row_spec import Row

Tensor = torch.Tensor
REAL = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
COMPLEX = {torch.complex64, torch.complex128}
INTEGER = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
Compute = Mapping[torch.dtype, torch.dtype]
# What a backend computes in.
COMPUTE: Compute = {
    torch.bool: torch.bool,
    torch.uint8: torch.int32, torch.int8: torch.int32, torch.int16: torch.int32,
    torch.int32: torch.int32, torch.int64: torch.int64,
    torch.float16: torch.float32, torch.bfloat16: torch.float32,
    torch.float32: torch.float32, torch.float64: torch.float64,
    torch.complex64: torch.float32, torch.complex128: torch.float64,  # each part
}  # fmt: skip
WIDE: Compute = {**COMPUTE, torch.float16: torch.float64, torch.bfloat16: torch.float64,
        torch.float32: torch.float64, torch.complex64: torch.float64}  # fmt: skip


class NotForThisRow(Exception):  # noqa: N818  an answer, not a fault
    """The row does not serve this call: another route does."""


def _shift(left: bool) -> Callable[[Tensor, Tensor], Tensor]:
    def shift(a: Tensor, b: Tensor) -> Tensor:
        width = torch.iinfo(a.dtype).bits
        far = (b < 0) | (b >= width)
        near = torch.where(far, 0, b)
        if left:
            return torch.where(far, 0, a << near)
        return torch.where(far, a >> (width - 1), a >> near)

    return shift


def _divide(rounding: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Integers; by zero open, here 0, and of the least number by -1 that number."""

    def divide(a: Tensor, b: Tensor) -> Tensor:
        negated = b == -1
        quotient = torch.div(a, torch.where((b == 0) | negated, 1, b), rounding_mode=rounding)
        return torch.where(b == 0, 0, torch.where(negated, -a, quotient))

    return divide


def _remainder(of: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def remainder(a: Tensor, b: Tensor) -> Tensor:
        if a.dtype in REAL:
            return of(a, b)
        return torch.where((b == 0) | (b == -1), 0, of(a, torch.where((b == 0) | (b == -1), 1, b)))

    return remainder


OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "ADD": torch.add, "SUB": torch.sub, "MUL": torch.mul, "DIV": torch.div,
    "DIV_TRUNC": _divide("trunc"), "DIV_FLOOR": _divide("floor"),
    "REM_TRUNC": _remainder(torch.fmod), "REM_FLOOR": _remainder(torch.remainder),
    "NEG": torch.neg, "ABS": torch.abs, "MIN": torch.minimum, "MAX": torch.maximum,
    "COPYSIGN": torch.copysign,
    "AND": torch.bitwise_and, "OR": torch.bitwise_or, "XOR": torch.bitwise_xor,
    "NOT": torch.bitwise_not, "SHL": _shift(True), "SHR": _shift(False),
    "EQ": torch.eq, "NE": torch.ne, "LT": torch.lt, "LE": torch.le, "GT": torch.gt, "GE": torch.ge,
    "ISNAN": torch.isnan, "SIGNBIT": torch.signbit,
    "FLOOR": torch.floor, "CEIL": torch.ceil, "TRUNC": torch.trunc, "ROUND": torch.round,
    "SQRT": torch.sqrt, "EXP": torch.exp, "EXPM1": torch.expm1, "LOG": torch.log,
    "LOG1P": torch.log1p, "LOG2": torch.log2, "LOG10": torch.log10, "POW": torch.pow,
    "SIN": torch.sin, "COS": torch.cos, "TAN": torch.tan, "ASIN": torch.asin, "ACOS": torch.acos,
    "ATAN": torch.atan, "ATAN2": torch.atan2, "SINH": torch.sinh, "COSH": torch.cosh,
    "TANH": torch.tanh, "ASINH": torch.asinh, "ACOSH": torch.acosh, "ATANH": torch.atanh,
    "ERF": torch.erf, "ERFC": torch.erfc, "LGAMMA": torch.lgamma, "SELECT": torch.where,
    "FMA": lambda a, b, c: (a.double() * b.double() + c.double()).to(a.dtype),
}  # fmt: skip


@dataclass(frozen=True)
class Values:
    """What a formula gave, the size of the terms that it added, and where a step was subnormal."""

    result: Tensor
    terms: Tensor | None
    subnormal: Tensor


@dataclass(frozen=True)
class Dtypes:
    """Of one call: what operands are cast to first, what is computed in, what comes out."""

    common: torch.dtype
    compute: torch.dtype
    result: torch.dtype

    @property
    def kind(self) -> str:
        """Returns the kind of number that is computed in."""
        if self.common is torch.bool:
            return "truth"
        return "real" if self.common in REAL else "integer"


def bind(row: Row, arguments: Sequence[Any]) -> dict[str, Any]:
    """Returns the arguments by name, in the order of the schema; where they do not fit, raises."""
    names = [one.name for one in row.schema.arguments]
    bound = dict(zip(names, arguments, strict=True))
    for name, what in row.conditions:
        value = bound[name]
        if not holds(value, what):
            raise NotForThisRow(f"{name} is {value}, not {what}")
    return bound


def holds(value: Any, what: object) -> bool:
    """Returns whether a condition of a row holds of an argument."""
    match what:
        case "absent":
            return value is None
        case "present":
            return value is not None
        case "not_negative":
            return value is not None and bool(value >= 0)
        case "positive":
            return value is not None and bool(value > 0)
        case "not_negative_finite":
            return value is not None and bool(0 <= value < math.inf)
    return type(value) is type(what) and value == what


def dtypes(row: Row, bound: Mapping[str, Any], compute: Compute) -> Dtypes:
    """Returns the dtypes of a call."""
    operands = [bound[n] for n, part in zip(row.tensors, row.tensor_promotes, strict=True) if part]
    tensors = [one for one in operands if isinstance(one, Tensor)]
    numbers = [one for one in operands if not isinstance(one, Tensor)]
    numbers += [bound[n] for n, part in zip(row.numbers, row.number_promotes, strict=True) if part]
    common: torch.dtype = tensors[0].dtype
    if "refuses_truth" in row.flags:
        for one in (*tensors, *numbers):
            if isinstance(one, bool) or (isinstance(one, Tensor) and one.dtype is torch.bool):
                raise NotForThisRow("PyTorch refuses truth values")
    if "refuses_integer_ratio" in row.flags and all(rank(one.dtype) < 2 for one in tensors[1:]):
        raise NotForThisRow("PyTorch refuses a ratio of integers")
    if row.rule == "same" and any(one.dtype != common for one in tensors):
        raise NotForThisRow("the tensors have more than one dtype")
    if row.rule in ("promote", "promote_to_float", "compare"):
        common = promote([*tensors, *numbers])
    if row.rule == "promote_to_float" and rank(common) < 2:
        common = torch.get_default_dtype()
    if "refuses_half" in row.flags and common in (torch.float16, torch.bfloat16):
        raise NotForThisRow("PyTorch refuses half precision")
    if common not in compute:
        raise NotForThisRow(f"{common} is not computed in")
    for name in row.checked & set(row.numbers):
        if rank_of_number(bound[name]) > rank(common) or not holds_number(common, bound[name]):
            raise NotForThisRow(f"{name} = {bound[name]} is no number of {common}")
    is_truth = row.rule in ("compare", "predicate")
    return Dtypes(common, compute[common], torch.bool if is_truth else common)


def holds_number(dtype: torch.dtype, value: Any) -> bool:
    """Returns whether an integer is none beyond the dtype's ends."""
    if rank(dtype) != 1:
        return True
    return bool(torch.iinfo(dtype).min <= value <= torch.iinfo(dtype).max)


def promote(operands: list[Any]) -> torch.dtype:
    """Returns PyTorch's result_type of any number of tensors and numbers: by pairs, in kinds.

    Tensors with dimensions count before those without, and those before numbers, unless of a lower
    kind.
    """
    groups = [
        [one for one in operands if isinstance(one, Tensor) and one.dim() > 0],
        [one for one in operands if isinstance(one, Tensor) and one.dim() == 0],
        [one for one in operands if not isinstance(one, Tensor)],
    ]
    found: torch.dtype | None = None
    for group in groups:
        kinds = [one.dtype if isinstance(one, Tensor) else number_dtype(one) for one in group]
        for kind in kinds[1:]:
            kinds[0] = torch.promote_types(kinds[0], kind)
        if kinds and (found is None or rank(kinds[0]) > rank(found)):
            found = kinds[0] if found is None else torch.promote_types(found, kinds[0])
    assert found is not None
    return found


def number_dtype(number: bool | int | float | complex) -> torch.dtype:
    """Returns the dtype that a number counts as where nothing else says one."""
    if isinstance(number, complex):
        return torch.promote_types(torch.get_default_dtype(), torch.complex64)
    if isinstance(number, bool):
        return torch.bool
    return torch.int64 if isinstance(number, int) else torch.get_default_dtype()


def rank_of_number(number: bool | int | float | complex) -> int:
    """Returns the kind of a number, as `rank` does."""
    return rank(number_dtype(number))


def rank(dtype: torch.dtype) -> int:
    """Returns 0 for truth values, 1 for integers, 2 for real and 3 for complex numbers."""
    if dtype is torch.bool:
        return 0
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 1


def evaluate(
    row: Row,
    arguments: Sequence[Any],
    compute: Compute = COMPUTE,
) -> Values:
    """Returns what the row gives for the arguments of its schema, those of the function.

    The result has the dtype of the rule where `compute` is COMPUTE, else what is computed in.
    """
    bound = bind(row, arguments)
    used = dtypes(row, bound, compute)
    formula = row.formulas.get(used.kind)
    if formula is None:
        raise NotForThisRow(f"there is no formula for {used.common}")
    machine = Machine(row, bound, used)
    result, terms, subnormal = machine.run(formula)
    operands = [bound[name] for name in row.tensors if isinstance(bound[name], Tensor)]
    shape = torch.broadcast_shapes(*(one.shape for one in operands))
    result = result.expand(shape)
    if compute is COMPUTE or used.result is torch.bool:
        result = result.to(used.common).to(used.result)
    terms = None if terms is None else terms.expand(shape)
    return Values(result, terms, subnormal.expand(shape))


def added_by(opcode: str, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """Returns what an opcode adds, which its result may be far smaller than."""
    if opcode == "FMA":
        return operands[0] * operands[1], operands[2]
    return operands if opcode in ("ADD", "SUB") else ()


class Machine:
    """Runs the nodes of one call."""

    def __init__(self, row: Row, bound: Mapping[str, Any], used: Dtypes) -> None:
        self.row = row
        self.bound = bound
        self.used = used

    def run(self, formula: Formula) -> tuple[Tensor, Tensor | None, Tensor]:
        """Returns the last value, the size of what was added, and where a value was subnormal."""
        values: list[Tensor] = []
        terms: Tensor | None = None
        subnormal = torch.tensor(False)
        for node in formula.nodes:
            operands = [values[place] for place in node.operands]
            values.append(self.value(node, operands))
            if node.kind == "kOpcode" and values[-1].dtype in REAL:
                for term in added_by(node.name, operands):
                    terms = term.abs() if terms is None else torch.maximum(terms, term.abs())
        for value in values:
            if value.dtype in REAL:
                subnormal = subnormal | (value != 0) & (value.abs() < torch.finfo(value.dtype).tiny)
        return values[-1], terms, subnormal

    def value(self, node: Node, operands: list[Tensor]) -> Tensor:  # noqa: PLR0911  a flat switch
        match node.kind:
            case "kTensor":
                return self.tensor(node.name)
            case "kNumber":
                return self.argument(node.name)
            case "kLiteral":
                return self.number(float.fromhex(node.literal))
            case "kTruth":
                return operands[0] != 0
            case "kCompute":
                return operands[0].to(self.used.compute)
            case "kRounded":
                return self.rounded(operands[0])
            case "kOpcode":
                return OPERATIONS[node.name](*operands)
        return self.number(end_of(node.kind, self.used.common))

    def tensor(self, name: str) -> Tensor:
        tensor = self.bound[name]
        if not isinstance(tensor, Tensor):  # a number that PyTorch takes for a tensor
            made = self.number(tensor)
            return made if self.is_exact(name) else self.rounded(made)
        if name in self.row.apart:
            if tensor.dtype is not torch.bool:
                raise NotForThisRow(f"{name} is not of truth values")
            return tensor
        exact = tensor.dim() == 0 and self.is_exact(name)
        return (tensor if exact else tensor.to(self.used.common)).to(self.used.compute)

    def is_exact(self, name: str) -> bool:
        """Returns whether a tensor of one number is not cut to the dtype of the call first."""
        is_rounded = "first_rounded" in self.row.flags and name == self.row.tensors[0]
        return "exact_numbers" in self.row.flags and self.used.kind != "integer" and not is_rounded

    def rounded(self, value: Tensor) -> Tensor:
        """Returns a value cast to the dtype of the call, and back to what is computed in."""
        return value.to(self.used.common).to(self.used.compute)

    def argument(self, name: str) -> Tensor:
        """Returns a number of the call, cast to the dtype of the call as a tensor would be.

        A real one that takes no part in that dtype, or of a row with exact ones, is not rounded.
        """
        place = self.row.numbers.index(name)
        made = self.number(self.bound[name])
        exact = not self.row.number_promotes[place] or "exact_numbers" in self.row.flags
        if self.used.kind == "real" and exact:
            return made
        return self.rounded(made)

    def number(self, number: float) -> Tensor:
        if self.used.compute is torch.bool:
            return torch.tensor(bool(number))
        if self.used.compute not in REAL:
            bits = torch.iinfo(self.used.compute).bits
            wrapped = (int(number) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
            return torch.tensor(wrapped, dtype=self.used.compute)
        return torch.tensor(number, dtype=self.used.compute)


def end_of(kind: str, dtype: torch.dtype) -> float:
    """Returns the least, greatest or largest number of a dtype, as rows.h says."""
    if dtype in REAL:
        return {"kLeast": -math.inf, "kGreatest": math.inf}.get(kind, torch.finfo(dtype).max)
    if dtype is torch.bool:
        return kind != "kLeast"
    return torch.iinfo(dtype).min if kind == "kLeast" else torch.iinfo(dtype).max
