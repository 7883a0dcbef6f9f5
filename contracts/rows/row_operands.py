# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operands on which a wrong formula shows: ends, zeros, infinities, NaN, and what lies between."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import torch
from row_evaluate import REAL
from row_spec import CONDITIONS, Row

Tensor = torch.Tensor
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, -2.5, 3.0, 0.1, -0.1, 1e-3, -1e-3,
         1e-7, -1e-7, 7.3, -7.3, 20.5, -20.5, 88.0, -88.0, 100.25, -100.25, 1e4, -3e4, 1e10, -1e10,
         0.9999, -0.9999, math.pi, math.inf, -math.inf, math.nan]  # fmt: skip
FEW_REALS = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 3.0, 30.0, -50.0, 1e5, math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -1, 2, -2, 3, -3, 7, -8, 31, 32, 63, 64, 100, -100, 127]
FEW_INTEGERS = [0, 1, -1, 2, -3, 7, 40]
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
          torch.bfloat16, torch.float32, torch.float64]  # fmt: skip
# What stands for an argument where the entry says nothing, by its type.
NUMBERS: dict[str, list[Any]] = {
    "Scalar": [2, -3, 0, 0.3, -1.7], "float": [0.3, 2.0], "int": [0, 2, -1], "SymInt": [0, 2],
}  # fmt: skip


def values(dtype: torch.dtype, few: bool) -> Tensor:
    """Returns the values of a dtype, one after the other."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    if dtype in REAL:
        info = torch.finfo(dtype)
        chosen = FEW_REALS if few else [*REALS, info.max, info.min, info.tiny, -info.tiny]
        return torch.tensor(chosen, dtype=torch.float64).to(dtype)
    ends = torch.iinfo(dtype)
    numbers = FEW_INTEGERS if few else INTEGERS
    numbers = [one for one in numbers if ends.min <= one <= ends.max]
    return torch.tensor([*numbers, ends.min, ends.max], dtype=dtype)


def tensors(dtypes: list[torch.dtype]) -> list[Tensor]:
    """Returns tensors that together have every tuple of values; each varies along one dimension."""
    few = len(dtypes) > 2
    count, made = len(dtypes), []
    for place, dtype in enumerate(dtypes):
        shape = [1] * count
        shape[place] = -1
        made.append(values(dtype, few).reshape(shape))
    return [one.contiguous() for one in torch.broadcast_tensors(*made)]


def numbers(row: Row, dtype: torch.dtype) -> Iterator[dict[str, Any]]:
    """Yields numbers for a row; those of a higher kind than the dtype only where they may be."""
    said = row.entry.get("numbers", {})
    choices = []
    for name in row.numbers:
        chosen = said.get(name, NUMBERS[row.type_of(name)])
        if name in row.apart and dtype not in REAL:
            chosen = [one for one in chosen if one == int(one)] or [1]
        choices.append(chosen)
    for together in itertools.product(*choices):
        yield dict(zip(row.numbers, together, strict=True))


def arguments(row: Row, given: dict[str, Any]) -> list[Any]:
    """Returns the arguments of a row's schema: what is given, what its conditions say, defaults."""
    said = dict(row.conditions)
    made = []
    for one in row.schema.arguments:
        if one.name in given:
            made.append(given[one.name])
        elif one.name in said and said[one.name] not in CONDITIONS:
            made.append(said[one.name])
        elif one.is_tensor and not one.is_optional:
            made.append(next(value for value in given.values() if isinstance(value, Tensor)))
        elif one.default not in (None, "None") and one.name not in said:
            made.append(_default(one.default))
        else:
            made.append(None)
    return made


def _default(text: str) -> Any:
    return {"True": True, "False": False}.get(text) if text in ("True", "False") else float(text)


def calls(row: Row, dtype: torch.dtype) -> Iterator[list[Any]]:
    """Yields calls of a row with its tensors in one dtype: all tuples of values, all numbers."""
    dtypes = [torch.bool if name in row.apart else dtype for name in row.tensors]
    made = dict(zip(row.tensors, tensors(dtypes), strict=True))
    for chosen in numbers(row, dtype):
        yield arguments(row, {**made, **chosen})


# Which of two dtypes each tensor has: in turn; and the first of three alone in its own.
IN_TURN, FIRST_ALONE = (0, 1, 0, 1), (0, 1, 1, 1)


def mixed_calls(row: Row) -> Iterator[list[Any]]:
    """Yields calls with tensors of two dtypes, with and without dimensions."""
    places = [name for name in row.tensors if name not in row.apart]
    patterns = (IN_TURN, FIRST_ALONE) if len(places) > 2 else (IN_TURN,)
    pairs = itertools.permutations(DTYPES, 2)
    for pair, pattern, bare in itertools.product(pairs, patterns, range(3)):
        given: dict[str, Any] = {name: torch.tensor([True, False]) for name in row.apart
                                 if name in row.tensors}  # fmt: skip
        for place, name in enumerate(places):
            value = torch.tensor([3, 2], dtype=pair[pattern[place]])
            given[name] = value[0] if bare == place + 1 else value
        chosen = next(numbers(row, torch.bool))
        yield arguments(row, {**given, **chosen})
