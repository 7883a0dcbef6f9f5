# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Values at ends: NaN in the last place, fractions beside integers, integers beyond a range, one
value for many places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import layouts

WHOLE = ("int8", "int16", "int32", "int64", "uint8")
Along = Callable[[torch.Tensor, int], Any]
ALONG: dict[str, Along] = {
    "max": lambda x, d: x.max(d), "min": lambda x, d: x.min(d),
    "amax": lambda x, d: x.amax(d), "amin": lambda x, d: x.amin(d),
    "argmax": lambda x, d: x.argmax(d), "argmin": lambda x, d: x.argmin(d),
    "aminmax": lambda x, d: torch.aminmax(x, dim=d), "median": lambda x, d: x.median(d),
    "nanmedian": lambda x, d: x.nanmedian(d), "kthvalue": lambda x, d: x.kthvalue(2, d),
    "cummax": lambda x, d: x.cummax(d), "cummin": lambda x, d: x.cummin(d),
    "sort": lambda x, d: x.sort(d), "sort, descending": lambda x, d: x.sort(d, descending=True),
    "argsort": lambda x, d: x.argsort(d), "topk": lambda x, d: x.topk(2, d),
    "topk, smallest": lambda x, d: x.topk(2, d, largest=False),
    "any": lambda x, d: x.any(d), "all": lambda x, d: x.all(d),
    "count_nonzero": lambda x, d: x.count_nonzero(d), "sum": lambda x, d: x.sum(d),
    "nansum": lambda x, d: x.nansum(d), "prod": lambda x, d: x.prod(d),
    "cumsum": lambda x, d: x.cumsum(d), "cumprod": lambda x, d: x.cumprod(d),
}  # fmt: skip


def _same(what: str, call: Callable[..., Any], device: torch.device, *given: Any) -> None:
    """The call gives on the device what it gives on the host, to the bit."""
    placed = [layouts.put(one, device) if isinstance(one, torch.Tensor) else one for one in given]
    for seen, right in zip(tree_leaves(call(*placed)), tree_leaves(call(*given)), strict=True):
        check.tensor(what, host.download(seen), right)


def _rows() -> Iterator[torch.Tensor]:
    """Yields powers of two, whose sums and products are exact; one NaN in each line, or none."""
    for count in (2, 3, 4):
        for at in (0, count - 1, None):
            order = torch.randperm(count * count, generator=host.seed()).reshape(count, count)
            made = torch.ldexp(torch.ones(count, count), order - 4)
            for index in range(count if at is not None else 0):
                made[index, at] = torch.nan
            yield made


@pytest.mark.parametrize("name", ALONG)
@clause("OPS-529", needs="dtype:float32 dtype:int64")
def test_nan_is_first_or_last(device: torch.device, name: str) -> None:
    for rows in _rows():
        for dim in (1, -1):
            _same(f"{name} of a row with NaN", lambda x, d=dim: ALONG[name](x, d), device, rows)
        columns = rows.t().contiguous()
        _same(f"{name} of a column with NaN", lambda x: ALONG[name](x, 0), device, columns)


COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
NUMBERS = (-1.5, -0.5, 0.5, 1.5, 2.0, float("inf"))


@each_dtype(*WHOLE)
@pytest.mark.parametrize("name", COMPARED)
@clause("OPS-550", needs="dtype:bool")
def test_integers_are_compared_with_fractions(
    device: torch.device, dtype: torch.dtype, name: str
) -> None:
    sent = torch.arange(6).to(dtype) - (0 if dtype == torch.uint8 else 3)
    for number in NUMBERS:
        what, call = f"{name} of {dtype} and {number}", getattr(torch, name)
        _same(what, lambda x, call=call, other=number: call(x, other), device, sent)
        _same(f"{what}, in place", lambda x, other=number: getattr(x.clone(), f"{name}_")(other),
              device, sent)  # fmt: skip
        _same(f"{what}, with out=", lambda x, call=call, other=number: call(
            x, other, out=torch.empty_like(x, dtype=torch.bool)), device, sent)  # fmt: skip


WITH_FRACTION: dict[str, Callable[[torch.Tensor], Any]] = {
    "clamp": lambda x: x.clamp(-1.5, 1.5), "clamp_min": lambda x: x.clamp_min(0.5),
    "clamp_max": lambda x: x.clamp_max(0.5), "mul": lambda x: x * 0.5, "add": lambda x: x + 0.5,
    "sub": lambda x: x - 0.5, "sub from": lambda x: 0.5 - x, "true_divide": lambda x: x / 0.5,
    "floor_divide": lambda x: x // 0.5, "fmod": lambda x: x.fmod(1.5),
    "remainder": lambda x: x % 1.5, "where": lambda x: torch.where(x > 0, x, 0.5),
    "masked_fill": lambda x: x.masked_fill(x > 0, 1.0), "isin": lambda x: torch.isin(x, 2),
    "copysign": lambda x: x.copysign(-0.5), "full_like": lambda x: torch.full_like(x, 1.5),
    "fill_": lambda x: x.clone().fill_(1.5), "pow": lambda x: x.pow(2.0),
}  # fmt: skip


