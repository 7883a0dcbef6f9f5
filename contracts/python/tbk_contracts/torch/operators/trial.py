# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One operator in one dtype on a device: the test that all entries share."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from tbk_contracts.torch import check, host, missing
from tbk_contracts.torch.operators import holding, judge, oracle, precision, samples, table
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.program import told
from tbk_contracts.torch.operators.served import Served, Watch


def try_operator(
    entry: Entry, dtype: torch.dtype, device: torch.device, start: str = "import torch"
) -> None:
    """Judges the picked samples; says in facts how it was served, and how near to the limits."""
    margin, served, left = judge.Margin(), Served(), holding.LeftOut(device)
    judged, refusal = 0, None
    chosen = samples.picked(entry, dtype)
    watched = _largest(chosen)
    for index, sample in enumerate(chosen):
        expected = oracle.expect(entry, sample, dtype)
        if expected is None or left.takes(sample, expected):
            watched = _largest(chosen[index + 1 :]) if sample is watched else watched
            continue
        try:
            with told(entry, sample, dtype, device, start):
                refusal = _try_sample(
                    entry, sample, expected, device, served if sample is watched else None, margin
                )
        finally:
            judged += 1
            if refusal is not None:
                served.refuse(refusal)
            check.fact(operator=entry.title, dtype=str(dtype).removeprefix("torch."),
                       kind=entry.kind.value, margin=margin.worst, **served.facts())  # fmt: skip
        if refusal is not None:
            refused(refusal, entry, expected, len(chosen) - index)
            return
    left.tell(judged, "PyTorch's CPU has no answer to compare with")


def _largest(chosen: list[samples.Sample]) -> samples.Sample | None:
    """Returns the one of which it is seen who serves it."""
    return max(chosen, key=lambda one: sum(each.numel() for each in one.tensors()), default=None)


def _try_sample(
    entry: Entry, sample: samples.Sample, expected: oracle.Expected, device: torch.device,
    served: Served | None, margin: judge.Margin,
) -> Exception | None:  # fmt: skip
    placed = samples.place(sample, device, entry)
    poison(expected, device)
    watch = Watch(device) if served is not None else None
    try:
        got = call(entry, placed, device, watch)
    except Exception as error:
        if missing.lacking(error):
            return error
        check.that(f"{entry.title} runs", False, expected="a result",
                   seen=f"{type(error).__name__}: {error}")  # fmt: skip
        raise
    if watch is not None and served is not None:
        served.take(watch)
    judge.results(entry, sample, got, expected, device, margin)
    judge.arguments(entry, sample, placed, expected)
    if expected.draws and entry.title not in table.UNDEFINED:
        _same_again(entry, sample, device, got)
    return None


def _checks(expected: oracle.Expected) -> int:
    """Returns how many are made of a sample that is like this one: of the whole, of results,
    arguments.
    """
    results = sum(1 + isinstance(leaf, torch.Tensor) for leaf in expected.plain)
    return 1 + results + len(expected.arguments)


def call(
    entry: Entry, placed: samples.Sample, device: torch.device,
    watch: AbstractContextManager[Any] | None = None,
) -> list[Any]:  # fmt: skip
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A factory that is told of no device makes its tensor on this one.
        with device, precision.full(), watch or nullcontext():
            result = entry.info.op(placed.value, *placed.args, **placed.kwargs)
    return oracle.leaves(result)


def poison(expected: oracle.Expected, device: torch.device) -> None:
    """Leaves memory behind, for an allocator that hands it out again, that holds no right answer:
    then an element that is not written is seen."""
    made = [host.poisoned(leaf.shape, leaf.dtype, device) for leaf in expected.plain
            if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided]  # fmt: skip
    del made


def _same_again(
    entry: Entry, sample: samples.Sample, device: torch.device, first: list[Any]
) -> None:
    again = call(entry, samples.place(sample, device, entry), device)
    for one, other in zip(first, again, strict=True):
        if isinstance(one, torch.Tensor):
            check.tensor("the same seed again", host.download(other), host.download(one))


def offered(
    entry: Entry, made: Entry, placed: samples.Sample, expected: oracle.Expected,
    dtype: torch.dtype, device: torch.device, waiting: int,
) -> list[Any] | None:  # fmt: skip
    """Returns what `made`, an operator made of that of `entry`, gives for a sample; None where the
    device does not offer it, which is told. So many samples wait for it."""
    try:
        return call(made, placed, device)
    except Exception as error:
        if not missing.lacking(error):
            raise
        check.fact(operator=entry.title, dtype=str(dtype).removeprefix("torch."))
        refused(error, entry, expected, waiting)
        return None


def refused(error: Exception, entry: Entry, expected: oracle.Expected, waiting: int) -> None:
    """A missing operator is a fact and no failure; but it says which one is missing: that which
    PyTorch asked for, not the entry of the database. What waits for it are the checks of so many
    samples."""
    missing.tell(missing.operator(error), waiting * _checks(expected))
