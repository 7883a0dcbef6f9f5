# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults that change a call and not what comes of it, by family, with the reason."""

from __future__ import annotations

import torch

RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])

_HALVES = "both halves of the formula give the same but for rounding"
_OWN = "the places are those of nonzero elements, or of a sort: none is negative or bad"
_ONCE = "written into zeros, each place once"
_CANDIDATES = "the gradient asks more places of the result than there are, never fewer"
_ZERO = "the gradient of cumprod seeks the first zero of a line: no two are equal"
_FULL = "as many pairs are asked for as there are: whatever is compared, none is filled"
_COMMUTES = "sums, products and comparisons for equality, whose operands may be exchanged"
_FLAGS = "truth values and small whole numbers, which half precision holds"
_ORDER = "only the order of what is drawn counts, and no two are equal"
_PARTS = "only a part of no elements has it, and a device need not begin with one"

SAME: dict[str, dict[str, str]] = {
    "places": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: what is written is one element": "each mark is 1",
        "tbk::pointwise: LT is GE": _HALVES,
        "tbk::pointwise: the last input is one element": "no exponent is negative",
        "tbk::pointwise: two inputs are exchanged": _COMMUTES,
    },
    "distances": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: writes are sums": _ONCE,
        "tbk::pointwise: ADD is SUB": _FULL,
        "tbk::pointwise: the last input is one element": _FULL,
    },
    "scans": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: writes are sums": _ONCE,
        "tbk::reduce: EQ is NE": _ZERO,
        "tbk::reduce: constants are others": _ZERO,
    },
    "pairs, moved": {"tbk::scan: operands are rounded to half precision": _FLAGS},
    "masks": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: negative indices are bad": _OWN,
    },
    "classes": {"tbk::index: writes are sums": _ONCE},
    "sorting": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: writes are sums": _ONCE,
        "tbk::pointwise: operands are rounded to half precision": "what is NaN stays NaN",
    },
    "resampling": {"tbk::reduce: the last of what goes is lost": _CANDIDATES},
    "foreach": {
        "tbk::pointwise: LT is GE": _HALVES,
        "tbk::pointwise: conditions fail": _HALVES,
        "tbk::pointwise: conditions hold": _HALVES,
        "tbk::pointwise: constants are others": _HALVES,
    },
    "optimizers": {
        "tbk::pointwise: LT is GE": _HALVES,
        "tbk::pointwise: conditions fail": _HALVES,
        "tbk::pointwise: conditions hold": _HALVES,
    },
    "scaling": {"tbk::pointwise: two inputs are exchanged": "the greater of two"},
    "choices": {
        "tbk::pointwise: ADD is SUB": _ORDER,
        "tbk::pointwise: number 2 is another": _ORDER,
        "tbk::pointwise: number 3 is another": _ORDER,
        "tbk::pointwise: operands are rounded to half precision": _ORDER,
        "tbk::reduce: EQ is NE": _ORDER,
        "tbk::reduce: ISNAN is SIGNBIT": _ORDER,
        "tbk::reduce: operands are rounded to half precision": _ORDER,
        "tbk::sort: values are not written": "only the places of what is sorted are kept",
    },
    "bins": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::pointwise: LT is GE": _HALVES,
        "tbk::pointwise: conditions fail": _HALVES,
        "tbk::pointwise: conditions hold": _HALVES,
    },
    "bags": {
        "tbk::index: a bad index is not told": "none is bad, nor what is made of them",
        "tbk::index: writes are sums": _ONCE,
        "tbk::pointwise: two inputs are exchanged": _COMMUTES,
    },
    "margins": {
        "tbk::pointwise: two inputs are exchanged": _COMMUTES,
        "tbk::scan: ADD is SUB": "of the running sum it is asked whether it is 0",
    },
    "runs": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::reduce: MIN is MAX": "of the least it is asked whether it is negative",
        "tbk::pointwise: operands are rounded to half precision": _FLAGS,
    },
    "vectors": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: negative indices are bad": _OWN,
        "tbk::index: writes are sums": _ONCE,
        "tbk::reduce: operands are rounded to half precision": _FLAGS,
    },
    "patches": {
        "tbk::index: a bad index is not told": _OWN,
        "tbk::index: writes are sums": _ONCE,
    },
}

if RELEASE != (2, 13):  # in 2.11 and 2.14 cumprod's gradient writes to no places
    del SAME["scans"]["tbk::index: writes are sums"]

# On some backends results are the same, on others not.
OPEN: dict[str, str] = {
    "tbk::reduce: the identity is another": _PARTS,
    "norms, tbk::reduce: conditions fail": _PARTS,
    "runs, tbk::reduce: constants are others": _PARTS,
    "choices, tbk::reduce: constants are others": _PARTS,
}


def open_in(family: str) -> set[str]:
    """Returns the faults that a family may notice, or not."""
    return {fault.removeprefix(f"{family}, ") for fault in OPEN}
