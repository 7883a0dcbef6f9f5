# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Losses of classes as a composition: values, weights and gradients are those of the CPU."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from likeness import check_same, moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Operands = dict[str, Tensor]
REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]

pytestmark = pytest.mark.usefixtures("takes_programs", "takes_indices")


def loss_operands(shape: tuple[int, ...], dtype: torch.dtype) -> Operands:
    generator = torch.Generator().manual_seed(5)
    scores = torch.randn(*shape, generator=generator).to(dtype)
    classes = shape[0] if len(shape) == 1 else shape[1]
    sizes = () if len(shape) == 1 else (shape[0], *shape[2:])
    target = torch.randint(classes, sizes, generator=generator)
    weight = torch.rand(classes, generator=generator).to(dtype)
    return {"scores": scores, "target": target, "weight": weight}


def loss_of(there: Operands, reduction: str, weighted: bool, ignored: int) -> list[Tensor]:
    scores = there["scores"].detach().requires_grad_()
    loss = torch.nn.functional.cross_entropy(
        scores, there["target"], there["weight"] if weighted else None,
        ignore_index=ignored, reduction=reduction,
    )  # fmt: skip
    loss.sum().backward()
    assert scores.grad is not None
    return [loss.detach(), scores.grad]


@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3, 4), (2, 5, 3), (1, 1)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy(
    shape: tuple[int, ...], reduction: str, device: torch.device, backend: DeviceModule
) -> None:
    host = loss_operands(shape, torch.float32)
    there = {key: moved(tensor, device) for key, tensor in host.items()}
    for weighted, ignored in itertools.product((False, True), (-100, 0)):
        backend.reset_fallbacks()
        seen = loss_of(there, reduction, weighted, ignored)
        assert backend.fallbacks() == []
        for one, like in zip(seen, loss_of(host, reduction, weighted, ignored), strict=True):
            check_same(one, like)


@pytest.mark.parametrize("shape", [(6, 5), (5,), (0, 5), (2, 5, 3, 4)])
def test_nll_loss_and_its_total_weight(
    shape: tuple[int, ...], device: torch.device, backend: DeviceModule
) -> None:
    op = torch.ops.aten.nll_loss2d_forward if len(shape) == 4 else torch.ops.aten.nll_loss_forward
    for dtype, reduction, ignored in itertools.product(REAL, (0, 1, 2), (-100, 1)):
        host = loss_operands(shape, dtype)
        there = {key: moved(tensor, device) for key, tensor in host.items()}
        call = partial(op, reduction=reduction, ignore_index=ignored)
        backend.reset_fallbacks()
        seen = call(there["scores"], there["target"], there["weight"])
        assert backend.fallbacks() == []
        expected = call(host["scores"], host["target"], host["weight"])
        for one, like in zip(seen, expected, strict=True):
            check_same(one, like)


def test_all_targets_ignored(device: torch.device) -> None:
    host = loss_operands((3, 5), torch.float32)
    host["target"].fill_(-100)
    there = {key: moved(tensor, device) for key, tensor in host.items()}
    for reduction in ("none", "mean", "sum"):
        seen, expected = (loss_of(each, reduction, True, -100) for each in (there, host))
        for one, like in zip(seen, expected, strict=True):
            check_same(one, like)
