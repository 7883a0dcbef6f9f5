# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""BERT-base (12 layers of 768) and GPT-2 (12 layers of 768), with a quarter of the width."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from .parts import Attention, Dropout

DROPPED = 0.1


def start(module: nn.Module) -> None:
    """Starts weights as both papers do, or the scores of words would begin far too large."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)


class Layer(nn.Module):
    """Attention, then two linear layers, with norms before (causal, GPT) or after them (BERT)."""

    def __init__(
        self, width: int, heads: int, masks: torch.Generator | None, *, fused: bool, causal: bool
    ) -> None:
        super().__init__()
        self.before = causal
        self.attention = Attention(
            width, heads, Dropout(DROPPED, masks), fused=fused, causal=causal
        )
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = Dropout(DROPPED, masks)
        self.approximate = "tanh" if causal else "none"

    def forward(self, values: torch.Tensor, absent: torch.Tensor | None = None) -> torch.Tensor:
        if self.before:
            values = values + self.dropout(self.attention(self.first(values)))
            out: torch.Tensor = values + self.dropout(self._wide(self.second(values)))
            return out
        values = self.first(values + self.dropout(self.attention(values, absent)))
        after: torch.Tensor = self.second(values + self.dropout(self._wide(values)))
        return after

    def _wide(self, values: torch.Tensor) -> torch.Tensor:
        inner = functional.gelu(self.wide(values), approximate=self.approximate)
        out: torch.Tensor = self.narrow(inner)
        return out


class Bert(nn.Module):
    """An encoder that guesses words that are masked; padding is not looked at."""

    PADDING = 0

    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        vocabulary: int,
        length: int,
        masks: torch.Generator | None,
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width, padding_idx=self.PADDING)
        self.position = nn.Embedding(length, width)
        self.kind = nn.Embedding(2, width)
        self.norm, self.dropout = nn.LayerNorm(width), Dropout(DROPPED, masks)
        self.layers = nn.ModuleList(
            Layer(width, heads, masks, fused=False, causal=False) for _ in range(layers)
        )
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.apply(start)

    def forward(self, tokens: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        values = self.token(tokens) + self.position(places) + self.kind(kinds)
        values = self.dropout(self.norm(values))
        absent = tokens == self.PADDING
        for layer in self.layers:
            values = layer(values, absent)
        return functional.linear(self.transform(values), self.token.weight, self.bias)


class Gpt(nn.Module):
    """A decoder that guesses the next word; `fused`: with attention by one operator."""

    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        vocabulary: int,
        length: int,
        masks: torch.Generator | None,
        *,
        fused: bool,
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(length, width)
        self.dropout = Dropout(DROPPED, masks)
        self.layers = nn.ModuleList(
            Layer(width, heads, masks, fused=fused, causal=True) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.apply(start)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        values = self.dropout(self.token(tokens) + self.position(places))
        for layer in self.layers:
            values = layer(values)
        return functional.linear(self.norm(values), self.token.weight)
