# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Inputs over the whole range of a dtype, and functions of one operand with their bounds."""

from __future__ import annotations

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.operators import exceptions, judge, oracle, subnormal, table
from tbk_contracts.torch.operators.entries import entries

HALVES = (torch.float16, torch.bfloat16)
# In 16 bits: computed in float32 and rounded once, or made of two operators that are.
UNITS_OF_HALF = {"nn_functional_softsign": 2}
OF_REFERENCE = 2  # units that float64 on the host may be off itself
COUNT = 1 << 15
_BITS = {torch.float32: (torch.int32, 23), torch.float64: (torch.int64, 52)}

FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid", "rsqrt", "reciprocal",
    "sqrt", "square", "erf", "erfc", "erfinv", "nn_functional_softsign", "nn_functional_hardswish",
)  # fmt: skip


def every_value(dtype: torch.dtype) -> torch.Tensor:
    """Returns all 65,536 of a dtype of 16 bits; of a wider one as many in each power of 2."""
    if dtype in HALVES:
        return torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    whole, fraction = _BITS[dtype]
    top = (1 << (torch.finfo(dtype).bits - 1 - fraction)) - 1
    each = max(1, COUNT // (2 * top))
    powers = torch.arange(2 * top, dtype=torch.int64).repeat_interleave(each)
    places = torch.randint(0, 1 << fraction, powers.shape, generator=host.seed(9))
    exponents, negative = powers // 2, powers % 2
    bits = (exponents << fraction) | places
    made = bits.to(whole).view(dtype)
    return torch.where(negative == 1, -made, made)


def judge_function(name: str, dtype: torch.dtype, device: torch.device) -> None:
    """Every value within the bound of the function."""
    entry = entries()[name]
    values = every_value(dtype)
    if not subnormal.kept(device, dtype):
        check.note("subnormal numbers are left out: the device takes them for 0")
        values = values[~subnormal.among(values)]
    plain = oracle.leaves(entry.info.op(values.clone()))[0]
    reference = oracle.leaves(entry.info.op(values.to(torch.float64)))[0]
    units = UNITS_OF_HALF.get(name, 1) if dtype in HALVES else table.ULPS[name]
    if dtype == torch.float64:
        units += OF_REFERENCE
    sizes = reference.nan_to_num(0.0, 0.0, 0.0)
    limits = units * oracle.unit(sizes, dtype) + exceptions.absolute(name, dtype, "accuracy")
    # Results that are subnormal may be 0: an intermediate result has gone over or under.
    least = torch.finfo(dtype).smallest_normal
    limits = torch.where(sizes.abs() < least, limits.clamp(min=least), limits)
    margin = judge.Margin()
    try:
        seen = host.download(entry.info.op(host.upload(values, device)))
        judge.close(f"{name} of every value", seen, reference, limits, plain, margin)
    finally:
        check.fact(operator=name, dtype=str(dtype).removeprefix("torch."), margin=margin.worst)
