# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what a device gave with what it ought to: type, shape and device first, then values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.operators import exceptions, oracle, table
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.oracle import Expected, is_inexact, unit
from tbk_contracts.torch.operators.samples import Sample

BEYOND = 1e9


@dataclass
class Margin:
    """The largest error seen, as a part of what was allowed; None while nothing was measured."""

    worst: float | None = None

    def take(self, part: float) -> None:
        part = min(part, BEYOND)  # infinity is no number of a record
        self.worst = part if self.worst is None else max(self.worst, part)


def signature(leaf: Any) -> str:
    """Type and shape of a leaf, in words."""
    if isinstance(leaf, torch.Tensor):
        return f"{leaf.dtype} {list(leaf.shape)}".removeprefix("torch.")
    return type(leaf).__name__


def results(
    entry: Entry, sample: Sample, got: list[Any], expected: Expected, device: torch.device,
    margin: Margin,
) -> None:  # fmt: skip
    """Checks the leaves of a result."""
    seen = [signature(leaf) for leaf in got]
    plain = [signature(leaf) for leaf in expected.plain]
    check.equal("types and shapes of the results", seen, _legal(entry, sample, seen, plain))
    for index, leaf in enumerate(got):
        if isinstance(leaf, torch.Tensor):
            where = expected.plain[index].device
            check.equal("device of the result", leaf.device.type, _place(sample, where, device))
    if entry.title in table.UNDEFINED or expected.draws:
        return
    for index in range(len(got)):
        if _shape(got[index]) == _shape(expected.plain[index]):
            _leaf(entry, sample, index, got, expected, margin)


def _legal(entry: Entry, sample: Sample, seen: list[str], plain: list[str]) -> list[str]:
    """Returns the signatures of the CPU's results, or those of PyTorch's meta kernel where these
    were seen: the two differ in what a norm of halves keeps for its gradient."""
    if seen == plain:
        return plain
    on_meta = sample.map(lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf)
    try:
        made = entry.info.op(on_meta.value, *on_meta.args, **on_meta.kwargs)
    except Exception:  # many an operator has none
        return plain
    told = [signature(leaf) for leaf in oracle.leaves(made)]
    return told if seen == told else plain


def _shape(leaf: Any) -> torch.Size | None:
    return leaf.shape if isinstance(leaf, torch.Tensor) else None


def _place(sample: Sample, on_host: torch.device, device: torch.device) -> str:
    return device.type if on_host.type == "cpu" else on_host.type


def _leaf(
    entry: Entry, sample: Sample, index: int, got: list[Any], expected: Expected, margin: Margin
) -> None:
    mine, plain = got[index], expected.plain[index]
    if not isinstance(plain, (torch.Tensor, bool, int, float, complex)):
        check.equal("a result", mine, plain)
        return
    seen = host.download(mine) if isinstance(mine, torch.Tensor) else torch.tensor(mine)
    right = plain if isinstance(plain, torch.Tensor) else torch.tensor(plain)
    if entry.title in table.OF_COUNTS and not entry.is_gradient:
        as_frequent(sample, index, [host.download(each) for each in got], right)
        return
    if entry.title in table.OF_BINS and sample.value.is_floating_point():
        as_binned(sample, seen, right)
        return
    if _names_equals(entry, sample, index, got):
        equals(sample, seen, right)
        return
    if not is_inexact(plain) or expected.wide is None:
        check.tensor("result", _dense(seen), _dense(right))
        return
    limits = limit(entry, sample, index, expected, right.dtype)
    what = "gradients" if entry.is_gradient else "values"
    limits = limits + exceptions.absolute(entry.title, right.dtype, what)
    if not entry.is_gradient and index in table.PHASE.get(entry.title, ()):
        seen, right = seen.abs(), right.abs()
    reference = _as_wide(expected.wide[index])
    close("result", seen, reference, limits, right, margin, oracle.leeway(right.dtype))


def _names_equals(entry: Entry, sample: Sample, index: int, got: list[Any]) -> bool:
    """Returns whether a leaf has indices of which others may be as right."""
    if entry.is_gradient or entry.title not in table.OF_EQUALS or sample.kwargs.get("stable"):
        return False
    return index == len(got) - 1


def equals(sample: Sample, seen: torch.Tensor, right: torch.Tensor) -> None:
    """At the indices stand the values that stand at the right ones; where these name every element,
    so do those."""
    source, dim, (seen, right) = _lined_up(sample, seen, right)
    size = _in_range(source, dim, seen)
    values = (torch.gather(source, dim, indices) for indices in (seen, right))
    check.tensor("values at the indices", *values)
    every = torch.arange(size).expand((*right.transpose(dim, -1).shape[:-1], size))
    if torch.equal(right.sort(dim).values.transpose(dim, -1), every):
        check.tensor("the indices, sorted", seen.sort(dim).values, right.sort(dim).values)


