# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are wrong at one end of what they take: a dtype's, a domain's, a row's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_torch_mutants.kernels import around, on_host
from tbk_torch_mutants.table import mutant

Fix = Callable[..., torch.Tensor]
"""Takes the right result and the arguments, with tensors on the host."""


def wrong(
    name: str, clauses: str, breaks: str, operators: str, tests: str = ""
) -> Callable[[Fix], Fix]:
    """The function that follows makes the wrong result."""

    def register(fix: Fix) -> Fix:
        def change(original: Any, *arguments: Any, **named: Any) -> Any:
            given = [_host(one) for one in arguments]
            rest = {key: _host(one) for key, one in named.items() if key != "out"}
            made = original(*arguments, **named)
            fixed = on_host(made, lambda host: fix(host, *given, **rest))
            return made.copy_(fixed) if "out" in named else fixed

        mutant(name, clauses, breaks, narrow=True, tests=tests)(lambda: around(operators, change))
        return fix

    return register


def _host(one: Any) -> Any:
    if isinstance(one, (list, tuple)):
        return [_host(each) for each in one]
    return one.detach().cpu().clone() if isinstance(one, torch.Tensor) else one


def _whole(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


@wrong("least_of_booleans_is_true", "OPS-529", "amin of bool", "amin")
def _(made: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made | True if made.dtype == torch.bool else made


@wrong("cumsum_of_int8_wraps", "OPS-529", "at 128, though it is int64", "cumsum")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.to(torch.int8).to(made.dtype) if one.dtype == torch.int8 else made


@wrong("sum_of_int32_wraps", "OPS-529", "at 2^31, though it is int64", "sum sum.dim_IntList")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.to(torch.int32).to(made.dtype) if one.dtype == torch.int32 else made


@wrong("argmax_passes_nan", "OPS-529", "it takes the largest number", "argmax")
def _(made: torch.Tensor, one: torch.Tensor, dim: Any = None, keep: bool = False) -> torch.Tensor:
    return one.nan_to_num(nan=-torch.inf).argmax(dim, keep) if one.is_floating_point() else made


@wrong("nan_is_no_bound", "OPS-529", "clamp with a bound that is NaN", "clamp.Tensor")
def _(made: torch.Tensor, one: torch.Tensor, least: Any = None, most: Any = None) -> torch.Tensor:
    for bound in (least, most):
        if bound is not None and made.is_floating_point():
            made = torch.where(bound.isnan(), one.to(made.dtype), made)
    return made


@mutant("descending_ties_turn", "OPS-529", "a stable sort downwards", narrow=True)
def _() -> None:
    def change(sort: Any, one: torch.Tensor, *, dim: int = -1, **named: Any) -> Any:
        made = sort(one, dim=dim, **named)
        if not named.get("descending") or one.dim() == 0 or one.is_floating_point():
            return made
        indices = one.detach().cpu().flip(dim).sort(dim=dim, descending=True, stable=True).indices
        return made[0], (one.shape[dim] - 1 - indices).to(one.device)

    around("sort.stable", change)


@wrong("remainder_by_negative_number", "OPS-550", "has the dividend's sign", "remainder.Scalar")
def _(made: torch.Tensor, one: torch.Tensor, other: Any) -> torch.Tensor:
    return torch.fmod(one, other).to(made.dtype) if _whole(one) and other < 0 else made


@wrong("floor_division_by_mode_truncates", "OPS-550", "of integers",
       "div.Tensor_mode div.out_mode")  # fmt: skip
def _(made: torch.Tensor, one: Any, other: Any, *, rounding_mode: Any = None) -> torch.Tensor:
    if rounding_mode != "floor" or not _whole(made):
        return made
    return torch.div(one, other, rounding_mode="trunc").to(made.dtype)


@wrong("squares_of_int64_through_double", "OPS-529", "beyond 2^53", "pow.Tensor_Scalar")
def _(made: torch.Tensor, *_: Any) -> torch.Tensor:
    return made.double().long() if made.dtype == torch.int64 else made


@wrong("odd_power_of_negative_is_positive", "OPS-529", "of integers", "pow.Tensor_Tensor")
def _(made: torch.Tensor, *_: Any) -> torch.Tensor:
    return made.abs() if _whole(made) else made


@wrong("not_of_bool_stays", "OPS-550", "bitwise_not of bool", "bitwise_not")
def _(made: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    return one if one.dtype == torch.bool else made


@wrong("right_shift_is_logical", "OPS-550", "of negative int32", "bitwise_right_shift.Tensor")
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if made.dtype != torch.int32:
        return made
    return torch.where((one < 0) & (other > 0), made & 0x7FFFFFFF, made).to(made.dtype)


@wrong("log_softmax_overflows", "OPS-520", "without taking the maximum away", "_log_softmax")
def _(made: torch.Tensor, one: torch.Tensor, dim: int, *_: Any) -> torch.Tensor:
    if one.numel() == 0 or one.dtype != torch.float32:
        return made
    return made.masked_fill((one > 89).any(dim, keepdim=True), -torch.inf)


@wrong("var_of_one_is_0", "OPS-529", "it is NaN", "var.correction")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.nan_to_num(nan=0.0) if one.numel() > 0 and not one.isnan().any() else made


@wrong("exp_of_very_negative_is_nan", "OPS-520", "below -104, where it is 0", "exp")
def _(made: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    return made if made.is_complex() else made.masked_fill(one < -104, torch.nan)


@wrong("softplus_of_large_is_infinite", "OPS-520", "beyond 89", "softplus")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
    return made.masked_fill(one > 89, torch.inf)


@wrong("atan2_forgets_minus_zero", "OPS-520", "atan2(-0, -1) is pi", "atan2")
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.where((one == 0) & (other < 0), made.abs(), made)


@wrong("erf_of_infinity_is_nan", "OPS-520", "it is 1", "erf")
def _(made: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    return made.masked_fill(one.isinf(), torch.nan) if one.is_floating_point() else made


@wrong("rsqrt_of_0_is_nan", "OPS-520", "it is infinite", "rsqrt")
def _(made: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    return made if one.is_complex() else made.masked_fill(one == 0, torch.nan)


@wrong("arange_through_double", "OPS-502", "integers beyond 2^53",
       "arange.start_out arange.start_step arange.start")  # fmt: skip
def _(made: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.double().long() if made.dtype == torch.int64 else made


@wrong("linspace_misses_its_end", "OPS-502", "the last number", "linspace linspace.out")
def _(made: torch.Tensor, start: Any, end: Any, steps: int, **_: Any) -> torch.Tensor:
    if steps > 2 and made.is_floating_point():
        made[-1] = made[-1] * (1 - 4 * torch.finfo(made.dtype).eps)
    return made
