# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The five models with their data, and how they are trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .diffusion import Unet
from .lstm import LanguageModel
from .resnet import ResNet
from .transformers import Bert, Gpt

Masks = torch.Generator | None
Tensors = tuple[torch.Tensor, ...]
BATCH = 2


@dataclass(frozen=True)
class Size:
    """How deep and how large a model is."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    length: int
    blocks: tuple[int, ...]
    channels: int
    image: int
    factors: tuple[int, ...]


# The depth of the papers, and a quarter of the width.
PUBLISHED = Size(12, 192, 3, 2048, 32, (3, 4, 6, 3), 16, 64, (1, 2, 2, 2))
SMALL = Size(2, 32, 2, 64, 12, (1, 1, 1, 1), 8, 64, (1, 2))


def _random(step: int) -> torch.Generator:
    return torch.Generator().manual_seed(step)


def _words(size: Size, step: int, length: int) -> torch.Tensor:
    return torch.randint(1, size.vocabulary, (BATCH, length), generator=_random(step))


def _images(size: Size, step: int) -> Tensors:
    random = _random(step)
    shape = (BATCH, 3, size.image, size.image)
    return torch.randn(shape, generator=random), torch.randint(0, 10, (BATCH,), generator=random)


def _masked_words(size: Size, step: int) -> Tensors:
    """One sequence is shorter; of each third word the model has to guess which it was."""
    words = _words(size, step, size.length)
    words[-1, -size.length // 4 :] = Bert.PADDING
    is_asked = torch.arange(size.length) % 3 == 0
    targets = words.where(is_asked & (words != Bert.PADDING), -100)
    kinds = (torch.arange(size.length) >= size.length // 2).long().expand_as(words)
    return words.masked_fill(targets >= 0, size.vocabulary - 1), kinds, targets


def _next_words(size: Size, step: int) -> Tensors:
    words = _words(size, step, size.length + 1)
    return words[:, :-1], words[:, 1:]


def _noisy_images(size: Size, step: int) -> Tensors:
    random = _random(step)
    shape = (BATCH, 3, size.image // 2, size.image // 2)
    clean, noise = torch.randn(2, *shape, generator=random).unbind(0)
    times = torch.randint(0, 1000, (BATCH,), generator=random)
    share = (1 - times / 1000)[:, None, None, None]
    return share.sqrt() * clean + (1 - share).sqrt() * noise, times, noise


def _cross_entropy(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(scores.flatten(0, -2), targets.flatten())


def _gpt(size: Size, masks: Masks, *, fused: bool) -> nn.Module:
    return Gpt(
        size.layers, size.width, size.heads, size.vocabulary, size.length, masks, fused=fused
    )


@dataclass(frozen=True)
class Family:
    """A model, its numbered batches (the last tensor is what it has to find), and its loss.

    `bound` is how far the losses of two right computations may lie apart, relative to their value.
    """

    build: Callable[[Size, Masks], nn.Module]
    batch: Callable[[Size, int], Tensors]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    bound: float
    rate: float = 1e-3


FAMILIES = {
    "ResNet-50": Family(
        lambda size, masks: ResNet(size.blocks, size.channels, 10, masks),
        _images,
        functional.cross_entropy,
        5e-4,
        rate=1e-4,
    ),
    "BERT-base": Family(
        lambda size, masks: Bert(
            size.layers, size.width, size.heads, size.vocabulary, size.length, masks
        ),
        _masked_words,
        _cross_entropy,
        1e-5,
    ),
    "GPT": Family(
        lambda size, masks: _gpt(size, masks, fused=False), _next_words, _cross_entropy, 1e-5
    ),
    "GPT, fused attention": Family(
        lambda size, masks: _gpt(size, masks, fused=True), _next_words, _cross_entropy, 1e-5
    ),
    "diffusion UNet": Family(
        lambda size, masks: Unet(2 * size.channels, size.factors, 2, masks),
        _noisy_images,
        functional.mse_loss,
        5e-5,
    ),
    "LSTM": Family(
        lambda size, masks: LanguageModel(2, size.width, size.vocabulary, masks),
        _next_words,
        _cross_entropy,
        1e-5,
    ),
}
# The implementations of an optimizer in PyTorch.
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}


@dataclass
class Trainer:
    """Trains one model on one device; same seed, same batches, whatever the device.

    `masked`: what dropout drops is drawn on the host. `mixed`: under autocast, with a GradScaler.
    """

    family: Family
    device: torch.device
    size: Size = SMALL
    optimizer: str = "foreach"
    masked: bool = False
    mixed: bool = False
    model: nn.Module = field(init=False)

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        masks = torch.Generator().manual_seed(1) if self.masked else None
        self.model = self.family.build(self.size, masks).to(self.device).train()
        self.made = torch.optim.AdamW(
            self.model.parameters(), lr=self.family.rate, **OPTIMIZERS[self.optimizer]
        )
        self.scaler = torch.amp.GradScaler(self.device.type, init_scale=1024.0, enabled=self.mixed)

    def loss(self, batch: Tensors) -> torch.Tensor:
        *inputs, targets = (tensor.to(self.device) for tensor in batch)
        with torch.autocast(self.device.type, torch.float16, enabled=self.mixed):
            return self.family.loss(self.model(*inputs), targets)

    def step(self, batch: Tensors) -> torch.Tensor:
        """Returns the loss, which is on the device."""
        self.made.zero_grad(set_to_none=True)
        loss = self.loss(batch)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.made)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.made)
        self.scaler.update()
        return loss.detach()

    def train(self, steps: int) -> list[float]:
        """Returns the loss of each step."""
        return [self.step(self.family.batch(self.size, n)).item() for n in range(steps)]
