# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The medium LSTM of Recurrent Neural Network Regularization, a quarter as wide."""

from __future__ import annotations

import torch
from torch import nn

from .parts import Dropout

State = tuple[torch.Tensor, torch.Tensor]


class LanguageModel(nn.Module):
    """Guesses the next word. Dropout stands between the layers, as nn.LSTM has it."""

    def __init__(
        self, layers: int, width: int, vocabulary: int, masks: torch.Generator | None
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.dropout = Dropout(0.5, masks)
        # With masks of the host, layers one by one: nn.LSTM would draw its own between them.
        count = 1 if masks is None else layers
        inner = 0.5 if masks is None else 0.0
        self.layers = nn.ModuleList(
            nn.LSTM(width, width, layers // count, dropout=inner, batch_first=True)
            for _ in range(count)
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        values = self.dropout(self.token(tokens))
        for layer in self.layers:
            values = self.dropout(layer(values)[0])
        scores: torch.Tensor = self.head(values)
        return scores
