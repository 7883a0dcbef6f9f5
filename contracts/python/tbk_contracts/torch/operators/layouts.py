# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of whole numbers in every layout: what is done to them is exact, so strides show."""

from __future__ import annotations

import math

import torch

from tbk_contracts.torch import host

Strides = tuple[tuple[int, ...], tuple[int, ...], int]


def whole(shape: tuple[int, ...], dtype: torch.dtype, below: int = 16) -> torch.Tensor:
    """Returns fresh whole numbers of either sign."""
    return torch.randint(1 - below, below, shape, generator=host.seed()).to(dtype)


def strides(layout: str, shape: tuple[int, ...]) -> Strides:
    """Sizes, strides and offset of a tensor of `shape`."""
    if layout == "transposed":
        turned = _contiguous((*shape[:-2], shape[-1], shape[-2]))
        return shape, (*turned[:-2], turned[-1], turned[-2]), 0
    if layout == "every second":
        return shape, tuple(2 * each for each in _contiguous(shape)), 0
    if layout == "expanded":
        return shape, (0, *_contiguous(shape)[1:]), 0
    if layout == "offset":
        return shape, _contiguous(shape), 7
    if layout == "channels last":
        _, channels, height, width = shape
        return shape, (height * width * channels, 1, width * channels, channels), 0
    raise ValueError(layout)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[index + 1 :]) for index in range(len(shape)))


def make(layout: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Returns fresh whole numbers in that layout, on the host; beside them lie other ones."""
    sizes, steps, offset = strides(layout, shape)
    length = 1 + offset + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    return whole((length,), dtype).as_strided(sizes, steps, offset)


def put(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Returns a copy on `device` with the same strides and offset."""
    length = tensor.untyped_storage().nbytes() // tensor.element_size()
    span = tensor.as_strided((length,), (1,), 0)
    return host.upload(span, device).as_strided(
        tensor.shape, tensor.stride(), tensor.storage_offset()
    )
