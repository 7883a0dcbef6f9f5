# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each operator refusing each of its operands that is of the host."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import Tier, clause, each_dtype
from tbk_contracts.torch.operators import operands, rules
from tbk_contracts.torch.operators.entries import Entry, entries

COST = 4


def _tier(entry: Entry) -> Tier:
    """Returns the tier of an entry: of one operand, the output alone can be of the host."""
    is_of_one = type(entry.info).__name__ == "UnaryUfuncInfo"
    return "thorough" if is_of_one else rules.tier_of(entry)


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(rules.dtype_of(entry))
    @clause("OPS-528", needs="accelerator", tier=_tier(entry))
    def test(device: torch.device, dtype: torch.dtype) -> None:
        rules.try_rule(operands.try_host, entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}"
    return test


globals().update({
    f"test_{title}": _test(entry) for title, entry in entries().items()
    if operands.has_operands(entry) and rules.is_told(entry, "host")
})  # fmt: skip
