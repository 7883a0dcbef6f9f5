# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that index: what they are given, and how the device is held against the host.

A call gets tensors by name, on the host or on the device, and returns what it made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from likeness import check_same, moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Operands = dict[str, Tensor]
Call = Callable[..., Any]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "turned": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "stepped": lambda t: t.repeat_interleave(2, 0)[::2],
}


def operands(dtype: torch.dtype, layout: str = "plain") -> Operands:
    generator = torch.Generator().manual_seed(7)

    def values(rows: int) -> Tensor:
        drawn = torch.randn(rows, 5, generator=generator) * 2
        return LAYOUTS[layout](drawn > 0 if dtype == torch.bool else drawn.to(dtype))

    places = torch.randint(4, (3, 5), generator=generator)
    different = torch.stack([torch.randperm(4, generator=generator)[:3] for _ in range(5)], 1)
    return {
        "x": values(4), "y": values(3), "m": values(4) != 0,
        "i": torch.tensor([3, 0, 1, 1]), "j": torch.tensor([0, 2, 1, 3]),
        "k": torch.tensor([2, 0, 2]), "r": torch.tensor([3, 0, 2]),
        "i2": LAYOUTS[layout](places), "r2": LAYOUTS[layout](different),
    }  # fmt: skip


def check(call: Call, host: Operands, device: torch.device, backend: DeviceModule) -> None:
    there = {name: moved(tensor, device) for name, tensor in host.items()}
    backend.reset_fallbacks()
    seen, expected = call(**there), call(**host)
    assert backend.fallbacks() == []
    if isinstance(expected, Tensor):
        check_same(seen, expected)
    for name, tensor in host.items():
        check_same(there[name], tensor)
