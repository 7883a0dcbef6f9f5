# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies on write, over everything that writes: in place or as an output, with a kernel of the
device or by the host, through the original or the clone. The other one keeps its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import needs, place, values, where
from tbk_contracts.torch.pairs import Case, each_case, line

SHAPE = (6, 7)
Write = Callable[[torch.Tensor, Any], object]

# Each takes what it writes, and a tensor of the same values on the same device.
WRITERS: dict[str, Write] = {
    "add_": lambda one, same: one.add_(same),
    "mul_": lambda one, same: one.mul_(same),
    "fill_": lambda one, _: one.fill_(3),
    "zero_": lambda one, _: one.zero_(),
    "copy_of_device": lambda one, same: one.copy_(same * same),
    "copy_of_host": lambda one, _: one.copy_(torch.ones(one.shape, dtype=one.dtype)),
    "logical_not_": lambda one, _: one.logical_not_(),
    "clamp_": lambda one, _: one.clamp_(1, 2),
    "masked_fill_": lambda one, same: one.masked_fill_(same == 2, 3),
    "index_fill_": lambda one, _: one.index_fill_(0, torch.tensor([1], device=one.device), 3),
    "item_assignment": lambda one, _: one.__setitem__((1, slice(None)), 3),
    "add_out": lambda one, same: torch.add(same, same, out=one),
    "where_out": lambda one, same: torch.where(same > 1, same, same * same, out=one),
    "abs_out": lambda one, same: torch.abs(same - 2, out=one),
}
BOTH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "whole": lambda one: one,
    "row": lambda one: one[2:3],
    "columns": lambda one: one[:, ::2],
}


@each_case(
    {"writer": tuple(WRITERS), "written": ("original", "clone"), "through": tuple(BOTH),
     "dtype": ("float32", "int64", "uint8"), "clones": ("1", "3"), "stream": ("current", "other"),
     "device": ("first", "second")},
    lambda case: not (case.get("writer") in ("item_assignment", "index_fill_")
                      and case.get("through") not in (None, "whole")),
    needs=needs, quick=12,
)  # fmt: skip
@clause("MEM-529", needs="cow")
def test_lazy_clones(device: torch.device, case: Case) -> None:
    device = place(case, device)
    sent = values("small", SHAPE, getattr(torch, case["dtype"]), device)
    original = host.upload(sent, device)
    clones = [torch._lazy_clone(original) for _ in range(int(case["clones"]))]
    written = original if case["written"] == "original" else clones[-1]
    others = [one for one in (original, *clones) if one is not written]
    view, write = BOTH[case["through"]], WRITERS[case["writer"]]

    same = host.upload(view(sent).contiguous(), device)
    where(case, device, lambda: write(view(written), same))
    expected = sent.clone()
    write(view(expected), view(sent).clone())
    check.tensor(f"what was written, {line(case)}", host.download(written), expected)
    for other in others:
        check.tensor(f"what was not written, {line(case)}", host.download(other), sent)
