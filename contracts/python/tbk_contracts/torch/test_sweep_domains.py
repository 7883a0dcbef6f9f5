# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Functions whose results are rounded, over their whole domain: where a formula overflows that has
a result, where it takes away what it added, at the ends of the domain and beyond them.

How exact a result is, is for other tests: here it is NaN, infinite, 0 or about right. The oracle is
PyTorch's CPU in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import FLOATING, PLACES, dtype_of, laid, needs
from tbk_contracts.torch.operators import subnormal
from tbk_contracts.torch.pairs import Case, each_case, line

Function = Callable[..., torch.Tensor]
F = torch.nn.functional

# Where exp and its kin overflow or vanish in float16, float32 and float64, and beside that.
TURNS = (0.5, 1.0, 1.5, 2.0, 8.0, 11.0, 12.0, 17.0, 20.0, 21.0, 32.0, 44.0, 45.0, 80.0, 87.0, 90.0,
         96.0, 100.0, 104.0, 128.0, 150.0, 200.0, 600.0, 709.0, 712.0, 750.0, 1000.0)  # fmt: skip
FAR = (1e4, 6e4, 1e6, 1e9, 1e10, 1e18, 1e19, 1e20, 1e30, 3e38, 1e100, 1e154, 1e155, 1e300)
NEAR = tuple(10.0**-digits for digits in (1, 2, 3, 4, 7, 8, 9, 12, 16, 20, 30, 37, 100, 300))

