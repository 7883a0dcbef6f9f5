# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where operators go wrong: special numbers, nothing at all, the last element, duplicates."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import layouts, oracle, subnormal, table

Unary = Callable[[torch.Tensor], torch.Tensor]
FLOATING = ("float32", "float64", "float16", "bfloat16")
WHOLE = ("int8", "int16", "int32", "int64", "uint8")


def _special(dtype: torch.dtype) -> torch.Tensor:
    """NaN, infinities, zeros of both signs, the largest, the smallest normal and subnormal ones."""
    facts = torch.finfo(dtype)
    least = facts.smallest_normal * facts.eps
    positive = [0.0, 1.0, 1.5, 3.0, facts.eps, facts.smallest_normal, least, 3 * least, facts.max,
                math.inf]  # fmt: skip
    return torch.tensor([*positive, *(-one for one in positive), math.nan], dtype=dtype)


# One rounding, or none, so that there is one right answer.
ALONE: dict[str, Unary] = {
    "abs": torch.abs, "neg": torch.neg, "sign": torch.sign, "floor": torch.floor,
    "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round, "relu": torch.relu,
    "isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite,
    "signbit": torch.signbit, "sqrt": torch.sqrt, "square": torch.square,
    "clamp": lambda x: x.clamp(-1, 1), "nan_to_num": torch.nan_to_num, "clone": torch.clone,
    "mul": lambda x: x * 1, "add": lambda x: x + x, "logical_not": torch.logical_not,
}  # fmt: skip
TOGETHER: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "true_divide": torch.true_divide,
    "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax, "fmin": torch.fmin,
    "eq": torch.eq, "lt": torch.lt, "ge": torch.ge, "ne": torch.ne, "copysign": torch.copysign,
    "where": lambda x, y: torch.where(x < y, x, y), "fmod": torch.fmod,
}  # fmt: skip
OF_MANY: dict[str, Unary] = {
    "amax": lambda x: x.amax(), "amin": lambda x: x.amin(), "max": lambda x: x.max(),
    "min": lambda x: x.min(), "max along": lambda x: x.max(0).values,
    "argmax": lambda x: x.argmax(), "sort": lambda x: x.sort().values, "sum": lambda x: x.sum(),
    "cummax": lambda x: x.cummax(0).values, "prod": lambda x: x.prod(), "any": lambda x: x.any(),
    "median": lambda x: x.median(), "max_pool1d":
        lambda x: torch.nn.functional.max_pool1d(x.reshape(1, 1, -1), 2),
}  # fmt: skip


def _same(
    what: str, call: Callable[..., torch.Tensor], device: torch.device, *operands: torch.Tensor
) -> None:
    placed = [host.upload(one, device) for one in operands]
    check.tensor(what, host.download(call(*placed)), call(*operands))


# Which zero is the larger is not said, and PyTorch's own CPU does not always choose the same.
EITHER_ZERO = ("maximum", "minimum", "fmax", "fmin", "relu")


def _stepped(one: torch.Tensor) -> torch.Tensor:
    """The same values, two elements apart."""
    return torch.stack([one, one], -1).select(-1, 0)


