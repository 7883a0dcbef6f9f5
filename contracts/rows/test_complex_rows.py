# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Every formula of complex numbers gives what PyTorch's own operator gives, part by part."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is what the rows are held against")

import torch
from complex_formula import ComplexReader
from row_complex import complex_calls, complex_faults
from row_evaluate import NotForThisRow
from row_formula import FormulaError, Language, load_opcodes
from row_spec import Row, load_rows

ROWS = [row for row in load_rows(Path(__file__).resolve().parent.parent)
        if row.form == "function" and row.complex is not None]  # fmt: skip
NAMES = [f"{row.schema.name}{[what for _, what in row.conditions] or ''}" for row in ROWS]
DTYPES = (torch.complex64, torch.complex128)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def found_in(row: Row) -> tuple[list[str], int]:
    """Returns what differs over dtypes and values, and how many calls were served."""
    found, served = [], 0
    for dtype in DTYPES:
        for arguments in complex_calls(row, dtype):
            try:
                found += complex_faults(row, arguments)
                served += 1
            except NotForThisRow:
                continue
    return found, served


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_row_gives_what_pytorch_gives(row: Row) -> None:
    found, served = found_in(row)
    assert not found, "\n".join(found[:10])
    assert served, "no call is served"


def row_of(overload: str) -> Row:
    return next(row for row in ROWS if row.schema.name == overload)


@pytest.mark.parametrize("overload", ["mul.Tensor", "exp", "div.Tensor", "sqrt", "conj_physical"])
def test_parts_that_change_places_are_found(overload: str) -> None:
    row = row_of("_conj_physical" if overload == "conj_physical" else overload)
    formula = row.complex
    assert formula is not None
    turned = replace(formula, real=formula.imaginary, imaginary=formula.real)
    assert found_in(replace(row, complex=turned))[0]


@pytest.mark.parametrize(
    ("overload", "old", "new"),
    [("mul.Tensor", "SUB", "ADD"), ("add.Tensor", "ADD", "SUB"), ("exp", "COS", "SIN"),
     ("log", "ATAN2", "MUL"), ("eq.Tensor", "AND", "OR"), ("abs", "MAX", "MIN"),
     ("sqrt", "COPYSIGN", "MAX"), ("tanh", "SINH", "COSH")],
)  # fmt: skip
def test_a_wrong_opcode_is_found(overload: str, old: str, new: str) -> None:
    row = row_of(overload)
    assert row.complex is not None
    nodes = tuple(replace(one, name=new) if one.name == old else one for one in row.complex.nodes)
    assert nodes != row.complex.nodes
    assert found_in(replace(row, complex=replace(row.complex, nodes=nodes)))[0]


@pytest.mark.parametrize("overload", ["mul.Tensor", "add.Tensor", "exp", "where.self"])
def test_a_lost_imaginary_part_is_found(overload: str) -> None:
    row = row_of(overload)
    assert row.complex is not None
    nodes = tuple(replace(one, kind="kTensor") if one.kind == "kTensorImaginary" else one
                  for one in row.complex.nodes)  # fmt: skip
    assert found_in(replace(row, complex=replace(row.complex, nodes=nodes)))[0]


@pytest.mark.parametrize(
    ("text", "what"),
    [("self // 2", "not for complex"), ("self < 1", "not for complex"), ("self", ""),
     ("erf(self)", "real numbers"), ("nobody(self)", "no function"), ("t = 1", "missing"),
     ("self[0]", "no part"), ("real(self, 1)", "no function"), ("other", "the name other")],
)  # fmt: skip
def test_a_formula_that_cannot_be_read_says_why(text: str, what: str) -> None:
    reader = ComplexReader(Language(load_opcodes()), {}, {"self": "tensor"}, frozenset())
    if not what:
        assert reader.read(text).imaginary == 1
        return
    with pytest.raises(FormulaError, match=what):
        reader.read(text)
