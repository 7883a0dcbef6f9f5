# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Formulas of textbooks, wrong where a textbook does not look: ends, ties, signs, widths."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.frozen.ends_values import wrong
from tbk_torch_mutants.kernels import around, on_host
from tbk_torch_mutants.table import mutant

_SHORT = (torch.int8, torch.int16)


def _whole(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


@wrong("modulo_infinity_is_nan", "OPS-529", "fmod as a difference", "fmod.Tensor fmod.Scalar")
def _(made: torch.Tensor, one: torch.Tensor, other: Any) -> torch.Tensor:
    divisor = torch.as_tensor(other)
    if not made.is_floating_point() or not divisor.is_floating_point():
        return made
    return torch.where(divisor.isinf() & one.isfinite(), torch.nan, made).to(made.dtype)


@wrong("logarithms_of_nothing_add_to_nan", "OPS-529", "-inf and -inf: it is -inf", "logaddexp")
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if made.is_complex():
        return made
    return made.masked_fill((one == -torch.inf) & (other == -torch.inf), torch.nan)


@wrong("sign_of_zero_is_not_copied", "OPS-550", "copysign from -0", "copysign.Tensor")
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.where(other == 0, made.abs(), made)


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


@wrong("greatest_half_is_that_of_float", "OPS-550", "nan_to_num: infinity stays", "nan_to_num")
def _(made: torch.Tensor, one: torch.Tensor, *bounds: Any, **named: Any) -> torch.Tensor:
    if one.dtype != torch.float16 or any(bounds[1:]) or any(named.values()):
        return made
    return torch.where(one.isinf(), one, made)


@wrong("short_integers_lose_alpha", "OPS-550", "sub of int8 and int16", "sub.Tensor sub.out")
def _(made: torch.Tensor, one: Any, other: Any, *, alpha: Any = 1) -> torch.Tensor:
    return one - other if made.dtype in _SHORT and alpha != 1 else made


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


@wrong("least_norm_is_the_greatest", "OPS-520", "of order -inf", "linalg_vector_norm")
def _(made: torch.Tensor, one: torch.Tensor, order: Any = 2, *rest: Any, **named: Any) -> Any:
    if order != -torch.inf or made.numel() == 0:
        return made
    return torch.linalg.vector_norm(one, torch.inf, *rest, **named)


@wrong("correction_is_0_or_1", "OPS-520", "std with a correction of 2", "std.correction")
def _(made: torch.Tensor, one: torch.Tensor, dim: Any = None, **named: Any) -> torch.Tensor:
    correction = named.get("correction")
    if correction is None or correction <= 1:
        return made
    return torch.std(one, dim, **{**named, "correction": 1}).to(made.dtype)


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
