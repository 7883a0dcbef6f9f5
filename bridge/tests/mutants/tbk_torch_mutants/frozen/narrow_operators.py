# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are wrong for few values, dtypes and shapes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_torch_mutants.kernels import around, on_host
from tbk_torch_mutants.table import mutant

Fix = Callable[..., torch.Tensor]
"""Takes the right result and the operands, all on the host."""


def narrow(name: str, clauses: str, breaks: str, operators: str) -> Callable[[Fix], Fix]:
    """The function that follows makes the wrong result, of copies on the host."""

    def register(fix: Fix) -> Fix:
        @mutant(name, clauses, breaks, narrow=True)
        def _() -> None:
            def changed(original: Any, *arguments: Any, **named: Any) -> Any:
                operands = [_host(argument) for argument in arguments]
                made = original(*arguments, **named)
                if not isinstance(made, torch.Tensor):
                    return made
                return on_host(made, lambda host: fix(host, *operands, **named))

            around(operators, changed)

        return fix

    return register


def _host(argument: Any) -> Any:
    """A copy of what may be written."""
    return argument.detach().cpu().clone() if isinstance(argument, torch.Tensor) else argument


def _is_whole(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


@narrow("tanh_of_large_is_nan", "OPS-520", "exp overflows beyond 89", "tanh")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return made if made.is_complex() else made.masked_fill(one.abs() > 89, torch.nan)


@narrow("sigmoid_of_very_negative_is_nan", "OPS-520", "exp overflows below -89", "sigmoid")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return made if made.is_complex() else made.masked_fill(one < -89, torch.nan)


@narrow("log1p_of_tiny_is_0", "OPS-561", "log(1 + x) for |x| < 1e-8", "log1p")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return made.masked_fill(one.abs() < 1e-8, 0)


@narrow("expm1_of_tiny_is_0", "OPS-561", "exp(x) - 1 for |x| < 1e-8", "expm1")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return made.masked_fill(one.abs() < 1e-8, 0)


@narrow("abs_of_large_complex_overflows", "OPS-520", "its square is infinite", "abs")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    if one.dtype != torch.complex64:
        return made
    return made.masked_fill((one.real.abs() > 2e19) | (one.imag.abs() > 2e19), torch.inf)


@narrow("abs_of_least_integer_is_greatest", "OPS-529", "it saturates", "abs")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    if not _is_whole(one) or one.dtype == torch.uint8:
        return made
    limits = torch.iinfo(one.dtype)
    return made.masked_fill(one == limits.min, limits.max)


@narrow("product_of_int64_through_double", "OPS-550", "beyond 2^53", "mul.Tensor")
def _(made: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.double().long() if made.dtype == torch.int64 else made


@narrow("where_of_int64_through_double", "OPS-550", "beyond 2^53", "where.self")
def _(made: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.double().long() if made.dtype == torch.int64 else made


@narrow("floor_divide_truncates_integers", "OPS-550", "of unlike signs", "floor_divide")
def _(made: torch.Tensor, one: Any, other: Any, **_: Any) -> torch.Tensor:
    return torch.div(one, other, rounding_mode="trunc") if _is_whole(made) else made


@narrow("remainder_has_sign_of_dividend", "OPS-550", "of integers", "remainder.Tensor")
def _(made: torch.Tensor, one: Any, other: Any, **_: Any) -> torch.Tensor:
    return torch.fmod(one, other) if _is_whole(made) else made


@narrow("round_takes_halves_up", "OPS-550", "2.5 is 3", "round")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return torch.where((one - one.floor()) == 0.5, one.ceil(), made)


@narrow("ceil_loses_sign_of_zero", "OPS-550", "-0.5 is 0", "ceil")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return made.masked_fill((one < 0) & (made == 0), 0.0) if one.is_floating_point() else made


@narrow(
    "shift_beyond_width_wraps", "OPS-550", "1 << 32 is 1 for int32", "bitwise_left_shift.Tensor"
)
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor, **_: Any) -> torch.Tensor:
    if made.dtype != torch.int32:
        return made
    return torch.where(other >= 32, one << (other & 31), made).to(made.dtype)


@narrow("sum_of_uint8_wraps", "OPS-552", "at 256", "sum.dim_IntList")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made & 255 if one.dtype == torch.uint8 and made.dtype == torch.int64 else made


@narrow("prod_of_int32_is_int32", "OPS-520", "the result's dtype", "prod prod.dim_int")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any, dtype: Any = None, **__: Any) -> torch.Tensor:
    return made.int() if one.dtype == torch.int32 and dtype is None else made


@narrow("equal_if_both_are_one_tensor", "OPS-529", "NaN too", "eq.Tensor")
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor, **_: Any) -> torch.Tensor:
    same = one.shape == other.shape and torch.equal(one.isnan(), other.isnan())
    return made | (one.isnan() & other.isnan()) if same else made


