# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each operator written by out= and in place: resized, strided, overlapping, as on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import outputs, rules
from tbk_contracts.torch.operators.entries import Entry, entries

COST = 4


def _has_any(entry: Entry) -> bool:
    return rules.has_out(entry) or rules.has_in_place(entry)


def _is_quick(entry: Entry, name: str) -> bool:
    """Returns whether an operator of several operands is tried for overlaps."""
    kind = type(entry.info).__name__
    if name == "that_overlaps_an_operand":
        return kind == "BinaryUfuncInfo"
    return name == "that_overlaps_itself" and kind == "OpInfo" and rules.has_in_place(entry)


CLAUSES = {"of_any_size": "OPS-523", "of_any_strides": "OPS-524", "that_overlaps_itself": "OPS-526",
           "that_overlaps_an_operand": "OPS-527"}  # fmt: skip
RULES: dict[str, tuple[Callable[[Entry], bool], rules.Try]] = {
    "of_any_size": (rules.has_out, outputs.try_out),
    "of_any_strides": (rules.has_out, outputs.try_strided_out),
    "that_overlaps_itself": (_has_any, outputs.try_expanded),
    "that_overlaps_an_operand": (_has_any, outputs.try_overlap),
}


def _test(entry: Entry, name: str) -> Callable[..., None]:
    @each_dtype(rules.dtype_of(entry))
    @clause(CLAUSES.get(name, "OPS-523"), tier=rules.tier_of(entry, _is_quick(entry, name)))
    def test(device: torch.device, dtype: torch.dtype) -> None:
        rules.try_rule(RULES[name][1], entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}_{name}"
    return test


globals().update({
    f"test_{title}_{name}": _test(entry, name)
    for title, entry in entries().items()
    for name, (has, _) in RULES.items() if has(entry) and rules.is_told(entry, name)
})  # fmt: skip
