# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Every operator of PyTorch's database of samples, in every dtype that the device has."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators.entries import Entry, apart, entries
from tbk_contracts.torch.operators.table import ROOT_OF_COMPLEX, Class
from tbk_contracts.torch.operators.trial import try_operator

COST = 21

CLAUSES = {Class.EXACT: "OPS-550", Class.STATISTICS: "OPS-551"}


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(*entry.dtypes)
    @clause(CLAUSES.get(entry.kind, "OPS-520"))
    def test(device: torch.device, dtype: torch.dtype, tbk_start: str) -> None:
        try_operator(entry, dtype, device, tbk_start)

    test.__name__ = test.__qualname__ = _name(entry)
    return test


def _name(entry: Entry) -> str:
    is_apart = entry.is_complex and entry.title in ROOT_OF_COMPLEX
    return f"test_{entry.title}{'_of_complex' if is_apart else ''}"


# One function for each entry: its name is what the report shows.
globals().update(
    {_name(part): _test(part) for entry in entries().values() for part in apart(entry)}
)
