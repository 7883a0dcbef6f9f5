# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators in place and with out=, told what is not the default: as the plain form takes it."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import forms
from tbk_contracts.torch.operators.entries import Entry, entries
from tbk_contracts.torch.operators.table import Class

CLAUSES = {Class.EXACT: "OPS-550"}


def _test(form: forms.Form, entry: Entry) -> Callable[..., None]:
    @each_dtype("float32" if "float32" in entry.dtypes else entry.dtypes[0])
    @clause(CLAUSES.get(entry.kind, "OPS-520"))
    def test(device: torch.device, dtype: torch.dtype) -> None:
        forms.try_form(form, entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}_{form.name}"
    return test


globals().update({
    f"test_{title}_{form.name}": _test(form, entry)
    for title, entry in entries().items()
    for form in forms.FORMS if form.has(entry)
})  # fmt: skip
