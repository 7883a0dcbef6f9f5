# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""ResNet-50 of Deep Residual Learning for Image Recognition, with a quarter of the channels."""

from __future__ import annotations

import torch
from torch import nn

from .parts import Dropout


def _normed(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class Bottleneck(nn.Module):
    """Three convolutions, and the input beside them."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = self.expansion * width
        last = _normed(width, outputs, 1)
        # A block begins as little more than its input, or the loss would hang on each rounding.
        nn.init.constant_(list(last.parameters())[1], 0.1)
        self.body = nn.Sequential(
            _normed(inputs, width, 1),
            nn.ReLU(inplace=True),
            _normed(width, width, 3, stride),
            nn.ReLU(inplace=True),
            last,
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else _normed(inputs, outputs, 1, stride)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(images) + self.shortcut(images))


class ResNet(nn.Module):
    """`blocks` of each of the four stages; (3, 4, 6, 3) is the one of 50 layers."""

    def __init__(
        self, blocks: tuple[int, ...], width: int, classes: int, masks: torch.Generator | None
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _normed(3, width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        inputs, stages = width, []
        for stage, count in enumerate(blocks):
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                stages.append(Bottleneck(inputs, width << stage, stride))
                inputs = Bottleneck.expansion * (width << stage)
        self.stages = nn.Sequential(*stages)
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), Dropout(0.2, masks), nn.Linear(inputs, classes)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.stages(self.stem(images)))
        return scores
