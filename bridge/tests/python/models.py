# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Small models of two families, and their training, for comparison with PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

Batch = tuple[torch.Tensor, torch.Tensor]
BATCHES = 2  # few enough to be learnt by heart in a few steps


class Transformer(nn.Module):
    """A decoder-only language model: embeddings, causal self-attention, layer norm, GELU."""

    def __init__(
        self,
        layers: int = 2,
        vocabulary: int = 32,
        width: int = 32,
        heads: int = 4,
        length: int = 12,
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        hidden = self.layers(self.token(tokens) + self.position[:length], mask=mask, is_causal=True)
        logits: torch.Tensor = self.head(hidden)
        return logits.flatten(0, 1)


class Residual(nn.Module):
    """Two convolutions with batch norm, and the input beside them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = (
            nn.Identity()
            if stride == 1 and inputs == outputs
            else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(images) + self.shortcut(images))


def resnet(classes: int = 10) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        Residual(8, 8, 1),
        Residual(8, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, classes),
    )


def tokens(step: int) -> Batch:
    generator = torch.Generator().manual_seed(step)
    text = torch.randint(0, 32, (4, 13), generator=generator)
    return text[:, :-1], text[:, 1:].flatten()


def images(step: int) -> Batch:
    generator = torch.Generator().manual_seed(step)
    return (
        torch.randn(8, 3, 16, 16, generator=generator),
        torch.randint(0, 10, (8,), generator=generator),
    )


@dataclass(frozen=True)
class Family:
    """A model, its data and its optimizer; batches are numbered, so that all see the same.

    `bound` is how far the losses of two right computations may lie apart, relative to their value.
    """

    build: Callable[[], nn.Module]
    batch: Callable[[int], Batch]
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]
    bound: float


FAMILIES = {
    "transformer": Family(
        Transformer, tokens, lambda model: torch.optim.AdamW(model.parameters(), lr=1e-2), 1e-5
    ),
    "transformer of three layers": Family(
        lambda: Transformer(layers=3),
        tokens,
        lambda model: torch.optim.AdamW(model.parameters(), lr=1e-2),
        1e-5,
    ),
    "resnet": Family(
        resnet,
        images,
        lambda model: torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        5e-4,
    ),
}


def train(family: Family, device: torch.device, steps: int) -> tuple[list[float], nn.Module]:
    """Returns the loss of each step, and the trained model. Same seed, same data, whatever the
    device."""
    torch.manual_seed(0)
    model = family.build().to(device)
    model.train()
    optimizer = family.optimizer(model)
    losses = []
    for step in range(steps):
        inputs, targets = (tensor.to(device) for tensor in family.batch(step % BATCHES))
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model
