# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Calls on the device beside PyTorch's CPU: values, layouts, gradients, and no fallback."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[..., Any]


def signed(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def share(*sizes: int) -> Tensor:
    """Returns probabilities."""
    return torch.rand(sizes, generator=torch.Generator().manual_seed(sum(sizes))) * 0.9 + 0.05


def whole(*sizes: int, most: int = 6) -> Tensor:
    return torch.randint(most, sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def tensors(value: Any) -> list[Tensor]:
    return [one for one in (value if isinstance(value, (tuple, list)) else [value])
            if isinstance(one, Tensor)]  # fmt: skip


def gradients(result: Any, inputs: list[Tensor]) -> list[Tensor | None]:
    outputs = [one for one in tensors(result) if one.requires_grad]
    asked = [one for one in inputs if one.requires_grad]
    if not outputs:
        return []
    seeds = [torch.linspace(-1, 2, one.numel()).view(one.shape).to(one.device) for one in outputs]
    return list(torch.autograd.grad(outputs, asked, seeds, allow_unused=True))


def run(
    call: Call, inputs: list[Tensor], device: torch.device | str
) -> tuple[Any, list[Tensor | None]]:
    here = []
    for one in inputs:
        placed = torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=device)
        placed.copy_(one)
        here.append(placed.requires_grad_(one.dtype.is_floating_point))
    result = call(*here)
    return result, gradients(result, here)


def check(call: Call, inputs: list[Tensor], backend: DeviceModule, device: torch.device) -> None:
    expected, slopes = run(call, inputs, "cpu")
    backend.reset_fallbacks()
    seen, seen_slopes = run(call, inputs, device)
    assert backend.fallbacks() == []
    if not isinstance(expected, (Tensor, tuple)):
        assert seen == expected
        return
    for ours, theirs in zip(tensors(seen), tensors(expected), strict=True):
        assert (ours.dtype, ours.shape, ours.stride()) == (
            theirs.dtype, theirs.shape, theirs.stride(),
        )  # fmt: skip
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
    for slope, other in zip(seen_slopes, slopes, strict=True):
        assert (slope is None) == (other is None)
        if slope is None or other is None:
            continue
        torch.testing.assert_close(slope.cpu(), other, rtol=1e-4, atol=1e-4, equal_nan=True)
