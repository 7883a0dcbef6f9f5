# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compute rows of complex numbers, part by part, and hold them against PyTorch's own operators."""

from __future__ import annotations

import cmath
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from complex_formula import ComplexFormula
from row_compare import call, widened
from row_evaluate import (
    COMPLEX,
    COMPUTE,
    Compute,
    Dtypes,
    Machine,
    NotForThisRow,
    Values,
    bind,
    dtypes,
)
from row_formula import Node
from row_operands import arguments
from row_spec import CLASSES, Row

Tensor = torch.Tensor
PARTS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    0.1,
    -1e-3,
    1e-7,
    7.3,
    -20.5,
    88.0,
    -100.25,
    1e4,
    1e10,
]
FEW_PARTS = [0.0, -0.0, 1.0, -2.5, 0.3, 30.0]
NUMBERS: list[Any] = [2, 0.3, -1.7, 1 - 2j, 0.5j]


class ComplexMachine(Machine):
    """Runs the nodes of one call, each of which is real: `used.common` is the dtype of a part."""

    def __init__(self, row: Row, bound: Mapping[str, Any], used: Dtypes) -> None:
        self.whole_dtype = used.common
        super().__init__(row, bound, Dtypes(part_of(used.common), used.compute, used.result))

    def result(self, formula: ComplexFormula) -> Values:
        """Returns what a formula gives, in the dtype that a part is computed in."""
        values: list[Tensor] = []
        terms = torch.zeros(())
        for node in formula.nodes:
            operands = [values[place] for place in node.operands]
            values.append(self.value(node, operands))
            if node.kind == "kOpcode" and node.name in ("ADD", "SUB"):
                terms = torch.maximum(terms, torch.maximum(operands[0].abs(), operands[1].abs()))
        result = values[formula.real]
        if formula.imaginary >= 0:
            result = torch.complex(*torch.broadcast_tensors(result, values[formula.imaginary]))
        return Values(result, terms, torch.tensor(False))

    def value(self, node: Node, operands: list[Tensor]) -> Tensor:
        match node.kind:
            case "kTensorImaginary":
                return self.whole(node.name).imag.to(self.used.compute)
            case "kNumberImaginary":
                return self.number(complex(self.bound[node.name]).imag)
        return super().value(node, operands)

    def whole(self, name: str) -> Tensor:
        tensor = self.bound[name]
        if not isinstance(tensor, Tensor):
            tensor = torch.tensor(tensor)
        made: Tensor = tensor.to(torch.complex128 if tensor.dim() == 0 else self.whole_dtype)
        return made

    def tensor(self, name: str) -> Tensor:
        if name in self.row.apart:
            return super().tensor(name)
        return self.whole(name).real.to(self.used.compute)

    def argument(self, name: str) -> Tensor:
        return self.number(complex(self.bound[name]).real)


def evaluate_complex(row: Row, given: Sequence[Any], compute: Compute = COMPUTE) -> Values:
    """Returns what the row gives, as evaluate() does; its parts are of what is computed in."""
    bound = bind(row, given)
    used = dtypes(row, bound, compute)
    if used.common not in COMPLEX or row.complex is None:
        raise NotForThisRow(f"there is no formula for {used.common}")
    made = ComplexMachine(row, bound, used).result(row.complex)
    operands = [bound[name] for name in row.tensors if isinstance(bound[name], Tensor)]
    shape = torch.broadcast_shapes(*(one.shape for one in operands))
    return replace(made, result=made.result.expand(shape))


def part_of(dtype: torch.dtype) -> torch.dtype:
    """Returns the dtype of a part of a complex number."""
    return torch.empty(0, dtype=dtype).real.dtype


def complex_faults(row: Row, given: Sequence[Any]) -> list[str]:
    """Returns in which places a row differs from PyTorch's CPU; raises NotForThisRow."""
    made = evaluate_complex(row, given)
    got = made.result
    try:
        want = call(row, given)
    except RuntimeError as error:
        return [f"PyTorch refuses what the row serves: {str(error).splitlines()[0]}"]
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return [f"{got.dtype} of {list(got.shape)}, and PyTorch gives {want.dtype} of "
                f"{list(want.shape)}"]  # fmt: skip
    close = is_close(row, made, want)
    if not bool(close.all()):
        close |= is_close(row, made, call(row, of_128(given)).to(want.dtype))
    if "inexact" in row.entry.get("complex_open", ()):
        close |= (got - want).abs() <= 1e-11 * want.abs()
    if "not_finite" in row.entry.get("complex_open", ()):
        close |= ~finite_operands(given, want)
    return [said(row, given, got, want, place) for place in (~close).nonzero().tolist()[:6]]


