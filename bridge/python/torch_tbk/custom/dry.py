# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Formulas and rules of a file, run on its samples without a device: what can't be is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch_tbk.custom.lines import read_document
from torch_tbk.custom.samples import arguments_of, mapped
from torch_tbk.custom.spec import Operator, read_operators
from torch_tbk.custom.values import by_formula


def read_and_try(path: Path) -> list[Operator]:
    """Returns the operators of a file, each of which computes its samples. Raises OperatorsError:
    one line, with file and line."""
    operators = read_operators(path)
    for index, one in enumerate(operators):
        for place, sample in enumerate(one.samples):
            if said := _fault(one, sample):
                raise read_document(path).error(["operators", index, "samples", place], said)
    return operators


def _fault(one: Operator, sample: Mapping[str, Any]) -> str:
    """Returns why the formula, or a rule of the outputs, does not fit a sample; empty where it
    does. Tensors without data find it out; the host confirms it, since not everything that
    computes goes without data.
    """
    try:
        values = arguments_of(one, sample, one.dtypes[0], seed=1)
    except Exception as error:  # whatever PyTorch raises
        return f"this sample can't be made: {_line(error)}"
    for computed in (mapped(values, lambda tensor: tensor.to("meta")), values):
        try:
            by_formula(one, computed)
        except Exception as error:
            said = _line(error)
        else:
            return ""
    return f"the formula does not fit this sample: {said}"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
