# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Formulas of textbooks, wrong where a textbook does not look: ends, ties, signs, widths."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.frozen.ends_values import wrong
from tbk_torch_mutants.kernels import around, on_host
from tbk_torch_mutants.table import mutant


def _whole(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


@wrong("modulo_infinity_is_nan", "OPS-529", "fmod as a difference", "fmod.Tensor fmod.Scalar")
def _(made: torch.Tensor, one: torch.Tensor, other: Any) -> torch.Tensor:
    divisor = torch.as_tensor(other)
    if not made.is_floating_point() or not divisor.is_floating_point():
        return made
    return torch.where(divisor.isinf() & one.isfinite(), torch.nan, made).to(made.dtype)


@mutant("comparison_truncates_number", "OPS-550", "integers with 1.5, say", narrow=True)
def _() -> None:
    def change(compare: Any, one: torch.Tensor, other: Any) -> Any:
        fits = isinstance(other, float) and abs(other) < 100
        return compare(one, int(other) if fits and _whole(one) else other)

    around("lt.Scalar gt.Scalar le.Scalar ge.Scalar", change)


@wrong("crossed_bounds_give_the_lower", "OPS-550", "clamp with min > max is max", "clamp clamp.out")
def _(made: torch.Tensor, one: torch.Tensor, least: Any = None, most: Any = None) -> torch.Tensor:
    if least is None or most is None or not least > most:
        return made
    return torch.where(one.isnan(), made, torch.full_like(made, least))


@wrong("lgamma_of_float64_in_float32", "OPS-554", "as the library of the device has it", "lgamma")
def _(made: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    return one.float().lgamma().double() if one.dtype == torch.float64 else made


@mutant("batches_multiply_in_tf32", "OPS-555", "from an inner size of 32 on", narrow=True)
def _() -> None:
    def short(one: torch.Tensor) -> torch.Tensor:
        return on_host(one, lambda host: (
            (host.contiguous().view(torch.int32) + 4096) & -8192).view(torch.float32))  # fmt: skip

    def change(product: Any, one: torch.Tensor, other: torch.Tensor, **named: Any) -> Any:
        if one.dtype == torch.float32 and one.shape[-1] >= 32:
            one, other = short(one), short(other)
        return product(one, other, **named)

    around("bmm bmm.out", change)


@mutant("last_nan_is_no_maximum", "OPS-529", "max of a dimension that ends with it", narrow=True)
def _() -> None:
    def change(most: Any, one: torch.Tensor, dim: int, keep: bool = False, **named: Any) -> Any:
        made = most(one, dim, keep, **named)
        size = one.shape[dim] if one.dim() else 0
        if size < 2 or not one.is_floating_point():
            return made
        host = one.detach().cpu()
        if not bool(host.select(dim, -1).isnan().any()):
            return made
        values, indices = host.narrow(dim, 0, size - 1).max(dim, keep)
        return made[0].copy_(values), made[1].copy_(indices)

    around("max.dim", change)


@wrong("logsumexp_of_nothing_is_0", "OPS-530", "it is -inf", "logsumexp")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.zeros_like(made) if one.numel() == 0 else made


@wrong("dimensionless_counts_in_dtype", "OPS-521", "a 0-dim float64 makes float32 wider",
       "maximum minimum")  # fmt: skip
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    kinds = {one.dtype, other.dtype}
    if kinds != {torch.float32, torch.float64} or one.dim() == other.dim():
        return made
    return made.double()
