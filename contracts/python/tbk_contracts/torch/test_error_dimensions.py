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
from tbk_contracts.torch.operators import forms, rules
from tbk_contracts.torch.operators.entries import Entry, entries
from tbk_contracts.torch.operators.samples import Sample

COST = 4
NAMES = ("dim", "dim0", "dim1", "start_dim", "end_dim", "axis")


def _places(entry: Entry) -> dict[str, int]:
    """Returns the arguments that name a dimension: by name, and behind how many of the others."""
    return {one.name: place - 1 for schema in forms.overloads(forms.base(entry))
            for place, one in enumerate(schema.arguments)
            if one.name in NAMES and place}  # fmt: skip


def _told(sample: Sample, name: str, place: int, dim: int) -> Sample | None:
    """Returns the call with another dimension; None where it names none."""
    if isinstance(sample.kwargs.get(name), (int, tuple, list)):
        old = sample.kwargs[name]
        kwargs = {**sample.kwargs, name: _like(old, dim)}
        return Sample(sample.number, "", sample.value, sample.args, kwargs)
    if not 0 <= place < len(sample.args) or not isinstance(sample.args[place], (int, tuple, list)):
        return None
    args = list(sample.args)
    args[place] = _like(args[place], dim)
    return Sample(sample.number, "", sample.value, tuple(args), sample.kwargs)


def _like(old: Any, dim: int) -> Any:
    return dim if isinstance(old, int) else type(old)([*old[:-1], dim])


def _try(made: rules.Subject, device: torch.device) -> int:
    asked, rank = 0, max(one.dim() for one in made.sample.tensors())
    for name, place in _places(made.entry).items():
        for dim in (-rank - 3, -rank - 1, rank, rank + 3):
            told = _told(made.sample, name, place, dim)
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
    if _places(entry) and rules.is_told(entry, "dimensions")
})  # fmt: skip