def said(row: Row, given: Sequence[Any], got: Tensor, want: Tensor, place: list[int]) -> str:
    """Returns a place that differs, with the operands there."""
    at = [one.expand(want.shape)[tuple(place)].item() if isinstance(one, Tensor) else one
          for one in given]  # fmt: skip
    return (f"{row.schema.name}{tuple(at)} in {want.dtype}: {got[tuple(place)].item()}, "
            f"PyTorch {want[tuple(place)].item()}")  # fmt: skip


def of_128(given: Sequence[Any]) -> list[Any]:
    """Returns the arguments with every complex or real tensor as wide as there is."""
    return [one.to(torch.complex128) if isinstance(one, Tensor) and one.dtype in COMPLEX else one
            for one in widened(given)]  # fmt: skip


def finite_operands(given: Sequence[Any], want: Tensor) -> Tensor:
    """Returns where operands and result are finite."""
    found = want.isfinite()
    for one in given:
        if isinstance(one, Tensor):
            found = found & one.isfinite()
    return found


def is_close(row: Row, made: Values, want: Tensor) -> Tensor:
    """Returns where two results are the same as far as the row's class demands it.

    A part is held to the size of the whole: that is what a sum of products keeps.
    """
    if want.dtype is torch.bool:
        return made.result == want
    ulps = CLASSES[row.entry.get("complex_class", row.numerics)]
    info = torch.finfo(want.dtype)
    a, b = made.result.to(torch.complex128), want.to(torch.complex128)
    size = b.abs()
    if row.numerics == "terms" and made.terms is not None:
        size = torch.maximum(size, made.terms)
    limit = ulps * info.eps * size.clamp(min=info.tiny)
    return part_is_close(a.real, b.real, limit) & part_is_close(a.imag, b.imag, limit)


def part_is_close(a: Tensor, b: Tensor, limit: Tensor) -> Tensor:
    """Returns where one part is as near to the other as `limit`, or is the same."""
    return ((a - b).abs() <= limit) | (a == b) | (a.isnan() & b.isnan())


def values(dtype: torch.dtype, few: bool) -> Tensor:
    """Returns complex numbers: every pair of parts, and infinities and NaN beside some."""
    parts = FEW_PARTS if few else PARTS
    odd = [cmath.inf, -cmath.inf, cmath.nan]
    pairs = [*itertools.product(parts, parts), *itertools.product(odd, [0.0, 1.0, -2.5, *odd]),
             *itertools.product([0.0, 1.0, -2.5], odd)]  # fmt: skip
    return torch.tensor([complex(*pair) for pair in pairs], dtype=torch.complex128).to(dtype)


def complex_calls(row: Row, dtype: torch.dtype) -> Iterator[list[Any]]:
    """Yields calls of a row with its tensors in one complex dtype, and with one of them real."""
    places = [name for name in row.tensors if name not in row.apart]
    few = values(dtype, few=len(places) > 1)
    for chosen, bare in itertools.product(
        numbers(row), [None, *places] if len(places) > 1 else [None]
    ):
        given: dict[str, Any] = dict(chosen)
        for place, name in enumerate(places):
            value = few.reshape([-1 if place == each else 1 for each in range(len(places))])
            given[name] = value.real.contiguous() if name == bare else value
        for name in row.apart & set(row.tensors):
            given[name] = torch.tensor([True, False]).reshape([2] + [1] * len(places))
        yield arguments(row, given)


def numbers(row: Row) -> Iterator[Mapping[str, Any]]:
    """Yields numbers for a row: complex ones where a number of any kind may stand."""
    choices = [NUMBERS if row.type_of(name) == "Scalar" else [0.3, 2.0] for name in row.numbers]
    for together in itertools.product(*choices):
        yield dict(zip(row.numbers, together, strict=True))
