# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Formulas and rules of a file, run on its samples without a device: what can't be is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from torch_tbk.custom.formula import Formula
from torch_tbk.custom.lines import read_document
from torch_tbk.custom.samples import Values, arguments_of, mapped
from torch_tbk.custom.spec import Operator, gradient_names, read_operators
from torch_tbk.custom.values import NoTensorError, by_formula, check_is_tensor

_Place = tuple[str | int, ...]


def read_and_try(path: Path) -> list[Operator]:
    """Returns the operators of a file, each of which computes its samples. Raises OperatorsError:
    one line, with file and line."""
    operators = read_operators(path)
    for index, one in enumerate(operators):
        for place, sample in enumerate(one.samples):
            if found := _fault(one, sample):
                where = found[0] or ("samples", place)
                raise read_document(path).error(["operators", index, *where], found[1])
    return operators


def _fault(one: Operator, sample: Mapping[str, Any]) -> tuple[_Place, str] | None:
    """Returns why a formula, or a rule of the outputs, does not fit a sample, and where that stands
    if it is not in the sample; None where they fit.
    """
    try:
        values = arguments_of(one, sample, one.dtypes[0], seed=1)
    except Exception as error:  # whatever PyTorch raises
        return (), f"this sample can't be made: {_line(error)}"
    if fault := _raised(partial(by_formula, one), values):
        if isinstance(fault, NoTensorError):
            return ("formula",), _line(fault)
        return (), f"the formula does not fit this sample: {_line(fault)}"
    for name, rule in one.backward.gradients.items() if one.backward else ():
        wanted = values[name]
        if not (isinstance(wanted, torch.Tensor) and wanted.is_floating_point()):
            continue
        if fault := _raised(partial(_gradient, one, rule), values):
            said = f"the gradient of {name} does not fit a sample: {_line(fault)}"
            return ("backward", "gradients", name), said
    return None


def _raised(compute: Callable[[Values], object], values: Values) -> Exception | None:
    """Returns what a computation raises. Tensors without data find it out; the host confirms it,
    since not everything that computes goes without data.
    """
    found: Exception | None = None
    for computed in (mapped(values, lambda tensor: tensor.to("meta")), values):
        try:
            compute(computed)
        except Exception as error:  # whatever PyTorch raises
            found = error
        else:
            return None
    return found


def _gradient(one: Operator, rule: Formula, values: Values) -> None:
    """Computes a gradient that a formula describes, of ones that come in."""
    results = by_formula(one, values)
    made = dict(zip(one.returned, results, strict=True))
    grads = dict(zip(gradient_names(one), map(torch.ones_like, results), strict=True))
    check_is_tensor(one, rule({**values, **made, **grads}))


def _line(error: Exception) -> str:
    said = str(error).strip().partition(chr(10))[0]
    return said if isinstance(error, NoTensorError) else f"{type(error).__name__}: {said}"
