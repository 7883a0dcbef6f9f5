# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of every operator that has them."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import gradients
from tbk_contracts.torch.operators.entries import Entry, entries

COST = 20


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(*gradients.dtypes(entry))
    @clause("OPS-559")
    def test(device: torch.device, dtype: torch.dtype, tbk_start: str) -> None:
        gradients.try_gradients(entry, dtype, device, tbk_start)

    test.__name__ = test.__qualname__ = f"test_{entry.title}"
    return test


globals().update({
    f"test_{title}": _test(entry)
    for title, entry in entries().items() if gradients.dtypes(entry)
})  # fmt: skip