EVERYWHERE: dict[str, Function] = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "exp": torch.exp, "expm1": torch.expm1,
    "exp2": torch.exp2, "softplus": F.softplus, "logsigmoid": F.logsigmoid, "elu": F.elu,
    "selu": F.selu, "celu": F.celu, "softsign": F.softsign, "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid, "leaky_relu": F.leaky_relu, "relu6": F.relu6,
    "softshrink": F.softshrink, "hardshrink": F.hardshrink, "tanhshrink": F.tanhshrink,
    "sinh": torch.sinh, "cosh": torch.cosh, "asinh": torch.asinh, "acosh": torch.acosh,
    "atanh": torch.atanh, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan,
    "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv, "log": torch.log,
    "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal, "logit": torch.logit,
    "power of -1": lambda x: x.pow(-1),
    "power of 3": lambda x: x.pow(3), "power of -2": lambda x: x.pow(-2),
    "base of 2": lambda x: torch.pow(2.0, x), "sign": torch.sgn,
}  # fmt: skip
# Infinity has no value there that all agree on, as where a factor vanishes beside it.
FINITE: dict[str, Function] = {
    "silu": F.silu, "gelu": F.gelu, "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "mish": F.mish, "hardswish": F.hardswish,
    "power of a half": lambda x: x.pow(0.5),
}  # fmt: skip
# A device need not take numbers of any size into one turn of a circle.
SMALL: dict[str, Function] = {
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "sinc": torch.sinc,
}  # fmt: skip
POSITIVE: dict[str, Function] = {"lgamma": torch.lgamma, "digamma": torch.digamma}
ALONE = {**EVERYWHERE, **FINITE, **SMALL, **POSITIVE}
LEAST_TURN = 100.0
# Part of a right result by which one may be off, which no rounding explains.
ABOUT = {"float64": 1e-9, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
# What two numbers of this size lose when one is taken from the other, in units of their last place.
LOST, LARGE = 4, 8.0


def _domain(name: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    facts = torch.finfo(dtype)
    ends = (0.0, facts.smallest_normal, facts.smallest_normal / 4, facts.eps, facts.max)
    found = [*ends, *TURNS, *FAR, *NEAR]
    found = [*found, *(-one for one in found)] if name not in POSITIVE else found
    made = torch.tensor(found, dtype=torch.float64).to(dtype)
    if name in SMALL:
        made = made[made.abs() <= LEAST_TURN]
    made = made[made.isfinite()]
    if name in FINITE:  # a product may be larger before it is divided
        made = made[made.abs() < facts.max / 16]
    else:
        more = [math.inf, math.nan] + [-math.inf] * (name not in POSITIVE)
        made = torch.cat([made, torch.tensor(more, dtype=dtype)])
    if not subnormal.kept(device, dtype):
        made = made[~subnormal.among(made)]
    return made.unique() if not made.isnan().any() else made


def _about(what: str, given: torch.Tensor, wide: torch.Tensor, *operands: torch.Tensor) -> None:
    """Each element is what it ought to be, as far as a formula can spoil it."""
    facts = torch.finfo(given.dtype)
    part = ABOUT[str(given.dtype).removeprefix("torch.")]
    seen = host.download(given).double()
    sizes = torch.stack([one.double().abs() for one in operands]).amax(0).nan_to_num(0.0)
    lost = LOST * facts.eps * sizes.clamp(1.0, LARGE) + 32 * facts.smallest_normal
    over = wide.abs() > facts.max * (1 + part)
    wrong = seen.isnan() != wide.isnan()
    wrong |= over & (seen != wide.sign() * math.inf)
    judged = ~wide.isnan() & (wide.abs() < facts.max * (1 - part))
    off = (seen - wide).abs()
    wrong |= judged & ~(off <= part * wide.abs() + lost)
    spoilt = [one[wrong][:1].tolist() for one in operands]
    check.that(what, not bool(wrong.any()),
               expected=f"about {wide[wrong][:1].tolist()} for {spoilt}",
               seen=f"{seen[wrong][:1].tolist()}; {int(wrong.sum())} elements")  # fmt: skip


@each_case(
    {"name": tuple(ALONE), "dtype": FLOATING, "layout": PLACES},
    needs=needs, quick=12,
)  # fmt: skip
@clause("OPS-520")
def test_domains(device: torch.device, case: Case) -> None:
    name = case["name"]
    values = _domain(name, dtype_of(case), device)
    there = laid(values, case["layout"], device)
    wide = ALONE[name](values.double())
    given = ALONE[name](there)
    check.equal(f"dtype, {line(case)}", given.dtype, values.dtype)
    _about(f"the result, {line(case)}", given, wide, values)


BOTH: dict[str, Function] = {
    "atan2": torch.atan2, "hypot": torch.hypot, "logaddexp": torch.logaddexp,
    "true_divide": torch.true_divide, "xlogy": torch.xlogy,
}  # fmt: skip
ENDS = (0.0, 1.0, 0.5, 3.0, 90.0, 200.0, 1e-8, 1e4, 1e19, 1e30)


@each_case(
    {"name": tuple(BOTH), "dtype": FLOATING, "layout": PLACES},
    needs=needs, quick=3,
)  # fmt: skip
@clause("OPS-520")
def test_domains_of_two(device: torch.device, case: Case) -> None:
    function = BOTH[case["name"]]
    ends = torch.tensor([*ENDS, *(-one for one in ENDS)], dtype=torch.float64).to(dtype_of(case))
    ends = ends[ends.isfinite() & ~subnormal.among(ends)]
    one, other = (made.contiguous() for made in torch.meshgrid(ends, ends, indexing="ij"))
    given = function(laid(one, case["layout"], device), laid(other, "whole", device))
    wide = function(one.double(), other.double())
    _about(f"the result, {line(case)}", given, wide, one, other)


# ------------------------------------------------------------------------------- of rows ---


def _normalised(row: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(row, [row.shape[-1]])


OVER_ROWS: dict[str, Function] = {
    "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
    "softmin": lambda x: F.softmin(x, -1), "logsumexp": lambda x: x.logsumexp(-1),
    "layer_norm": _normalised, "normalize": lambda x: F.normalize(x, dim=-1),
    "mean": lambda x: x.mean(-1), "var": lambda x: x.var(-1), "std": lambda x: x.std(-1),
    "var of all": lambda x: x.var(-1, correction=0),
    "cross_entropy": lambda x: F.cross_entropy(x, x.new_zeros(len(x)).long(), reduction="none"),
    "nll_loss": lambda x: F.nll_loss(
        x, (torch.arange(len(x)) % x.shape[1]).to(x.device), ignore_index=0),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x, -1),
}  # fmt: skip
ROWS = ("equal", "large", "apart", "one", "zero")


def _rows(kind: str, dtype: torch.dtype) -> torch.Tensor:
    """Returns values that each dtype holds; their squares overflow in float16 alone."""
    made = host.values((65, 1 if kind == "one" else 9)).round()
    if kind == "equal":
        made = made[:, :1].expand(-1, 9)
    elif kind == "zero":
        made = made * 0
    elif kind == "large":
        made = made + 120
    elif kind == "apart":
        made[:, 3] = 200
        made[:, 4] = -200
    return made.to(dtype).contiguous()


@each_case(
    {"name": tuple(OVER_ROWS), "row": ROWS, "dtype": ("float32", "float64"), "layout": PLACES},
    needs=needs, quick=6,
)  # fmt: skip
@clause("OPS-520")
def test_rows_of_one_kind(device: torch.device, case: Case) -> None:
    function = OVER_ROWS[case["name"]]
    rows = _rows(case["row"], dtype_of(case))
    given = function(laid(rows, case["layout"], device))
    # What is left of numbers that are taken from each other is a part of these.
    wide = function(rows.double())
    scale = float(rows.abs().max()) * 1e-3
    seen = host.download(given).double()
    off = (seen - wide).abs()
    wrong = (seen.isnan() != wide.isnan()) | (wide.isfinite() & ~(off <= 1e-3 * wide.abs() + scale))
    check.that(f"the result, {line(case)}", not bool(wrong.any()),
               expected=f"about {wide[wrong][:1].tolist()}",
               seen=f"{seen[wrong][:1].tolist()}; {int(wrong.sum())} elements")  # fmt: skip
