# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a sample is, and the operands that samples share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from likeness import moved

Tensor = torch.Tensor


@dataclass(frozen=True)
class Place:
    """Where a sample runs."""

    device: torch.device

    def __call__(self, tensor: Tensor) -> Tensor:
        """Returns a copy of the tensor there, with its strides."""
        return moved(tensor, self.device)

    @property
    def is_host(self) -> bool:
        return self.device.type == "cpu"


Sample = Callable[[Place], list[Tensor]]


def real(*sizes: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns numbers of both signs."""
    generator = torch.Generator().manual_seed(sum(sizes) + 1000 * seed)
    return torch.randn(sizes, generator=generator, dtype=torch.float64).mul(1.7).to(dtype)


def positive(*sizes: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns numbers above 0."""
    return real(*sizes, seed=seed, dtype=dtype).abs().add(0.3)


def whole(*sizes: int, below: int = 5, seed: int = 0, dtype: torch.dtype = torch.int64) -> Tensor:
    """Returns whole numbers from 0, of which some are equal."""
    generator = torch.Generator().manual_seed(sum(sizes) + 1000 * seed)
    return torch.randint(below, sizes, generator=generator).to(dtype)


def as_list(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else [one for one in result if one is not None]


def of(function: Callable[..., Any], *operands: Tensor) -> Sample:
    """Returns a sample of a function of tensors."""

    def run(place: Place) -> list[Tensor]:
        return as_list(function(*map(place, operands)))

    return run


def learned(
    function: Callable[..., Any], *operands: Tensor, fixed: Sequence[Tensor] = ()
) -> Sample:
    """Returns a sample that has the gradients of the operands, too; `fixed` follow them."""

    def run(place: Place) -> list[Tensor]:
        leaves = [place(one).requires_grad_() for one in operands]
        results = as_list(function(*leaves, *map(place, fixed)))
        given = [place(real(*one.shape, seed=at + 7, dtype=one.dtype))
                 for at, one in enumerate(results) if one.requires_grad]  # fmt: skip
        torch.autograd.backward([one for one in results if one.requires_grad], given)
        return [one.detach() for one in results] + [
            one.grad for one in leaves if one.grad is not None
        ]

    return run


def written(function: Callable[..., Any], target: Tensor, *operands: Tensor) -> Sample:
    """Returns a sample of a function that writes its first operand, which is the result."""

    def run(place: Place) -> list[Tensor]:
        there = place(target)
        function(there, *map(place, operands))
        return [there]

    return run
