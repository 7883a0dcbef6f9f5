# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a contract test says what it is: the clause it cites and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import pytest

Tier = Literal["quick", "thorough"]
Test = TypeVar("Test", bound=Callable[..., object])


def clause(
    clause_id: str,
    needs: str = "",
    *,
    fresh: bool = False,
    alone: bool = False,
    slow: bool = False,
    tier: Tier = "quick",
) -> pytest.MarkDecorator:
    """This test shows that clause.

    `needs`: capability words, space-separated, without which it says nothing; "!word" wants one
    absent. `fresh`: wants a process that has used no device yet. `alone`: nothing else may run
    beside it, because it takes all memory or measures time. `slow`: takes seconds on any
    machine, as where something is compiled; a budget takes it late. `tier`: a "thorough" test
    takes seconds, and runs with --tier thorough or named by its id.

    A file whose tests take several times as long as one that copies a few bytes says so in `COST`,
    for the order of a run with a budget.
    """
    return pytest.mark.clause(
        clause_id, needs=needs, fresh=fresh, alone=alone, slow=slow, tier=tier
    )


def needs(words: str) -> pytest.MarkDecorator:
    """Further words, for one parameter of a test."""
    return pytest.mark.needs(words)


DTYPES = (
    "float64", "float32", "float16", "bfloat16", "complex64", "complex128",
    "int8", "int16", "int32", "int64", "uint8", "bool",
)  # fmt: skip


def each_dtype(*names: str) -> pytest.MarkDecorator:
    """Returns one test for each dtype that the device has; it takes a parameter `dtype`."""
    import torch  # noqa: PLC0415  # to mark a test imports no PyTorch

    return pytest.mark.parametrize(
        "dtype",
        [pytest.param(getattr(torch, name), marks=needs(f"dtype:{name}"), id=name)
         for name in names or DTYPES],
    )  # fmt: skip