def _nearer(seen: torch.Tensor, right: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """PyTorch's CPU computes vectors, or element by element where operands are stepped, and the two
    do not always agree: fmod of doubles by a subnormal number is NaN in vectors alone. Either
    is right; returns what is nearer to `seen`.
    """
    is_nan = right.isnan() & other.isnan()
    is_other = (seen == other) | (seen.isnan() & other.isnan())
    return torch.where((right != other) & ~is_nan & is_other, other, right)


# Operators whose own tests allow ordinary results to be off by some units in the last place. Here,
# too, they may be; zeros, infinities, NaN and subnormal results are compared bit for bit.
ROUNDED = ("sqrt", "true_divide")


def _as_near(name: str, seen: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Returns `right` with those elements of `seen` that are within the operator's bound of it."""
    size, facts = right.double().abs(), torch.finfo(right.dtype)
    is_ordinary = (size >= facts.smallest_normal) & (size < facts.max)
    units = oracle.unit(size.nan_to_num(0.0, 0.0, 0.0), right.dtype)
    away = (seen.double() - right.double()).abs()
    is_near = is_ordinary & (away <= table.GROSS * table.ULPS[name] * units)
    return torch.where(is_near, seen, right)


def _same_special(
    name: str, call: Callable[..., torch.Tensor], device: torch.device, *operands: torch.Tensor
) -> None:
    """The same element by element, as far as the device has subnormal numbers."""
    what = f"{name} of {'two ' if len(operands) > 1 else ''}special numbers"
    seen = host.download(call(*[host.upload(one, device) for one in operands]))
    right = call(*operands)
    check.equal(f"{what}: shape", tuple(seen.shape), tuple(right.shape))
    right = _nearer(seen, right, call(*[_stepped(one) for one in operands]))
    if not subnormal.kept(device, operands[0].dtype):
        check.note("subnormal numbers are left out: the device takes them for 0")
        out = torch.stack([subnormal.among(one) for one in (*operands, right)]).any(0)
        seen, right = seen[~out], right[~out]
    if name in ROUNDED:
        right = _as_near(name, seen, right)
    if name in EITHER_ZERO:
        seen, right = seen + 0.0, right + 0.0
    check.tensor(what, seen, right)


@each_dtype(*FLOATING)
@pytest.mark.parametrize("name", list(ALONE))
@clause("OPS-529")
def test_special_numbers(device: torch.device, dtype: torch.dtype, name: str) -> None:
    _same_special(name, ALONE[name], device, _special(dtype).repeat(5))


@each_dtype(*FLOATING)
@pytest.mark.parametrize("name", list(TOGETHER))
@clause("OPS-529")
def test_two_special_numbers(device: torch.device, dtype: torch.dtype, name: str) -> None:
    values = _special(dtype)
    count = len(values)
    left, right = values.repeat_interleave(count), values.repeat(count)
    _same_special(name, TOGETHER[name], device, left, right)


@each_dtype("float32", "float64")
@pytest.mark.parametrize("name", list(OF_MANY))
@clause("OPS-529")
def test_special_numbers_among_many(device: torch.device, dtype: torch.dtype, name: str) -> None:
    for special in (math.nan, math.inf, -math.inf):
        for place in (0, 17, 32):
            values = host.values((33,), dtype)
            values[place] = special
            if name == "prod":
                values = values.sign() + 0.0
                values[place] = special
            if math.isfinite(special) or name not in ("sum",):
                _same(f"{name} with {special}", OF_MANY[name], device, values)
            else:
                seen = host.download(OF_MANY[name](host.upload(values, device)))
                check.tensor(f"{name} with {special}", seen, torch.tensor(special, dtype=dtype))


@each_dtype(*WHOLE)
@clause("OPS-529")
def test_integers_wrap(device: torch.device, dtype: torch.dtype) -> None:
    facts = torch.iinfo(dtype)
    edge = [facts.min, facts.min + 1, 0, 1, 2, 3, facts.max // 2, facts.max - 1, facts.max]
    values = torch.tensor(edge, dtype=dtype)
    left, right = values.repeat_interleave(len(edge)), values.repeat(len(edge))
    for name in ("add", "sub", "mul", "maximum", "lt", "eq"):
        _same(f"{name} at the edges", getattr(torch, name), device, left, right)
    for name in ("neg", "abs", "square"):
        _same(f"{name} at the edges", getattr(torch, name), device, values)
    if dtype.is_signed:
        for bits in (1, 3):
            _same("a shift", partial(torch.bitwise_right_shift, other=bits), device, values)
    _same("a sum", lambda x: x.sum(dtype=dtype), device, values)


IDENTITIES: dict[str, Unary] = {
    "sum": torch.sum, "prod": torch.prod, "any": torch.any, "all": torch.all,
    "mean": torch.mean, "logsumexp": lambda x: x.logsumexp(0), "cumsum": lambda x: x.cumsum(0),
    "sum along": lambda x: x.reshape(0, 3).sum(0), "prod along": lambda x: x.reshape(0, 3).prod(0),
    "amax along the other": lambda x: x.reshape(0, 3).amax(1), "var": torch.var,
    "norm": torch.linalg.vector_norm, "mm": lambda x: x.reshape(3, 0) @ x.reshape(0, 3),
    "nansum": torch.nansum, "count_nonzero": torch.count_nonzero,
}  # fmt: skip
NO_IDENTITY: dict[str, Unary] = {
    "max": torch.max, "min": torch.min, "amax": lambda x: x.amax(0), "argmax": torch.argmax,
    "amin": lambda x: x.amin(0), "argmin": torch.argmin,
}  # fmt: skip


@pytest.mark.parametrize("name", list(IDENTITIES))
@clause("OPS-530", needs="dtype:float32")
@pytest.mark.filterwarnings("ignore")
def test_a_reduction_over_nothing_gives_the_identity(device: torch.device, name: str) -> None:
    _same(f"{name} of nothing", IDENTITIES[name], device, torch.empty(0))


@pytest.mark.parametrize("name", list(NO_IDENTITY))
@clause("OPS-530", needs="dtype:float32")
def test_a_reduction_without_identity_refuses_nothing(device: torch.device, name: str) -> None:
    nothing = host.upload(torch.empty(0), device)
    check.raises(f"{name} of nothing", (RuntimeError, IndexError),
                 lambda: NO_IDENTITY[name](nothing))  # fmt: skip


LENGTHS = (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 128, 129, 255, 257, 1023, 1025, 4097)
EVERY: dict[str, Unary] = {
    "neg": torch.neg, "abs": torch.abs, "add": lambda x: x + x, "mul": lambda x: x * x,
    "relu": torch.relu, "clone": torch.clone, "gt": lambda x: x > 0, "flip": lambda x: x.flip(0),
    "cumsum": lambda x: x.cumsum(0), "sort": lambda x: x.sort().values,
    "cat": lambda x: torch.cat([x, x]), "sum along": lambda x: x.repeat(3, 1).t().sum(1),
    "sum": torch.sum, "amax": torch.amax, "argmax": torch.argmax, "dot": lambda x: x.dot(x),
    "roll": lambda x: x.roll(1), "where": lambda x: torch.where(x > 0, x, 0),
    "mv": lambda x: torch.stack([x, -x]).mv(x), "to another dtype": lambda x: x.to(torch.int32),
}  # fmt: skip


@pytest.mark.parametrize("name", list(EVERY))
@clause("OPS-557", needs="dtype:float32")
def test_the_last_element_counts(device: torch.device, name: str) -> None:
    for length in LENGTHS:
        values = layouts.whole((length,), torch.float32, 32)
        if name == "argmax":
            values = torch.randperm(length, generator=host.seed()).to(torch.float32)
        # The memory that a result gets holds nothing right.
        host.poisoned((length,), torch.float32, device)
        _same(f"{name} of any length", EVERY[name], device, values)


DUPLICATES: dict[str, Callable[..., torch.Tensor]] = {
    "index_add": lambda x, i, v: x.index_add(0, i, v),
    "index_put": lambda x, i, v: x.index_put((i,), v, accumulate=True),
    "scatter_add": lambda x, i, v: x.scatter_add(0, i, v),
    "put": lambda x, i, v: x.put(i, v, accumulate=True),
    "scatter_reduce": lambda x, i, v: x.scatter_reduce(0, i, v, "sum"),
    "index_add with a factor": lambda x, i, v: x.index_add(0, i, v, alpha=2),
}


@each_dtype("float32", "int64")
@pytest.mark.parametrize("name", list(DUPLICATES))
@clause("OPS-531", needs="dtype:int64")
def test_duplicate_indices_accumulate(device: torch.device, dtype: torch.dtype, name: str) -> None:
    start, values = layouts.whole((16,), dtype), layouts.whole((2000,), dtype)
    index = torch.randint(0, 16, (2000,), generator=host.seed())
    _same(f"{name} with duplicates", DUPLICATES[name], device, start, index, values)


@pytest.mark.parametrize("name", list(DUPLICATES))
@clause("OPS-531", needs="dtype:float32 dtype:int64")
def test_what_is_deterministic_is_the_same_twice(device: torch.device, name: str) -> None:
    start, values = host.values((16,)), host.values((5000,))
    index = torch.randint(0, 16, (5000,), generator=host.seed())
    placed = [host.upload(one, device) for one in (start, index, values)]
    torch.use_deterministic_algorithms(True)
    try:
        first = host.download(DUPLICATES[name](*placed))
        for _ in range(3):
            again = host.download(DUPLICATES[name](*placed))
            check.tensor(f"{name} again, with deterministic algorithms", again, first)
    except RuntimeError as error:
        check.that("the exception says why", "deterministic" in str(error),
                   expected="a word on deterministic algorithms", seen=str(error))  # fmt: skip
    finally:
        torch.use_deterministic_algorithms(False)
