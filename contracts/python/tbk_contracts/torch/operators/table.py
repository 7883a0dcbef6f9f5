# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How each operator is judged: the table of classes.yml, and the numbers that go for all.

E exact: bit for bit what PyTorch's CPU gives: moves, casts, choices, comparisons, rounding, bits.
L lattice: sums of products; exact for inputs whose partial sums are all representable, else as B.
U ulp: functions of elements, against a wider type, in units in the last place of the result.
B bound: against a wider type; what a unit in the inputs changes, and units of the result.
S statistics: random numbers; of one call only dtype, shape and the same seed again are judged.

Integers and booleans that come out are exact in every class but S. No number is for a device.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

import torch
import yaml


class Class(Enum):
    """How results that are floating are judged."""

    EXACT = "E"
    LATTICE = "L"
    ULP = "U"
    BOUND = "B"
    STATISTICS = "S"


GROSS = 4  # a class U operator is wrong at so many times its bound
U_MOVEMENTS = 2  # class U: the factor of an operand, such as alpha, is rounded too
UNITS, MOVEMENTS = 16, 32  # class B and L: units of the result, and movements

LEEWAY = {torch.float64: 2.0**13, torch.float32: 2.0**6}
"""So many times its bound a result has to be off for a failure: a quarter of the dtype's digits.
What is off by less is a warning, for a bound in units in the last place is a *should* until two
independent implementations keep to it. In 16 bits the bounds are a leeway by themselves."""

_read: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("classes.yml").read_text(encoding="utf-8")
)


def _names(member: str) -> frozenset[str]:
    return frozenset(_read[member].split())


EXACT, LATTICE, STATISTICS = _names("exact"), _names("lattice"), _names("statistics")


def _units(member: str) -> dict[str, int]:
    return {name: ulps for ulps, names in _read[member].items() for name in names.split()}


ROOT_OF_COMPLEX = _units("root_of_complex")
ULPS = {**_units("ulp"), **ROOT_OF_COMPLEX}
"""The bound of a class U operator in float32, in units in the last place of its result."""
UNDEFINED, DISTINCT, BY_STRIDE = _names("undefined"), _names("distinct"), _names("by_stride")
OF_OPERAND, OF_RESULT, OF_ONE = _names("of_operand"), _names("of_result"), _names("of_one")
OF_EQUALS, OF_COUNTS = _names("of_equals"), _names("of_counts")
OF_BINS = _names("of_bins")
SAME_TYPE, ONLY_INPUT_MOVES = _names("same_type"), _names("only_input_moves")
MORE_UNITS: dict[str, int] = _read["more_units"]
SMALL_LATTICE, NO_GRADIENT = _names("small_lattice"), _names("no_gradient")
GRADIENT_OF_OPERAND = _names("gradient_of_operand")
SEEDS = 2.0  # the largest gradient that comes from behind
PHASE: dict[str, list[int]] = _read["phase"]
NOT_IN: dict[str, tuple[str, ...]] = {name: tuple(row["dtypes"]) for row in _read["not_in"]
                                      for name in row["names"].split()}  # fmt: skip
LEFT_OUT: dict[str, str] = {name: row["reason"] for row in _read["left_out"]
                            for name in row["names"].split()}  # fmt: skip


def class_of(title: str, is_complex: bool = False) -> Class:
    """Returns how the results of an entry are judged that are floating; `is_complex`: where all its
    dtypes are."""
    if title in EXACT and not (is_complex and title in ROOT_OF_COMPLEX):
        return Class.EXACT
    if title in LATTICE:
        return Class.LATTICE
    if title in STATISTICS:
        return Class.STATISTICS
    return Class.ULP if title in ULPS else Class.BOUND
