# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each operator on operands of six dimensions."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import arguments, rules
from tbk_contracts.torch.operators.entries import Entry, entries
from tbk_contracts.torch.operators.table import Class

COST = 6

CLAUSES = {Class.EXACT: "OPS-550"}


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(rules.dtype_of(entry))
    @clause(CLAUSES.get(entry.kind, "OPS-520"), tier=rules.tier_of(entry))
    def test(device: torch.device, dtype: torch.dtype) -> None:
        rules.try_rule(arguments.try_ranks, entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}"
    return test


globals().update({
    f"test_{title}": _test(entry) for title, entry in entries().items()
    if rules.is_judged(entry) and rules.is_told(entry, "ranks")
})  # fmt: skip