def as_frequent(sample: Sample, index: int, got: list[torch.Tensor], right: torch.Tensor) -> None:
    """Values are as frequent as the right ones; at the indices behind them stand those values."""
    source, dim, (value, seen, right) = _lined_up(sample, got[0], got[index], right)
    if index == 0:
        counts = ((source == values).sum(dim) for values in (seen, right))
        check.tensor("how often the results occur", *counts)
    else:
        _in_range(source, dim, seen)
        check.tensor("values at the indices", torch.gather(source, dim, seen), value)


def as_binned(sample: Sample, seen: torch.Tensor, right: torch.Tensor) -> None:
    """Up to the edge of each bin are as many elements as lie surely below it, or perhaps."""
    facts, bins = torch.finfo(right.dtype), right.numel()
    source = sample.value.detach().double().flatten()
    low, high = (float([*sample.args, 0, 0, 0][at] or sample.kwargs.get(name, 0))
                 for at, name in ((1, "min"), (2, "max")))  # fmt: skip
    if low == high:
        low, high = source.min().item(), source.max().item()
    if low == high:
        low, high = low - 1, high + 1
    # The difference, the product and the quotient may be rounded, at the size of their operands.
    size = max(abs(low), abs(high)) / (high - low)
    perhaps = 4 * facts.eps * bins * (1 + size)
    place = (source - low) * bins / (high - low)
    edges = torch.arange(1, bins + 1).double()
    # Elements are compared with the ends as they are; an end that the dtype lacks is rounded.
    first, last = (0.0 if torch.tensor(end, dtype=right.dtype).item() == end else perhaps
                   for end in (low, high))  # fmt: skip
    sure = (place >= first) & (place <= bins - last)
    possible = (place >= -first) & (place <= bins + last)
    least = (sure & (place < edges[:, None] - perhaps)).sum(1)
    most = (possible & (place <= edges[:, None] + perhaps)).sum(1)
    least[-1] = sure.sum()
    counted = seen.double().cumsum(0)
    check.equal("shape of the counts", seen.shape, right.shape)
    outside = ((counted < least) | (counted > most)).nonzero()
    at = int(outside[0]) if len(outside) else 0
    check.that("elements up to the edge of a bin", not len(outside),
               expected=f"{int(least[at])} to {int(most[at])} up to bin {at}",
               seen=counted[at].item())  # fmt: skip


def _lined_up(
    sample: Sample, *leaves: torch.Tensor
) -> tuple[torch.Tensor, int, list[torch.Tensor]]:
    """Returns the operand, the dimension that is worked along, and leaves that have it, too."""
    source = sample.value.detach()
    dim = sample.kwargs.get("dim", sample.args[0] if sample.args else -1)
    is_less = any(one.dim() < source.dim() for one in leaves)
    return source, dim, [one.unsqueeze(dim) if is_less else one for one in leaves]


def _in_range(source: torch.Tensor, dim: int, indices: torch.Tensor) -> int:
    """Returns the size of the dimension, of which every index is."""
    size = source.shape[dim] if source.dim() else 1
    outside = int(((indices < 0) | (indices >= size)).sum())
    check.equal("indices out of range", outside, 0)
    return size


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def _as_wide(leaf: Any) -> torch.Tensor:
    made = leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
    return made.to(torch.complex128 if made.is_complex() else torch.float64)


def limit(
    entry: Entry, sample: Sample, index: int, expected: Expected, dtype: torch.dtype
) -> torch.Tensor:
    """Returns how far each element may be from the reference, as float64."""
    assert expected.wide is not None  # noqa: S101  # for the type checker
    reference = _as_wide(expected.wide[index])
    moves = [(_as_wide(each[index]) - reference).abs().nan_to_num(0.0, 0.0, 0.0)
             for each in expected.moved]  # fmt: skip
    moved = torch.stack(moves).amax(0) if moves else torch.zeros(reference.shape)
    one = unit(reference.abs().nan_to_num(0.0, 0.0, 0.0), dtype)
    if entry.kind is table.Class.ULP:
        return table.GROSS * table.ULPS[entry.title] * one + table.U_MOVEMENTS * moved
    units = table.UNITS * table.MORE_UNITS.get(entry.title, 1)
    allowed = units * one + table.MOVEMENTS * moved
    if expected.terms is not None:
        allowed = allowed + units * unit(_as_wide(expected.terms[index]), dtype)
    cancels = _what_cancels(entry, sample, reference)
    return allowed + units * unit(torch.tensor(cancels), dtype) if cancels else allowed


