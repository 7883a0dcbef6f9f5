# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The result types of each operator whose operands are of two dtypes."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import arguments, rules
from tbk_contracts.torch.operators.entries import Entry, entries

COST = 4


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(rules.dtype_of(entry))
    @clause("OPS-521", tier=rules.tier_of(entry))
    def test(device: torch.device, dtype: torch.dtype) -> None:
        rules.try_rule(arguments.try_dtypes, entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}"
    return test


globals().update({
    f"test_{title}": _test(entry) for title, entry in entries().items()
    if arguments.has_several(entry) and rules.is_told(entry, "dtypes")
})  # fmt: skip
