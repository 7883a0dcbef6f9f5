# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sums of products that must be exact."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators.entries import Entry, entries
from tbk_contracts.torch.operators.lattice import try_lattice
from tbk_contracts.torch.operators.table import Class

COST = 25

FLOATING = ("float32", "float64", "float16", "bfloat16", "complex64")


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(*[name for name in FLOATING if name in entry.dtypes])
    @clause("OPS-552")
    def test(device: torch.device, dtype: torch.dtype) -> None:
        try_lattice(entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}"
    return test


globals().update({
    f"test_{title}": _test(entry)
    for title, entry in entries().items() if entry.kind is Class.LATTICE
})  # fmt: skip
