# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Pooling, padding and resizing, with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as nnf

from route_samples.sample import Sample, learned, real

IMAGES = real(2, 3, 6, 7)


def images(function: Callable[..., Any], *given: Any, **named: Any) -> Sample:
    return learned(lambda x: function(x, *given, **named), IMAGES)


POOLING: dict[str, Sample] = {
    "average": images(nnf.avg_pool2d, 3, 2, 1),
    "average without padding": images(nnf.avg_pool2d, 3, 2, 1, count_include_pad=False),
    "average by a divisor": images(nnf.avg_pool2d, (2, 3), divisor_override=5),
    "average, ceiled": images(nnf.avg_pool2d, 2, 2, ceil_mode=True),
    "average of volumes": learned(lambda x: nnf.avg_pool3d(x, 2), real(1, 2, 4, 4, 6)),
    "average of lines": learned(lambda x: nnf.avg_pool1d(x, 3, 2), real(2, 3, 9)),
    "adaptive": images(nnf.adaptive_avg_pool2d, (4, 3)),
    "greatest": images(nnf.max_pool2d, 3, 2, 1, return_indices=True),
    "greatest, dilated": images(nnf.max_pool2d, (2, 3), (1, 2), (1, 0), (2, 1)),
    "greatest of volumes": learned(lambda x: nnf.max_pool3d(x, 2), real(1, 2, 4, 4, 6)),
    "greatest, last channels": learned(lambda x: nnf.max_pool2d(x, 2),
                                       IMAGES.to(memory_format=torch.channels_last)),
}  # fmt: skip
PADDING: dict[str, Sample] = {
    "reflect": images(nnf.pad, (2, 1, 1, 2), mode="reflect"),
    "replicate": images(nnf.pad, (2, 1, 1, 2), mode="replicate"),
    "constant": images(nnf.pad, (2, 1, 1, -2), value=1.5),
    "circular": images(nnf.pad, (2, 1, 1, 2), mode="circular"),
    "reflect a line": learned(lambda x: nnf.pad(x, (3, 1), mode="reflect"), real(2, 3, 6)),
}
RESAMPLING: dict[str, Sample] = {
    "nearest": images(nnf.interpolate, (9, 4)),
    "nearest, exact": images(nnf.interpolate, (9, 4), mode="nearest-exact"),
    "bilinear": images(nnf.interpolate, (9, 11), mode="bilinear"),
    "bilinear to less": images(nnf.interpolate, (4, 3), mode="bilinear"),
    "bilinear by ends": images(nnf.interpolate, (9, 11), mode="bilinear", align_corners=True),
    "bicubic": images(nnf.interpolate, (9, 11), mode="bicubic"),
    "lines": learned(lambda x: nnf.interpolate(x, 9, mode="linear"), real(2, 3, 5)),
}
PLACES, DEEP = real(2, 4, 3, 2).mul(0.6), real(2, 2, 3, 2, 3).mul(0.6)


def grid(places: torch.Tensor, given: torch.Tensor, **named: Any) -> Sample:
    return learned(lambda x, at: nnf.grid_sample(x, at, **named), given, places)


GRIDS: dict[str, Sample] = {
    "bilinear": grid(PLACES, IMAGES, align_corners=False),
    "bilinear, at the border": grid(PLACES, IMAGES, padding_mode="border", align_corners=True),
    "bilinear, reflected": grid(PLACES, IMAGES, padding_mode="reflection", align_corners=False),
    "nearest": grid(PLACES, IMAGES, mode="nearest", align_corners=False),
    "bicubic": grid(PLACES, IMAGES, mode="bicubic", align_corners=False),
    "bicubic, reflected": grid(PLACES, IMAGES, mode="bicubic", padding_mode="reflection",
                               align_corners=True),
    "of volumes": grid(DEEP, real(2, 3, 4, 5, 3), align_corners=False),
}  # fmt: skip
FAMILIES = {"pooling": POOLING, "padding": PADDING, "resampling": RESAMPLING, "grids": GRIDS}
