# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each operator told a dimension that its operand does not have: the type of the error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tbk_contracts.torch import check, missing
from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import arguments, rules
from tbk_contracts.torch.operators.entries import Entry, entries

COST = 4


def _try(made: rules.Subject, device: torch.device) -> int:
    asked, rank = 0, max(one.dim() for one in made.sample.tensors())
    for name, place in arguments.dimensions(made.entry).items():
        for dim in (-rank - 3, -rank - 1, rank, rank + 3):
            told = arguments.told_dimension(made.sample, name, place, dim)
            if told is None:
                continue
            other = rules.Subject(made.entry, told, made.plain, made.dtype)
            on_host = rules.outcome(partial(_call, other, rules.CPU))
            if not isinstance(on_host, Exception) or missing.lacking(on_host):
                continue
            what = f"{made.entry.title} of a dimension that is not there"
            # The CPU's own narrow_copy alone tells it by another type than PyTorch does elsewhere.
            wanted: tuple[type[BaseException], ...] = tuple(
                dict.fromkeys((type(on_host), IndexError)))  # fmt: skip
            call = partial(_call, other, device)
            check.raises(what, wanted, partial(rules.on_device, call, device))
            asked += 1
    return asked


def _call(made: rules.Subject, device: torch.device) -> Any:
    placed = made.placed(device)
    return made.entry.info.op(placed.value, *placed.args, **placed.kwargs)


def _test(entry: Entry) -> Callable[..., None]:
    @each_dtype(rules.dtype_of(entry))
    @clause("ERR-506", tier=rules.tier_of(entry))
    def test(device: torch.device, dtype: torch.dtype) -> None:
        rules.try_rule(_try, entry, dtype, device)

    test.__name__ = test.__qualname__ = f"test_{entry.title}"
    return test


globals().update({
    f"test_{title}": _test(entry) for title, entry in entries().items()
    if arguments.dimensions(entry) and rules.is_told(entry, "dimensions")
})  # fmt: skip