@each_dtype(*WHOLE)
@pytest.mark.parametrize("name", WITH_FRACTION)
@clause("OPS-550", needs="dtype:float32 dtype:bool")
def test_integers_beside_fractions(device: torch.device, dtype: torch.dtype, name: str) -> None:
    sent = torch.arange(6).to(dtype) - (0 if dtype == torch.uint8 else 3)
    _same(f"{name} of {dtype} with a fraction", WITH_FRACTION[name], device, sent)


@each_dtype(*WHOLE)
@clause("OPS-550", needs="dtype:bool")
def test_integers_beyond_the_range_wrap(device: torch.device, dtype: torch.dtype) -> None:
    """From each dtype to each, at both ends of both of them."""
    mine = torch.iinfo(dtype)
    for name in (*WHOLE, "bool"):
        target = getattr(torch, name)
        if not host.goes_round(target, device):
            continue
        theirs = mine if target == torch.bool else torch.iinfo(target)
        ends = {end + step for facts in (mine, theirs) for end in (facts.min, facts.max)
                for step in (-2, -1, 0, 1, 2)} | {0, 200, 300, 70_000}  # fmt: skip
        held = [one for one in sorted(ends) if mine.min <= one <= mine.max]
        sent, what = torch.tensor(held, dtype=dtype), f"{dtype} as {target}"
        _same(what, lambda x, to=target: x.to(to), device, sent)
        _same(f"{what}, copied", lambda x, to=target: torch.empty_like(x, dtype=to).copy_(x),
              device, sent)  # fmt: skip
        _same(f"{what}, strided", lambda x, to=target: x[::2].to(to), device, sent)


At = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
AT: dict[str, At] = {
    "index_put": lambda x, i, v: x.index_put((i,), v, accumulate=True),
    "index_put_": lambda x, i, v: x.clone().index_put_((i,), v, accumulate=True),
    "index_put of pairs": lambda x, i, v: x.index_put((i, i.flip(0) % x.shape[-1]),
                                                      v.reshape(-1)[:1], accumulate=True),
    "_index_put_impl_": lambda x, i, v: torch._index_put_impl_(x.clone(), (i,), v, True),
    "index_add": lambda x, i, v: x.index_add(0, i, v.expand((len(i), *x.shape[1:]))),
    "scatter_add": lambda x, i, v: x.scatter_add(0, i.reshape(-1, *[1] * (x.dim() - 1)).expand(
        (len(i), *x.shape[1:])), v.expand((len(i), *x.shape[1:]))),
    "put": lambda x, i, v: x.put(i, v.reshape(-1)[:1].expand(len(i)), accumulate=True),
}  # fmt: skip


@each_dtype("float32", "int64")
@pytest.mark.parametrize("name", AT)
@clause("OPS-531", needs="dtype:int64")
def test_one_value_is_added_at_each_index(
    device: torch.device, dtype: torch.dtype, name: str
) -> None:
    """Indices repeat, and there are fewer values than indices: they are broadcast."""
    index = torch.tensor([2, 0, 2, 1, 2, 0])
    for shape, sizes in (((4,), ((), (1,))), ((4, 3), ((), (1,), (3,), (1, 3), (6, 1)))):
        if name == "index_put of pairs" and len(shape) == 1:
            continue
        start = layouts.whole(shape, dtype)
        for size in sizes:
            values = layouts.whole(size, dtype) + 20
            _same(f"{name} of {list(size)} in {list(shape)}", AT[name], device,
                  start, index, values)  # fmt: skip


IN_PLACE = ("add_", "sub_", "mul_", "div_", "fmod_", "remainder_", "copysign_", "floor_divide_",
            "eq_", "ne_", "lt_", "le_", "gt_", "ge_", "logical_and_", "logical_xor_", "copy_",
            "nextafter_", "heaviside_", "hypot_", "pow_", "true_divide_")  # fmt: skip
SMALLER = ((), (1,), (4,), (3, 1), (3, 4), (1, 1, 4), (2, 1, 1), (2, 3, 1), (1, 3, 4), (2, 1, 4))


@pytest.mark.parametrize("name", IN_PLACE)
@clause("OPS-557", needs="dtype:float32")
def test_a_smaller_operand_reaches_each_element(device: torch.device, name: str) -> None:
    """In place, of three dimensions. The operand is a power of two, or 3 and 4 for hypot."""
    for size in SMALLER:
        start = layouts.whole((2, 3, 4), torch.float32)
        other = torch.ldexp(torch.ones(size), torch.randint(0, 3, size, generator=host.seed()))
        if name == "hypot_":
            start, other = torch.full_like(start, 3.0), torch.full_like(other, 4.0)
        if name == "pow_":
            other = torch.full_like(other, 2.0)
        _same(f"{name} of what is smaller, {list(size)}",
              lambda x, y: getattr(x.clone(), name)(y), device, start, other)  # fmt: skip
