# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Attention and what is made of products: no call of them runs on the host, learning or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from products import skip_unless_served, values
from torch.nn import functional

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor


@pytest.fixture(autouse=True)
def served(backend: DeviceModule, device: torch.device) -> None:
    skip_unless_served(backend, device)


def attention(x: Tensor) -> Tensor:
    split = x.unflatten(-1, (2, 4)).transpose(1, 2)
    return functional.scaled_dot_product_attention(split, split * 2, split)


def multi_head(x: Tensor) -> Tensor:
    torch.manual_seed(5)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).to(x.device)
    first: Tensor = layer(x, x, x)[0]
    second: Tensor = layer(x, x, x, need_weights=False)[0]
    return first + second


def linear(x: Tensor) -> Tensor:
    torch.manual_seed(5)
    layers = torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.Linear(3, 8, bias=False))
    made: Tensor = layers.to(x.device)(x)
    return made


@pytest.mark.parametrize("layer", [attention, multi_head, linear])
def test_layers_learn_without_the_host(
    layer: Callable[[Tensor], Tensor], backend: DeviceModule, device: torch.device
) -> None:
    seen = []
    for where in ("cpu", device):
        x = values((2, 5, 8), torch.float32, 1).to(where).requires_grad_()
        backend.reset_fallbacks()
        out = layer(x)
        out.square().sum().backward()
        assert backend.fallbacks() == []
        assert x.grad is not None
        seen.append((out.detach().cpu(), x.grad.cpu()))
    torch.testing.assert_close(seen[1], seen[0], rtol=1e-4, atol=1e-5)


MASKS: dict[str, dict[str, Tensor]] = {
    "no mask": {},
    "a mask of places": {"src_mask": torch.ones(5, 5).triu(1).bool()},
    "padding": {"src_key_padding_mask": torch.tensor([[False] * 5, [False] * 3 + [True] * 2])},
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("options", [{}, {"activation": "gelu", "norm_first": True}])
def test_an_encoder_that_does_not_learn_stays_on_the_device(
    mask: str, options: dict[str, Any], backend: DeviceModule, device: torch.device
) -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options).eval()
    x = values((2, 5, 8), torch.float32, 1)
    with torch.no_grad():
        like = layer(x, **MASKS[mask])
        layer, there = layer.to(device), {k: v.to(device) for k, v in MASKS[mask].items()}
        backend.reset_fallbacks()
        mine = layer(x.to(device), **there)
    assert backend.fallbacks() == []
    assert mine.stride() == like.stride()
    torch.testing.assert_close(mine.cpu(), like, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"need_weights": False}, {"average_attn_weights": False}])
def test_attention_that_does_not_learn_stays_on_the_device(
    options: dict[str, Any], backend: DeviceModule, device: torch.device
) -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = values((2, 5, 8), torch.float32, 1)
    with torch.no_grad():
        like = layer(x, x, x, **options)
        layer, there = layer.to(device), x.to(device)
        backend.reset_fallbacks()
        mine = layer(there, there, there, **options)
    assert backend.fallbacks() == []
    for one, other in zip(mine, like, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.stride() == other.stride()
            torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_scores_that_are_masked_are_nothing(kind: int, device: torch.device) -> None:
    """And NaN where all are."""
    scores = values((2, 3, 4, 4), torch.float32, 1)
    shapes = {0: (4, 4), 1: (2, 4), 2: (2, 3, 4, 4)}
    mask = values(shapes[kind], torch.float32, 2) > 0
    mask[0] = True
    like = torch._masked_softmax(scores, mask, 3, kind)
    mine = torch._masked_softmax(scores.to(device), mask.to(device), 3, kind)
    torch.testing.assert_close(mine.cpu(), like, equal_nan=True)
