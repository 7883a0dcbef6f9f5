# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the models share."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class Dropout(nn.Module):
    """PyTorch's dropout; with `masks` one whose masks are drawn on the host, from that generator.

    Two devices draw different numbers from one seed. With masks of the host both drop the same.
    """

    def __init__(self, probability: float, masks: torch.Generator | None) -> None:
        super().__init__()
        self.probability = probability
        self.masks = masks

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if self.masks is None:
            return functional.dropout(values, self.probability, self.training)
        if not self.training:
            return values
        kept = torch.rand(values.shape, generator=self.masks) >= self.probability
        return values * (kept / (1 - self.probability)).to(values)


class Attention(nn.Module):
    """Attention of several heads; `fused`: by one operator of PyTorch's, else step by step."""

    def __init__(
        self, width: int, heads: int, dropout: Dropout, *, fused: bool, causal: bool = False
    ) -> None:
        super().__init__()
        self.heads, self.fused, self.causal = heads, fused, causal
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = dropout

    def forward(self, values: torch.Tensor, absent: torch.Tensor | None = None) -> torch.Tensor:
        """`absent` says of each place of each sequence whether nothing stands there."""
        batch, length, width = values.shape
        parts = self.project(values).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        seen = None if absent is None else ~absent[:, None, None, :]
        attend = self._by_one_operator if self.fused else self._step_by_step
        mixed = attend(query, key, value, seen)
        out: torch.Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return out

    def _by_one_operator(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        seen: torch.Tensor | None,
    ) -> torch.Tensor:
        # It draws its masks itself: where those are the host's, there are none.
        native = self.training and self.dropout.masks is None
        return functional.scaled_dot_product_attention(
            query,
            key,
            value,
            seen,
            dropout_p=self.dropout.probability if native else 0.0,
            is_causal=self.causal,
        )

    def _step_by_step(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        seen: torch.Tensor | None,
    ) -> torch.Tensor:
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if self.causal:
            square = scores.new_ones(scores.shape[-2:], dtype=torch.bool)
            scores = scores.masked_fill(square.triu(1), float("-inf"))
        if seen is not None:
            scores = scores.masked_fill(~seen, float("-inf"))
        weights: torch.Tensor = self.dropout(scores.softmax(-1))
        return weights @ value
