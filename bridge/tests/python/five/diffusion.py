# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The UNet of Denoising Diffusion Probabilistic Models, with a quarter of the channels."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from .parts import Attention, Dropout

GROUPS = 8  # 32 of 128 channels


def embed_times(times: torch.Tensor, width: int) -> torch.Tensor:
    """Returns sines and cosines of the times, at frequencies that fall from 1 to 1 / 10000."""
    half = width // 2
    places = torch.arange(half, device=times.device, dtype=torch.float32)
    angles = times[:, None].float() * torch.exp(-math.log(10000) / (half - 1) * places)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Block(nn.Module):
    """Two convolutions with the time between them, and the input beside them."""

    def __init__(self, inputs: int, outputs: int, time: int, masks: torch.Generator | None) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(GROUPS, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, 1, 1)
        )
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, outputs))
        self.second = nn.Sequential(
            nn.GroupNorm(GROUPS, outputs),
            nn.SiLU(),
            Dropout(0.1, masks),
            nn.Conv2d(outputs, outputs, 3, 1, 1),
        )
        self.beside = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, images: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        inner = self.first(images) + self.time(time)[:, :, None, None]
        out: torch.Tensor = self.second(inner) + self.beside(images)
        return out


class ImageAttention(nn.Module):
    """Attention between all places of an image."""

    def __init__(self, channels: int, masks: torch.Generator | None) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.attention = Attention(channels, 1, Dropout(0.0, masks), fused=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        line = self.norm(images).flatten(2).transpose(1, 2)
        out: torch.Tensor = images + self.attention(line).transpose(1, 2).reshape(images.shape)
        return out


class Step(nn.Module):
    """A block, and attention after it where there is any."""

    def __init__(
        self, inputs: int, outputs: int, time: int, masks: torch.Generator | None, *, attends: bool
    ) -> None:
        super().__init__()
        self.block = Block(inputs, outputs, time, masks)
        self.attention = ImageAttention(outputs, masks) if attends else nn.Identity()

    def forward(self, images: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.attention(self.block(images, time))
        return out


class Level(nn.Module):
    """The steps of one resolution."""

    def __init__(
        self,
        channels: list[tuple[int, int]],
        time: int,
        masks: torch.Generator | None,
        *,
        attends: bool,
    ) -> None:
        super().__init__()
        self.steps = nn.ModuleList(Step(*pair, time, masks, attends=attends) for pair in channels)


class Unet(nn.Module):
    """`factors` of the width at each resolution, with `blocks` each; attention at the second."""

    def __init__(
        self, width: int, factors: tuple[int, ...], blocks: int, masks: torch.Generator | None
    ) -> None:
        super().__init__()
        self.width, time = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.stem = nn.Conv2d(3, width, 3, 1, 1)
        widths = [factor * width for factor in factors]
        beside, now, down, up = [width], width, [], []
        for place, channels in enumerate(widths):
            pairs = [(now if i == 0 else channels, channels) for i in range(blocks)]
            down.append(Level(pairs, time, masks, attends=place == 1))
            beside += [channels] * blocks + ([channels] if place + 1 < len(widths) else [])
            now = channels
        for place, channels in reversed(list(enumerate(widths))):
            pairs = []
            for _ in range(blocks + 1):
                pairs.append((now + beside.pop(), channels))
                now = channels
            up.append(Level(pairs, time, masks, attends=place == 1))
        self.down, self.up = nn.ModuleList(down), nn.ModuleList(up)
        self.smaller = nn.ModuleList(nn.Conv2d(each, each, 3, 2, 1) for each in widths[:-1])
        self.larger = nn.ModuleList(nn.Conv2d(each, each, 3, 1, 1) for each in widths[:0:-1])
        self.middle = nn.ModuleList(Block(widths[-1], widths[-1], time, masks) for _ in range(2))
        self.attention = ImageAttention(widths[-1], masks)
        self.out = nn.Sequential(
            nn.GroupNorm(GROUPS, width), nn.SiLU(), nn.Conv2d(width, 3, 3, 1, 1)
        )

    def forward(self, images: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        time = self.time(embed_times(times, self.width))
        values = self.stem(images)
        beside = [values]
        for place, level in enumerate(self.down):
            for step in cast("Level", level).steps:
                values = step(values, time)
                beside.append(values)
            if place < len(self.smaller):
                values = self.smaller[place](values)
                beside.append(values)
        values = self.attention(self.middle[0](values, time))
        values = self.middle[1](values, time)
        for place, level in enumerate(self.up):
            for step in cast("Level", level).steps:
                values = step(torch.cat([values, beside.pop()], dim=1), time)
            if place < len(self.larger):
                doubled = functional.interpolate(values, scale_factor=2.0, mode="nearest")
                values = self.larger[place](doubled)
        out: torch.Tensor = self.out(values)
        return out