def _what_cancels(entry: Entry, sample: Sample, reference: torch.Tensor) -> float:
    """Returns the size of the largest intermediate value, where that says how exact a result can
    be."""
    by_operand = table.GRADIENT_OF_OPERAND if entry.is_gradient else table.OF_OPERAND
    if entry.title in by_operand:
        return max((_size(one) for one in sample.tensors()), default=0.0)
    if entry.is_gradient:
        return max(_size(reference), table.SEEDS)
    if entry.title in table.OF_RESULT:
        return _size(reference)
    return 1.0 if entry.title in table.OF_ONE else 0.0


def _size(tensor: torch.Tensor) -> float:
    if tensor.numel() == 0 or not (tensor.is_floating_point() or tensor.is_complex()):
        return 0.0
    return float(tensor.detach().abs().to(torch.float64).nan_to_num(0.0, 0.0, 0.0).max())


def close(
    what: str, seen: torch.Tensor, reference: torch.Tensor, limits: torch.Tensor,
    plain: torch.Tensor, margin: Margin, leeway: float = 1.0,
) -> None:  # fmt: skip
    """Each element is within its limit. What overflows in the dtype does so in PyTorch too.

    Off by more than `limits` is a warning, and by more than `leeway` times as much a failure.
    """
    given = _as_wide(seen)
    top = torch.finfo(plain.dtype).max
    judged = torch.isfinite(reference) & (reference.abs() <= top)
    own = torch.isfinite(plain) | ~judged
    exact = ~judged & own  # NaN, infinities and what rounds to them
    error = torch.where(judged & own, (given - reference).abs(), 0.0)
    error = torch.where(error.isnan(), math.inf, error)
    part = torch.where(error == 0, 0.0, error / limits)
    _special(what, given, plain, exact & ~torch.isfinite(_as_wide(plain)))
    worst = float(part.max()) if part.numel() else 0.0
    margin.take(worst)
    if worst <= 1:
        check.that(what, True, expected="", seen="")
        return
    at = [int(index) for index in (part == part.max()).nonzero()[0]]
    spot = tuple(at)
    judged_by = check.that if worst > leeway else check.should
    judged_by(
        what, False,
        expected=f"{reference[spot].item()!r} at {at}, or at most {limits[spot].item():.3g} off",
        seen=f"{given[spot].item()!r}: {worst:.3g} times as far off; "
             f"{int((part > 1).sum())} of {part.numel()} elements are wrong",
    )  # fmt: skip


def _special(what: str, given: torch.Tensor, plain: torch.Tensor, where: torch.Tensor) -> None:
    """NaN where NaN is due, and infinities with their sign."""
    ours, theirs = given[where], _as_wide(plain)[where]
    if ours.is_complex():  # which part is infinite or NaN is not said
        wrong = torch.isfinite(ours)
    else:
        wrong = ~((ours == theirs) | (ours.isnan() & theirs.isnan()))
    count = int(wrong.sum())
    check.that(
        f"{what}: NaN and infinities", count == 0,
        expected=theirs[wrong][:1].tolist(), seen=f"{ours[wrong][:1].tolist()}; {count} elements",
    )  # fmt: skip


def arguments(entry: Entry, sample: Sample, placed: Sample, expected: Expected) -> None:
    """The tensors among the arguments are afterwards as PyTorch's CPU leaves them: what the call
    does not write, to the bit; what it computes, as running statistics, within the bound of sums.
    """
    if expected.draws or entry.title in table.UNDEFINED:
        return
    given = zip(sample.tensors(), placed.tensors(), expected.arguments, strict=True)
    for before, mine, theirs in given:
        if theirs.layout == torch.strided:
            seen = host.download(mine)
            check.tensor("an argument afterwards", _settled(before, seen, theirs), theirs.detach())


def _settled(before: torch.Tensor, seen: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Returns what was seen, and what is right wherever it was computed anew and is near enough."""
    real = right.dtype.is_floating_point
    if not real or seen.shape != right.shape or before.shape != right.shape:
        return seen
    right = right.detach()
    is_written = before.detach() != right
    off = (_as_wide(seen) - _as_wide(right)).abs()
    # An average of what stood there and of what is new: the two may cancel.
    sizes = torch.maximum(_as_wide(right).abs(), _as_wide(before.detach()).abs())
    near = off <= table.UNITS * unit(sizes.nan_to_num(0.0, 0.0, 0.0), right.dtype)
    return torch.where(is_written & near, right, seen)