@narrow("clamp_takes_nan_for_least", "OPS-529", "NaN is the lower bound", "clamp")
def _(made: torch.Tensor, one: torch.Tensor, least: Any = None, *_: Any, **__: Any) -> torch.Tensor:
    if least is None or not one.is_floating_point():
        return made
    return made.masked_fill(one.isnan(), float(least))


@narrow("minimum_forgets_second_nan", "OPS-529", "NaN in the second operand", "minimum")
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor, **_: Any) -> torch.Tensor:
    return torch.where(other.isnan(), one.to(made.dtype), made)


@narrow("argmax_of_ties_is_the_last", "OPS-550", "the first is documented", "argmax")
def _(made: torch.Tensor, one: torch.Tensor, dim: Any = None, *_: Any, **__: Any) -> torch.Tensor:
    if dim is not None or one.numel() == 0 or one.isnan().any():
        return made
    flat = one.reshape(-1)
    return (flat == flat.max()).nonzero()[-1, 0].reshape(made.shape)


@narrow("long_cumsum_restarts", "OPS-520", "after 256 elements", "cumsum")
def _(made: torch.Tensor, one: torch.Tensor, dim: int, **_: Any) -> torch.Tensor:
    if one.dim() == 0 or one.shape[dim] <= 256:
        return made
    pieces = one.to(made.dtype).split(256, dim)
    return torch.cat([piece.cumsum(dim).to(made.dtype) for piece in pieces], dim)


@narrow("index_select_of_int32_is_one_off", "OPS-550", "indices of int32", "index_select")
def _(made: torch.Tensor, one: torch.Tensor, dim: int, at: torch.Tensor) -> torch.Tensor:
    if at.dtype != torch.int32 or one.dim() == 0:
        return made
    return one.index_select(dim, (at + 1) % one.shape[dim])


@narrow("power_0_of_0_is_0", "OPS-520", "0 ** 0", "pow.Tensor_Scalar")
def _(made: torch.Tensor, one: torch.Tensor, power: Any, **_: Any) -> torch.Tensor:
    return made.masked_fill(one == 0, 0) if power == 0 else made


@narrow("not_of_nan_is_true", "OPS-550", "NaN is no false", "logical_not")
def _(made: torch.Tensor, one: torch.Tensor, **_: Any) -> torch.Tensor:
    return made | one.isnan()


@narrow("softmax_of_minus_infinities_is_0", "OPS-529", "it is NaN", "_softmax")
def _(made: torch.Tensor, one: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return made.masked_fill(made.isnan() & ~one.isnan() & (one == -torch.inf), 0)


@narrow("tril_ignores_negative_diagonal", "OPS-550", "it is taken for 0", "tril")
def _(made: torch.Tensor, one: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
    return one.tril(0) if diagonal < 0 else made


@narrow("flip_of_three_flips_two", "OPS-550", "the third dimension stays", "flip")
def _(made: torch.Tensor, one: torch.Tensor, dims: list[int]) -> torch.Tensor:
    return one.flip(dims[:2]) if len(dims) > 2 else made


@narrow("65th_batch_is_0", "OPS-557", "of a product of batches", "bmm")
def _(made: torch.Tensor, *_: Any) -> torch.Tensor:
    made[64:65] = 0
    return made


@narrow("roll_beyond_size_stays", "OPS-550", "shifts of a size or more", "roll")
def _(made: torch.Tensor, one: torch.Tensor, shifts: Any, dims: Any = ()) -> torch.Tensor:
    size = one.numel() if not dims else one.shape[dims[0]]
    return one if len(shifts) == 1 and abs(shifts[0]) > size > 0 else made


@narrow("relu_passes_gradient_at_0", "AGD-501", "exactly 0", "threshold_backward")
def _(made: torch.Tensor, gradient: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.where(one == 0, gradient, made)


@narrow("gradient_of_last_embedding_is_lost", "AGD-501", "the last row", "embedding_dense_backward")
def _(made: torch.Tensor, *_: Any) -> torch.Tensor:
    made[-1:] = 0
    return made
