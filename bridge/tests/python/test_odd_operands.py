# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operands at the edge of what compositions understand, outputs that are given, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from beside_cpu import Call, check, signed, whole
from likeness import check_same, moved
from refused import check_refused

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
aten = torch.ops.aten
nan, inf = float("nan"), float("inf")

pytestmark = pytest.mark.usefixtures("takes_programs")

ODD = torch.tensor([[0.0, nan, 2.0, -inf], [inf, -3.0, 1.0, inf], [5.0, 1.0, -0.0, 1.0]])
SMALL = torch.tensor([0.0, -0.0, 1.0, -1.5, inf, -inf, nan, 3e-45, 1e-39, 1e30])
LARGE = torch.tensor([[1e30], [-2.0], [0.0], [-inf]])
LEAST = torch.iinfo(torch.int64).min
WHOLE = torch.tensor([7, -7, 8, LEAST, 5, -5])
BYTES = torch.arange(8, dtype=torch.uint8)
DIVISORS = torch.tensor([2, 2, -3, 7, -5, 9])


def distance(x: Tensor, y: Tensor, order: float) -> Tensor:
    return torch.cdist(x, y, order, "donot_use_mm_for_euclid_dist")


CALLS: dict[str, tuple[Call, list[Tensor]]] = {
    **{f"distances of order {p}": (partial(distance, order=p), [ODD, signed(2, 4)])
       for p in (1.0, 2.0, inf)},
    "margins of infinities": (
        lambda x: F.multi_margin_loss(x, torch.tensor([3, 0, 1], device=x.device)), [ODD]),
    "margins weighed by infinities": (
        lambda x: F.multi_margin_loss(x, torch.tensor([2, 0, 1], device=x.device),
                                      weight=torch.tensor([1.0, inf, 1.0, 1.0], device=x.device)),
        [signed(3, 4)]),
    "margins of one, in a line": (
        lambda x: F.multi_margin_loss(x, torch.tensor([2], device=x.device), reduction="none"),
        [signed(4)]),
    "margins of several, of infinities": (
        lambda x: F.multilabel_margin_loss(x, torch.tensor([[3, 0, -1, 1]] * 3, device=x.device)),
        [ODD]),
    "histogram of nothing": (lambda x: tuple(torch.histogram(x.detach(), 3)), [signed(0, 3)]),
    "histc of nothing": (lambda x: torch.histc(x.detach(), 3), [signed(0, 3)]),
    "histogram around a number": (
        lambda x: tuple(torch.histogram(x.detach(), 4, range=(1.0, 1.0))), [ODD]),
    "neighbours in a line": (lambda x: aten.unique_consecutive(x, True, False, 0), [whole(9)]),
    "neighbours of the last": (lambda x: aten.unique_consecutive(x, False, False, -1), [whole(9)]),
    "next": (lambda x, y: torch.nextafter(x.detach(), y.detach()), [SMALL, SMALL.flip(0)]),
    "next, to the bit": (
        lambda x, y: torch.nextafter(x.detach(), y.detach()).view(torch.int32),
        [SMALL.nan_to_num(7.0), SMALL.nan_to_num(7.0).flip(0)]),
    "next, double": (lambda x, y: torch.nextafter(x.detach(), y.detach()),
                     [SMALL.double(), SMALL.double().roll(3)[:, None]]),
    "next of bfloat16": (lambda x, y: torch.nextafter(x.detach(), y.detach()),
                         [SMALL.bfloat16(), SMALL.bfloat16().flip(0)]),
    "mantissas": (torch.frexp, [SMALL]),
    "mantissas of halves": (torch.frexp, [signed(3, 5).half().t()]),
    "mantissas of doubles": (torch.frexp, [torch.tensor([5e-324, 1e-310, 0.75, -1e300])]),
    "remainder of integers": (torch.remainder, [WHOLE, DIVISORS]),
    "fmod of integers": (torch.fmod, [WHOLE, DIVISORS]),
    "floor of integers": (torch.floor_divide, [WHOLE, DIVISORS]),
    "truncated integers": (partial(torch.div, rounding_mode="trunc"), [WHOLE, DIVISORS]),
    "a number by integers": (lambda x: torch.remainder(100, x), [DIVISORS.int()]),
    "hardtanh of integers": (lambda x: F.hardtanh(x, -1, 2), [whole(4, 5) - 3]),
    "relu6 of integers": (F.relu6, [whole(4, 5, most=9)]),
    "nan_to_num of integers": (torch.nan_to_num, [WHOLE]),
    "nan_to_num of truth": (torch.nan_to_num, [WHOLE > 0]),
    "logsumexp of integers": (lambda x: torch.logsumexp(x, 1), [whole(4, 5)]),
    **{f"integers to the {power}": (partial(torch.pow, exponent=power), [WHOLE])
       for power in range(9)},
    **{f"bytes to the {power}": (partial(torch.pow, exponent=power), [BYTES])
       for power in (4, 7)},
    "floats to the 4": (partial(torch.pow, exponent=4), [signed(3, 4)]),
    "a step that is never taken": (lambda x: x.detach().unfold(0, 2, 2**62) + 1, [signed(6)]),
    "a step that is never taken, summed": (
        lambda x: x.detach().as_strided((1, 3), (2**62, 1)).sum(0), [signed(6)]),
    "a step that is never taken, by nothing": (
        lambda x: x.detach().as_strided((0, 3), (2**62, 1)) * 2, [signed(6)]),
    "a step that is never taken, looked up": (
        lambda x: x.detach().as_strided((1, 3), (2**62, 1))[:, [0, 2]], [signed(6)]),
    "lines of NaN, made short": (lambda x: torch.renorm(x.detach(), 2, 0, 1.0), [ODD]),
    "distances of one tensor": (partial(torch.pdist, p=inf), [ODD]),
    "distances of one tensor, finite": (partial(torch.pdist, p=inf), [signed(5, 3)]),
    "the norm of one number": (lambda x: torch.linalg.vector_norm(x, dim=1), [LARGE]),
    "the norm of one number, of any order": (
        lambda x: torch.linalg.vector_norm(x.detach(), 2.0**62, dim=1), [LARGE]),
    "the norm of one number, of no order": (
        lambda x: torch.linalg.vector_norm(x.detach(), nan, dim=1), [LARGE]),
    "whether one number is none": (
        lambda x: torch.linalg.vector_norm(x.detach(), 0, dim=1), [LARGE]),
    "the old norm of one number": (lambda x: torch.norm(x, 2, dim=1), [LARGE]),
    "logit's gradient at zeros": (torch.logit, [torch.tensor([-0.0, 0.0, 1.0, 0.5, -1.0])]),
    "logit's gradient at zeros, kept apart": (
        partial(torch.logit, eps=0.0), [torch.tensor([-0.0, 0.0, 1.0, 0.5, -1.0])]),
    "the greatest of bags with NaN": (
        lambda x: F.embedding_bag(torch.tensor([0, 1, 2, 2, 1, 0], device=x.device), x,
                                  torch.tensor([0, 2, 5], device=x.device), mode="max"), [ODD]),
    "the greatest of bags with NaN and padding": (
        lambda x: F.embedding_bag(torch.tensor([[2, 1, 0], [2, 2, 2]], device=x.device), x,
                                  mode="max", padding_idx=2), [ODD]),
    "dropout's gradient of integers": (
        lambda x: aten.native_dropout_backward(x, x > 2, 1.5), [whole(4, 5)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_odd_operands(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, inputs = CALLS[name]
    check(call, inputs, backend, device)


def bools(like: Tensor) -> Tensor:
    return torch.empty(like.shape, dtype=torch.bool, device=like.device)


REFUSED: dict[str, tuple[Call, list[Tensor]]] = {
    "a weight that makes more": (F.binary_cross_entropy, [torch.rand(6, 1), torch.rand(6, 1),
                                                          torch.rand(5)]),
    "a chance above one": (torch.bernoulli, [torch.tensor([0.5, 1.5])]),
    "a chance that is none": (torch.bernoulli, [torch.tensor([nan, 0.5])]),
    "a chance below zero, in place": (
        lambda x: torch.empty_like(x).bernoulli_(x), [torch.tensor([0.5, -0.5])]),
    **{f"{dtype} by chance": (lambda x: x.bernoulli_(0.5), [BYTES.to(dtype)])
       for dtype in (torch.uint16, torch.uint64, torch.float8_e4m3fn)},
    "an order in 32 bits": (
        lambda x: torch.searchsorted(x, x, sorter=torch.argsort(x).int()), [signed(5)]),
    "an order in truth": (lambda x: torch.searchsorted(x, x, sorter=x > 0), [signed(5)]),
    "a search in truth": (torch.searchsorted, [torch.tensor([False, True])] * 2),
    "buckets of truth": (torch.bucketize, [torch.tensor([False, True])] * 2),
    "a bin beyond all": (torch.bincount, [torch.tensor([2**63 - 1])]),
    **{f"a factor beyond {dtype}": (
        lambda x, by=by: x.index_add(0, torch.tensor([0, 1], device=x.device), x, alpha=by),
        [torch.ones(2, dtype=dtype)])
       for dtype, by in ((torch.float16, 2**62), (torch.float32, 1e300), (torch.int8, 300))},
    "a weight beyond float": (lambda x: torch.lerp(x, x, 1e300), [torch.ones(3)]),
    "windows of too many dimensions": (
        lambda x: F.max_pool3d(x, 2), [torch.ones(1, 1, 1, 2, 2, 2)]),
    "too many dimensions, mirrored": (
        lambda x: aten.reflection_pad2d(x, [1, 1, 1, 1]), [torch.ones(1, 1, 2, 2, 2)]),
    "too many dimensions, repeated": (
        lambda x: aten.replication_pad3d(x, [1] * 6), [torch.ones(1, 1, 1, 2, 2, 2)]),
    "a window beyond 32 bits": (lambda x: F.max_pool3d(x, 2**62), [torch.ones(1, 1, 4, 4, 4)]),
    "windows farther apart than 32 bits": (
        lambda x: F.max_pool2d(x, 2, stride=2**40), [torch.ones(1, 1, 4, 4)]),
    "the average of a window beyond 32 bits": (
        lambda x: F.avg_pool2d(x, 2**62), [torch.ones(1, 1, 4, 4)]),
    "a line of no lines": (
        lambda x: x.index_select(0, torch.zeros(2, dtype=torch.long, device=x.device)),
        [torch.ones(0, 0)]),
    "a word of no words": (
        lambda x: F.embedding(torch.zeros(2, dtype=torch.long, device=x.device), x),
        [torch.ones(0, 0)]),
    "the trace of truth": (torch.trace, [torch.ones(3, 3, dtype=torch.bool)]),
    "a cross product of truth": (torch.linalg.cross, [torch.ones(3, dtype=torch.bool)] * 2),
    "patches of nothing": (lambda x: F.unfold(x, 2), [torch.ones(2, 0, 4, 4)]),
    "an integer by zero": (torch.remainder, [WHOLE, DIVISORS - 2]),
    "an integer by zero, cut": (
        torch.floor_divide, [WHOLE.to(torch.uint8), torch.tensor(256)]),
    "hardtanh of truth": (F.hardtanh, [torch.ones(3, dtype=torch.bool)]),
    "bytes below zero": (lambda x: F.hardtanh(x, -1, 3), [torch.ones(3, dtype=torch.uint8)]),
    "is among, as numbers": (
        lambda x: torch.isin(x, x, out=torch.empty(3, device=x.device)), [torch.ones(3)]),
    "is among truths": (lambda x: torch.isin(x, x, out=torch.empty_like(x)),
                        [torch.ones(3, dtype=torch.bool)]),
    "is a truth": (lambda x: torch.isin(x, True, out=bools(x)), [BYTES]),
    "is a complex number": (lambda x: torch.isin(x, 1j, out=bools(x)), [BYTES]),
    "is the number, over a part": (
        lambda x: torch.isin(x[1:5], 3, out=x.view(torch.bool)[:4]), [BYTES]),
    "is among few, over a part": (
        lambda x: torch.isin(x[1:5], x[5:7], out=x.view(torch.bool)[:4]), [BYTES.clone()]),
    "is among few, all one": (
        lambda x: torch.isin(x, x[:2], out=bools(x)[:1].expand(8)), [BYTES]),
    "is among many, all one": (
        lambda x: torch.isin(x, x.repeat(4), out=bools(x)[:1].expand(8)), [BYTES]),
    "a gated half, odd": (lambda x: aten.glu.out(x, 0, out=x.new_empty(2)), [signed(5)]),
    "a gated half of a number": (lambda x: aten.glu.out(x, 0, out=x.new_empty(1)), [signed()]),
    "a gated half, beyond": (lambda x: aten.glu.out(x, 2, out=x.new_empty(2)), [signed(4)]),
    "cat with nothing of floats, to integers": (
        lambda x: torch.cat([x, torch.empty(0, device=x.device)], out=x.new_empty(8)), [BYTES]),
    "cat with no rows of floats, to integers": (
        lambda x: torch.cat([x[None], torch.empty(0, 8, device=x.device)],
                            out=x.new_empty(1, 8)), [BYTES]),
    **{f"cat of floats and {dtype}": (
        lambda x: torch.cat([x, x.float()], out=x.new_empty(16)), [BYTES.to(dtype)])
       for dtype in (torch.float8_e5m2, torch.float8_e4m3fn, torch.uint16)},
    **{f"cat of bytes and {dtype}": (
        lambda x: torch.cat([x, x.to(torch.uint8)], out=x.new_empty(16)), [BYTES.to(dtype)])
       for dtype in (torch.float8_e5m2, torch.uint32)},
    "the median of truth": (torch.median, [torch.ones(3, dtype=torch.bool)]),
    "the least of truth": (lambda x: torch.kthvalue(x, 1), [torch.ones(3, dtype=torch.bool)]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_cpu_refuses(name: str, device: torch.device) -> None:
    call, inputs = REFUSED[name]
    check_refused(lambda: call(*inputs), lambda: call(*(one.to(device) for one in inputs)), device)


Writes = Callable[[Tensor, Any], object]
LINE = signed(4, 6)
OUTPUTS: dict[str, tuple[Writes, list[Tensor]]] = {
    "mode": (lambda x, out: torch.mode(x, 1, out=out),
             [torch.empty(4), torch.empty(0, dtype=torch.int64)]),
    "mode, kept": (lambda x, out: torch.mode(x, 0, True, out=out),
                   [torch.empty(0), torch.empty(2, 6, dtype=torch.int64)[::2]]),
    "histc": (lambda x, out: torch.histc(x, 5, -1, 1, out=out[0]), [torch.empty(5)]),
    "histogram": (lambda x, out: torch.histogram(x, 5, out=out), [torch.empty(0), torch.empty(6)]),
    "histogram of edges": (
        lambda x, out: torch.histogram(x, torch.tensor([-1.0, 0, 2], device=x.device), out=out),
        [torch.empty(2), torch.empty(0)]),
    "frexp": (lambda x, out: torch.frexp(x, out=out),
              [torch.empty(4, 6), torch.empty(0, dtype=torch.int32)]),
    "nextafter": (lambda x, out: torch.nextafter(x, x.flip(0), out=out[0]),
                  [torch.empty(6, 4).t()]),
    "isin": (lambda x, out: torch.isin(x, x[0], out=out[0]), [torch.empty(0, dtype=torch.bool)]),
    "multinomial": (lambda x, out: torch.multinomial(x.abs() * 0 + 1, 6, out=out[0]).copy_(
        out[0].sort(1).values), [torch.empty(0, dtype=torch.int64)]),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_that_are_given(name: str, backend: DeviceModule, device: torch.device) -> None:
    write, outputs = OUTPUTS[name]
    expected = [moved(one, torch.device("cpu")) for one in outputs]
    write(LINE, expected)
    seen = [moved(one, device) for one in outputs]
    backend.reset_fallbacks()
    write(LINE.to(device), seen)
    assert backend.fallbacks() == []
    for ours, theirs in zip(seen, expected, strict=True):
        check_same(ours, theirs)


def test_a_permutation_gets_its_size(device: torch.device) -> None:
    seen = torch.randperm(4, out=torch.empty(2, 2, dtype=torch.int64, device=device))
    assert seen.shape == (4,)
    assert seen.cpu().sort().values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_quotient_of_half_precision_is_rounded_before_it_is_cut(
    device: torch.device, dtype: torch.dtype, mode: str
) -> None:
    """One that is a little below a whole number is that number in half precision."""
    x, y = signed(40, 500).to(dtype), signed(40, 501)[:, 1:].to(dtype)
    expected = torch.div(x, y, rounding_mode=mode)
    assert torch.equal(torch.div(x.to(device), y.to(device), rounding_mode=mode).cpu(), expected)
    exact = torch.div(x.double(), y.double(), rounding_mode=mode).to(dtype)
    assert not torch.equal(expected, exact), "these operands show nothing"
