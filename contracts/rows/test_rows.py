# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Every row gives what PyTorch's own operator gives, before any backend runs it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is what the rows are held against")

import take_overloads
import torch
from row_compare import error_of_formula, faults, faults_of_outputs, operator
from row_evaluate import NotForThisRow
from row_formula import Formula, Node
from row_operands import DTYPES, calls, mixed_calls
from row_spec import CLASSES, Row, load_rows
from take_overloads import TARGET as OVERLOADS
from take_schemas import TARGET, take

CONTRACTS = Path(__file__).resolve().parent.parent
ROWS = load_rows(CONTRACTS)
# The forms of an overload share its formulas and rules; the bridge's tests call them all.
# Those of complex numbers alone are in test_complex_rows.py.
FUNCTIONS = [row for row in ROWS if row.form == "function" and row.formulas]
# PyTorch makes some outputs of the function alone: no row is asked for those.
OUTPUTS = [row for row in ROWS
           if row.form == "out" and torch.Tag.generated not in operator(row).tags]  # fmt: skip
OUTS = [torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64]
# A push proves every fourth of them.
SHARED = [
    pytest.param(
        row,
        id=f"{row.schema.name}{[what for _, what in row.conditions] or ''}",
        marks=[pytest.mark.night] if at % 4 else [],
    )
    for at, row in enumerate(FUNCTIONS)
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def found_in(row: Row) -> tuple[list[str], set[torch.dtype]]:
    """What differs over all dtypes and values, and which dtypes the row serves."""
    found, served = [], set()
    for dtype in DTYPES:
        for arguments in calls(row, dtype):
            try:
                found += faults(row, arguments)
                served.add(dtype)
            except NotForThisRow:
                continue
    return found, served


@pytest.mark.parametrize("row", SHARED)
def test_a_row_gives_what_pytorch_gives(row: Row) -> None:
    found, served = found_in(row)
    assert not found, "\n".join(found[:10])
    assert served, "no dtype is served"


def found_in_mixed(row: Row) -> list[str]:
    """Returns what differs where tensors have two dtypes."""
    found = []
    for arguments in mixed_calls(row):
        try:
            found += faults(row, arguments)
        except NotForThisRow:
            continue
    return found


@pytest.mark.parametrize("row", SHARED)
def test_a_row_promotes_as_pytorch_does(row: Row) -> None:
    found = found_in_mixed(row)
    assert not found, "\n".join(found[:10])


def found_in_outputs(row: Row) -> list[str]:
    """Returns which outputs of another dtype the row takes, and PyTorch does not."""
    found = []
    for dtype in (torch.float32, torch.int32):
        arguments = next(calls(row, dtype))
        try:
            found += faults_of_outputs(row, arguments, OUTS)
        except NotForThisRow:
            continue
    return [one for one in found if "ZeroDivisionError" not in one]


@pytest.mark.parametrize("row", OUTPUTS, ids=[row.schema.name for row in OUTPUTS])
def test_a_row_takes_no_output_that_pytorch_refuses(row: Row) -> None:
    assert not found_in_outputs(row)


@pytest.mark.parametrize("row", SHARED)
def test_a_formula_is_as_good_as_its_class_says(row: Row) -> None:
    worst = (0.0, "")
    for arguments in calls(row, torch.float32):
        try:
            worst = max(worst, error_of_formula(row, arguments))
        except NotForThisRow:
            continue
    assert worst[0] <= max(CLASSES[row.numerics], 0.5), worst


def test_the_schemas_are_those_of_pytorch() -> None:
    assert (CONTRACTS / TARGET).read_text() == take(CONTRACTS)


def test_the_overloads_are_those_of_pytorch() -> None:
    assert (CONTRACTS / OVERLOADS).read_text() == take_overloads.take(CONTRACTS)


def test_what_no_struct_holds_is_known() -> None:
    left_out = [one for one in take_overloads.dispatched() if not take_overloads.is_held(one)]
    assert {one.partition("(")[0].partition(".")[0] for one in left_out} == {
        "get_gradients", "quantized_gru", "quantized_lstm", "record_stream", "set", "set_",
        "sym_is_contiguous",
    }  # fmt: skip


def changed(row: Row, old: str, new: str) -> Row:
    """The row with one opcode taken for another."""
    formulas = {}
    for kind, formula in row.formulas.items():
        nodes = [replace(node, name=new) if node.name == old else node for node in formula.nodes]
        formulas[kind] = Formula(tuple(nodes), formula.is_truth)
    return replace(row, formulas=formulas)


@pytest.mark.parametrize(
    ("overload", "old", "new"),
    [("maximum", "MAX", "MIN"), ("lt.Tensor", "LT", "LE"), ("sub.Tensor", "SUB", "ADD"),
     ("exp", "EXP", "EXPM1"), ("relu", "LT", "LE"), ("neg", "NEG", "ABS")],
)  # fmt: skip
def test_a_wrong_opcode_is_found(overload: str, old: str, new: str) -> None:
    row = next(one for one in FUNCTIONS if one.schema.name == overload)
    wrong = changed(row, old, new)
    assert wrong.formulas != row.formulas
    found, _ = found_in(wrong)
    assert found


def test_a_wrong_rule_is_found() -> None:
    row = next(one for one in FUNCTIONS if one.schema.name == "maximum")
    assert found_in_mixed(replace(row, rule="self"))


def without(row: Row, flag: str) -> Row:
    return replace(row, flags=tuple(one for one in row.flags if one != flag))


@pytest.mark.parametrize("flag", ["refuses_truth", "refuses_integer_ratio"])
def test_a_lost_refusal_is_found(flag: str) -> None:
    rows = [row for row in FUNCTIONS if flag in row.flags]
    assert rows
    for row in rows:
        assert found_in_mixed(without(row, flag)), row.schema.name


def test_an_output_that_is_cast_to_is_found() -> None:
    rows = [row for row in OUTPUTS if "same_output" in row.flags]
    assert rows
    for row in rows:
        assert found_in_outputs(without(row, "same_output")), row.schema.name


def test_a_lost_nan_is_found() -> None:
    row = next(one for one in FUNCTIONS if one.schema.name == "relu")
    nodes = (Node("kTensor", "self"), Node("kLiteral", literal=(0.0).hex()),
             Node("kOpcode", "GT", (0, 1), is_truth=True),
             Node("kOpcode", "SELECT", (2, 0, 1)))  # fmt: skip
    wrong = replace(row, formulas={"real": Formula(nodes, is_truth=False)})
    found, _ = found_in(wrong)
    assert any("nan" in one for one in found)
