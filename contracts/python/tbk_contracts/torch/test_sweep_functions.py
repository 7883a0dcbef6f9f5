# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Functions that have one right answer, over the ends of their dtypes: each value with each other
one, in every layout and form of the second operand. PyTorch's CPU is the oracle."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import DTYPES, clause
from tbk_contracts.torch.extremes import (
    FLOATING,
    LAYOUTS,
    WHOLE,
    base_shape,
    between,
    dtype_of,
    edge,
    needs,
    place,
    view_of,
)
from tbk_contracts.torch.operators import subnormal
from tbk_contracts.torch.pairs import Case, each_case, line

Function = Callable[..., torch.Tensor]
PLACED = LAYOUTS[:-1]
KINDS = ("extreme", "halves", "between")
WHERE = {"device": ("first", "second"), "stream": ("current",)}
_COMPLEX = ("complex64", "complex128")


def _numbers(kind: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Returns a few, of which each is to meet each other one."""
    if kind == "halves" and dtype.is_floating_point:
        return torch.arange(-9, 10).div(2).to(dtype)
    if kind == "halves" and dtype not in (torch.bool, torch.uint8):
        return torch.arange(-9, 10).to(dtype)
    found = between(dtype) if kind == "between" else torch.tensor(edge(dtype), dtype=dtype)
    if dtype.is_floating_point and not subnormal.kept(device, dtype):
        found = found[~subnormal.among(found)]
    return found


def _laid(values: torch.Tensor, layout: str, device: torch.device) -> torch.Tensor:
    """`values` of two dimensions on the device, in this layout, between other numbers."""
    shape = (1, 1, *values.shape)
    base = host.upload(host.values(base_shape(layout, shape), values.dtype), device)
    view = view_of(layout, shape)(base)
    view.copy_(values.expand(shape))
    return view[0, 0]


def _same(what: str, seen: torch.Tensor, right: torch.Tensor, *, either_zero: bool) -> None:
    seen = host.download(seen)
    if either_zero and seen.is_floating_point():
        seen, right = seen + 0.0, right + 0.0
    check.tensor(what, seen, right.clone())


def _kept(device: torch.device, right: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Returns what was seen, and what is right where a subnormal number may be taken for 0."""
    if not right.is_floating_point() or subnormal.kept(device, right.dtype):
        return seen
    return torch.where(subnormal.among(right), right, seen)


# ------------------------------------------------------------------------------ of one operand ---

ALONE: dict[str, Function] = {
    "abs": torch.abs, "neg": torch.neg, "sign": torch.sign, "square": torch.square,
    "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round,
    "logical_not": torch.logical_not, "bitwise_not": torch.bitwise_not, "isnan": torch.isnan,
    "isinf": torch.isinf, "isfinite": torch.isfinite, "signbit": torch.signbit,
    "nan_to_num": torch.nan_to_num, "relu": torch.relu, "positive": torch.positive,
    "power of 0": lambda one: one.pow(0), "power of 1": lambda one: one.pow(1),
    "power of 2": lambda one: one.pow(2), "clone": torch.clone,
    "clamp from -1": lambda one: one.clamp(min=-1), "clamp to 2": lambda one: one.clamp(max=2),
    "clamp": lambda one: one.clamp(-2, 1), "to bool": lambda one: one.bool(),
}  # fmt: skip
NOT_OF_BOOL = ("abs", "neg", "sign", "square", "floor", "ceil", "trunc", "round", "nan_to_num",
               "relu", "positive", "signbit", "clamp from -1", "clamp to 2", "clamp",
               "power of 0", "power of 1", "power of 2")  # fmt: skip
OF_COMPLEX = ("logical_not", "isnan", "isfinite", "positive", "clone", "to bool")
WITH_OUT = ("abs", "neg", "sign", "floor", "ceil", "trunc", "round", "logical_not", "bitwise_not",
            "signbit", "nan_to_num")  # fmt: skip
OF_SIGNED = ("clamp from -1", "clamp", "neg")


def _alone_fits(case: Case) -> bool:
    name, dtype = case.get("name", "clone"), case.get("dtype", "float32")
    if dtype == "bool":
        return name not in NOT_OF_BOOL
    if dtype in _COMPLEX:
        return name in OF_COMPLEX
    if dtype == "uint8" and name in OF_SIGNED:
        return False
    return name != "bitwise_not" or dtype in WHOLE


@each_case(
    {"name": tuple(ALONE), "dtype": DTYPES, "values": KINDS, "layout": PLACED,
     "result": ("new", "out"), "device": WHERE["device"]},
    lambda case: _alone_fits(case) and not (
        case.get("result") == "out" and case.get("name", "abs") not in WITH_OUT),
    needs=needs, quick=24,
)  # fmt: skip
@clause("OPS-550")
def test_of_one_operand(device: torch.device, case: Case) -> None:
    device = place(case, device)
    values = _numbers(case["values"], dtype_of(case), device).reshape(1, -1)
    there, function = _laid(values, case["layout"], device), ALONE[case["name"]]
    right = function(values)
    if case["result"] == "out":
        out = torch.empty((1, 2 * values.numel()), dtype=right.dtype).to(device)[:, ::2]
        getattr(torch, case["name"])(there, out=out)
        seen = out
    else:
        seen = function(there)
    kept = _kept(device, right, host.download(seen))
    either = case["name"] in ("relu", "clamp", "clamp from -1", "clamp to 2")
    _same(f"the result, {line(case)}", kept, right, either_zero=either)
    check.tensor(f"the operand afterwards, {line(case)}", host.download(there), values)


# ----------------------------------------------------------------------------- of two operands ---

TOGETHER: dict[str, Function] = {
    "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax,
    "fmin": torch.fmin, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le,
    "gt": torch.gt, "ge": torch.ge, "fmod": torch.fmod, "remainder": torch.remainder,
    "floor_divide": torch.floor_divide, "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
    "bitwise_left_shift": torch.bitwise_left_shift,
    "bitwise_right_shift": torch.bitwise_right_shift, "logical_and": torch.logical_and,
    "logical_or": torch.logical_or, "logical_xor": torch.logical_xor,
    "copysign": torch.copysign, "clamp to": lambda one, two: one.clamp(max=two),
    "clamp from": lambda one, two: one.clamp(min=two),
    "where": lambda one, two: torch.where(one != two, one, two),
    "masked_fill": lambda one, two: one.masked_fill(one == two, 1),
    "isclose": lambda one, two: torch.isclose(one, two, rtol=0, atol=0),
    "pow": torch.pow,
    "floored": lambda one, two: torch.div(one, two, rounding_mode="floor"),
    "truncated": lambda one, two: torch.div(one, two, rounding_mode="trunc"),
    "clamp between": lambda one, two: one.clamp(two, two), "heaviside": torch.heaviside,
}  # fmt: skip
# Of fmod, PyTorch's CPU gives NaN or not for the largest numbers, as they lie in memory.
OF_WHOLE = ("floor_divide", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor",
            "bitwise_left_shift", "bitwise_right_shift", "pow", "floored",
            "truncated")  # fmt: skip
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
DIVISIONS = ("floor_divide", "remainder", "fmod", "floored", "truncated")
ANY = ("eq", "ne", "where", "logical_and", "logical_or", "logical_xor", "masked_fill")
EITHER_ZERO = (
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clamp to",
    "clamp from",
    "clamp between",
    "fmod",
)
OF_TENSORS = ("maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
              "isclose", "copysign", "heaviside")  # fmt: skip
# The operand beside the first one: all of them, the very same tensor, one number.
SECONDS = ("tensor", "same", "number", "expanded")


def _together_fits(case: Case) -> bool:
    name, dtype, second = case.get("name", "eq"), case.get("dtype", "int32"), case.get("second", "")
    if dtype in (*_COMPLEX, "bool") and name not in ANY:
        return False
    if name in OF_WHOLE and dtype not in WHOLE:
        return False
    if name == "copysign" and dtype not in FLOATING:
        return False
    if second == "number":
        return name not in OF_TENSORS
    return not (second == "same" and name in (*DIVISIONS, *SHIFTS, "pow"))


def _seconds(case: Case, values: torch.Tensor) -> torch.Tensor:
    """Returns what the second operand may be: nobody divides by 0, or the least integer by -1."""
    dtype = values.dtype
    if case["name"] in SHIFTS:
        width = torch.iinfo(dtype).bits
        return torch.tensor([0, 1, 3, width - 1, width, width + 1, 100], dtype=dtype)
    if case["name"] == "pow":
        return torch.tensor([0, 1, 2, 3, 4, 7], dtype=dtype)
    if case["name"] in DIVISIONS and not dtype.is_floating_point:
        return values[(values != 0) & (values != -1)] if dtype.is_signed else values[values != 0]
    return values


@each_case(
    {"name": tuple(TOGETHER), "dtype": DTYPES, "values": KINDS, "second": SECONDS,
     "layout": PLACED, "second_layout": PLACED, "device": WHERE["device"]},
    _together_fits, needs=needs, quick=32,
)  # fmt: skip
@clause("OPS-550")
def test_of_two_operands(device: torch.device, case: Case) -> None:
    device = place(case, device)
    firsts = _numbers(case["values"], dtype_of(case), device)
    seconds = _seconds(case, firsts)
    function = TOGETHER[case["name"]]
    here = firsts.reshape(-1, 1).expand(-1, len(seconds)).contiguous()
    there = _laid(here, case["layout"], device)
    if case["second"] == "number":
        pairs = [(here, there, each.item(), each.item()) for each in seconds]
    elif case["second"] == "same":
        pairs = [(here, there, here, there)]
    else:
        row = seconds.reshape(1, -1)
        row = row if case["second"] == "expanded" else row.expand(here.shape)
        pairs = [(here, there, row, _laid(row, case["second_layout"], device))]
    for one, one_there, two, two_there in pairs:
        right = function(one, two)
        seen = _kept(device, right, host.download(function(one_there, two_there)))
        _same(f"the result, {line(case)}", seen, right,
              either_zero=case["name"] in EITHER_ZERO)  # fmt: skip


# --------------------------------------------------------------------------- of rows of numbers ---


def _rows(kind: str, length: int, dtype: torch.dtype) -> torch.Tensor:
    """Returns three rows; what is special in them stands somewhere in the middle, or all over."""
    made = torch.randint(-4, 5, (3, length), generator=host.seed()).to(dtype)
    if kind == "ties":
        made = made.sign()
    elif kind == "nan":
        made[:, length // 2] = math.nan
    elif kind == "all_infinite":
        made[1] = -math.inf
    elif kind == "large":
        made = made * 100
    return made


def _sorted(one: torch.Tensor, dim: int, descending: bool) -> tuple[torch.Tensor, ...]:
    return torch.sort(one, dim=dim, descending=descending, stable=True)


def _places(one: torch.Tensor, right: bool) -> tuple[torch.Tensor, ...]:
    """Returns where equal numbers and others belong in each row."""
    rows = one.nan_to_num().sort(dim=-1).values.contiguous()
    return (torch.searchsorted(rows, rows.flip(-1), right=right),
            torch.bucketize(rows, rows[0], right=right, out_int32=True))  # fmt: skip


OF_ROWS: dict[str, Callable[[torch.Tensor, int], tuple[torch.Tensor, ...]]] = {
    "sort": lambda one, dim: _sorted(one, dim, False),
    "sort downwards": lambda one, dim: _sorted(one, dim, True),
    "topk": lambda one, dim: (torch.topk(one, 1, dim).values,),
    "cumsum": lambda one, dim: (torch.cumsum(one, dim),),
    "cummax": lambda one, dim: (torch.cummax(one, dim).values,),
    "sum": lambda one, dim: (torch.sum(one, dim),),
    "prod": lambda one, dim: (torch.prod(one.sign(), dim),),
    "amax": lambda one, dim: (torch.amax(one, dim),),
    "amin": lambda one, dim: (torch.amin(one, dim),),
    "any": lambda one, dim: (torch.any(one, dim),),
    "all": lambda one, dim: (torch.all(one, dim),),
    "count_nonzero": lambda one, dim: (torch.count_nonzero(one, dim),),
    "argmax": lambda one, dim: (torch.argmax(one, dim),),
    "argmin": lambda one, dim: (torch.argmin(one, dim, keepdim=True),),
    "argsort": lambda one, dim: (torch.argsort(one, dim=dim, stable=True),),
    "max": lambda one, dim: (torch.max(one, dim).values, torch.max(one)),
    "min": lambda one, dim: (torch.min(one, dim).values, torch.min(one)),
    "aminmax": lambda one, dim: tuple(torch.aminmax(one, dim=dim)),
    "median": lambda one, dim: (torch.median(one, dim).values,),
    "cummin": lambda one, dim: (torch.cummin(one, dim).values,),
    "all of topk": lambda one, dim: (torch.topk(one, one.shape[dim], dim).values,),
    "none of topk": lambda one, dim: tuple(torch.topk(one, 0, dim)),
    "kthvalue": lambda one, dim: (torch.kthvalue(one, one.shape[dim], dim).values,),
    "unique": lambda one, dim: tuple(torch.unique(one.nan_to_num(), return_counts=True)),
    "searchsorted": lambda one, dim: _places(one, False),
    "searchsorted from the right": lambda one, dim: _places(one, True),
    "isin": lambda one, dim: (torch.isin(one, one.reshape(-1)[:2]),),
    "nonzero": lambda one, dim: (torch.nonzero(one),),
    "diff": lambda one, dim: (torch.diff(one, dim=dim),),
    "isnan of var": lambda one, dim: (torch.var(one, dim).isnan(),),
    "isnan of std of all": lambda one, dim: (torch.std(one).isnan(),),
    "isnan of softmax": lambda one, dim: (torch.softmax(one, dim).isnan(),),
    "isnan of log_softmax": lambda one, dim: (torch.log_softmax(one, dim).isnan(),),
    "isinf of logsumexp": lambda one, dim: (torch.logsumexp(one, dim).isinf(),),
    "isnan of mean": lambda one, dim: (torch.mean(one, dim).isnan(),),
}
OF_FLOATS = (
    "isnan of var",
    "isnan of std of all",
    "isnan of softmax",
    "isnan of log_softmax",
    "isinf of logsumexp",
    "isnan of mean",
)
LENGTHS = ("1", "3", "33", "257", "1500")


def _rows_fit(case: Case) -> bool:
    name, dtype = case.get("name", "sort"), case.get("dtype", "float32")
    if case.get("row") in ("nan", "all_infinite") and dtype not in FLOATING:
        return False
    if case.get("row") == "large" and dtype in ("int8", "uint8", "float16", "bfloat16"):
        return False
    # Sums of so few small numbers are exact in any order; in 16 bits only of shorter rows.
    narrow = dtype in ("float16", "bfloat16") and case.get("length", "1") in ("257", "1500")
    return not (name in OF_FLOATS and dtype not in FLOATING) and not (
        narrow and name in ("sum", "cumsum"))  # fmt: skip


@each_case(
    {"name": tuple(OF_ROWS), "dtype": (*WHOLE, *FLOATING), "row": ("plain", "ties", "nan",
     "all_infinite", "large"), "length": LENGTHS, "dim": ("last", "first"), "layout": PLACED,
     "device": WHERE["device"]},
    _rows_fit, needs=needs, quick=24,
)  # fmt: skip
@clause("OPS-529")
def test_of_rows(device: torch.device, case: Case) -> None:
    device = place(case, device)
    rows = _rows(case["row"], int(case["length"]), dtype_of(case))
    dim = 1 if case["dim"] == "last" else 0
    values = rows if dim == 1 else rows.t().contiguous()
    there = _laid(values, case["layout"], device)
    for seen, right in zip(OF_ROWS[case["name"]](there, dim), OF_ROWS[case["name"]](values, dim),
                           strict=True):  # fmt: skip
        _same(f"the result, {line(case)}", seen, right, either_zero=True)
