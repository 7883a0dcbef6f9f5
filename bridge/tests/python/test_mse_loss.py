# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The squared error, forward and backward, beside PyTorch's CPU."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

SHAPES = {
    "dense": ((3, 4), (3, 4)),
    "target of one": ((3, 4), ()),
    "empty": ((0, 4), (0, 4)),
    "one": ((), ()),
}


def run(
    device: torch.device | str, dtype: torch.dtype, reduction: str, shape: str, turned: bool
) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    operands = [torch.rand(sizes, generator=random).to(device, dtype) for sizes in SHAPES[shape]]
    if turned:
        operands = [each.mT.contiguous().mT if each.dim() == 2 else each for each in operands]
    self, target = (each.requires_grad_() for each in operands)
    loss = functional.mse_loss(self, target.expand_as(self), reduction=reduction)
    loss.sum().backward()
    assert self.grad is not None
    assert target.grad is not None
    return [loss.detach(), self.grad, target.grad]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_losses_are_those_of_the_cpu(
    device: torch.device, dtype: torch.dtype, reduction: str, shape: str, turned: bool
) -> None:
    expected = run("cpu", dtype, reduction, shape, turned)
    for ours, theirs in zip(run(device, dtype, reduction, shape, turned), expected, strict=True):
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours.cpu(), theirs, equal_nan=True)
