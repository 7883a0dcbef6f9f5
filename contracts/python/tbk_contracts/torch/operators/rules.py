# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Rules that hold of all operators, tried on each entry that has the form: one small sample, in one
dtype. PyTorch's CPU says what is raised; where it takes a call that a rule forbids, nothing is
asked of a device.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch
import yaml
from torch.utils._pytree import tree_map

from tbk_contracts.torch import check, missing
from tbk_contracts.torch.case import Tier
from tbk_contracts.torch.operators import holding, judge, layouts, oracle, samples, table, trial
from tbk_contracts.torch.operators.entries import COMMON, Entry, entries
from tbk_contracts.torch.operators.samples import Sample

_SILENT: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("silent.yml").read_text(encoding="utf-8")
)
LOOKED_AT, LARGEST = 16, 2000  # samples; elements of all tensors of one
CPU = torch.device("cpu")
Call = Callable[[], Any]
Change = Callable[[torch.Tensor], torch.Tensor]
Has = Callable[[Sample], bool]


@dataclass(frozen=True)
class Subject:
    """An entry, one call of it, and what that gives."""

    entry: Entry
    sample: Sample
    plain: oracle.Expected
    dtype: torch.dtype

    @property
    def results(self) -> list[torch.Tensor]:
        return samples.tensors(self.plain.plain)

    @cached_property
    def expected(self) -> oracle.Expected:
        """The answer with its bounds, which take most of the time."""
        return oracle.expect(self.entry, self.sample, self.dtype) or self.plain

    def placed(self, device: torch.device) -> Sample:
        return samples.place(self.sample, device, self.entry)

    def judge(self, result: Any, device: torch.device) -> None:
        """Compares the result of any form of the call with that of the plain one."""
        leaves = oracle.leaves(result)
        judge.results(self.entry, self.sample, leaves, self.expected, device, judge.Margin())

    def agrees(self, result: Any) -> bool:
        """Returns whether PyTorch's CPU gives the same in another form: some leave what they are
        given as it was."""
        made = oracle.leaves(result)
        return len(made) == len(self.plain.plain) and all(
            not isinstance(mine, torch.Tensor)
            or (one.dtype == mine.dtype and one.shape == mine.shape
                and torch.allclose(one, mine, rtol=1e-3, atol=1e-5, equal_nan=True))
            for one, mine in zip(made, self.plain.plain, strict=True)
        )  # fmt: skip


def is_told(entry: Entry, rule: str) -> bool:
    """Returns whether PyTorch's CPU says what a rule asks of an entry: else there is no test."""
    return entry.title not in _SILENT[rule]


def dtype_of(entry: Entry) -> str:
    return "float32" if "float32" in entry.dtypes else entry.dtypes[0]


def is_judged(entry: Entry) -> bool:
    """Returns whether the values are known, so that a form of the call can be compared."""
    return entry.kind is not table.Class.STATISTICS and entry.title not in table.UNDEFINED


def _order(sample: Sample) -> tuple[bool, bool, bool, int]:
    """Tells which sample is the most useful: of elements that differ, and two dimensions or more,
    none of them 1; small."""
    held = sample.tensors()
    uniform = held[0].numel() > 1 and bool((held[0] == held[0].flatten()[0]).all())
    flat = not any(one.dim() > 1 and math.prod(one.shape[-2:]) > max(one.shape[-2:])
                   for one in held)  # fmt: skip
    scalar = all(one.dim() == 0 for one in held)
    return scalar, uniform, flat, sum(one.numel() for one in held)


@cache
def _small(title: str, dtype: torch.dtype) -> tuple[Sample, ...]:
    """Returns the samples of few elements, and not of none: the most useful first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(itertools.islice(samples.all_of(entries()[title], dtype), LOOKED_AT))
    held = [one for one in found if one.tensors() and all(
        0 < each.numel() <= LARGEST and each.layout == torch.strided for each in one.tensors()
    )]  # fmt: skip
    return tuple(sorted(held, key=_order))


def answer(entry: Entry, sample: Sample) -> oracle.Expected | None:
    """Returns what PyTorch's CPU gives; None where that is drawn, or nothing to compare with."""
    plain = oracle.plainly(entry, sample)
    usable = plain is not None and not plain.draws and samples.tensors(plain.plain)
    return plain if usable else None


@cache
def subject(title: str, dtype: torch.dtype, has: Has | None = None) -> Subject | None:
    """Returns the smallest useful call that PyTorch's CPU answers and that draws nothing; of those
    that `has` says yes to, if it is given."""
    entry = entries()[title]
    held = [one for one in _small(title, dtype) if has is None or has(one)]
    for one in held[:3]:
        sample = samples.distinct(one) if entry.title in table.DISTINCT else one
        plain = answer(entry, sample)
        if plain is not None:
            return Subject(entry, sample, plain, dtype)
    return None


def outcome(call: Call) -> Any:
    """Returns what the call gives on the host, or the exception that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:  # of whatever type: it is what is asked for
            return error


def on_device(call: Call, device: torch.device) -> Any:
    with warnings.catch_warnings(), device:
        warnings.simplefilter("ignore")
        return call()


def refuses(what: str, on_host: Any, call: Call, device: torch.device) -> bool:
    """Checks that the device refuses what the host has refused, which `on_host` tells."""
    if not isinstance(on_host, (RuntimeError, IndexError, ValueError, TypeError)):
        return False
    if isinstance(on_host, NotImplementedError) or missing.lacking(on_host):
        return False
    # Of which type it is, is of a clause of its own.
    wanted = tuple(dict.fromkeys((RuntimeError, type(on_host))))
    check.raises(what, wanted, lambda: on_device(call, device))
    return True


def in_flat(tensor: torch.Tensor, sizes: tuple[int, ...], offset: int) -> torch.Tensor:
    """Returns a dense view of that shape into memory that is given."""
    return tensor[offset : offset + math.prod(sizes)].view(sizes)


def into(entry: Entry, placed: Sample, given: Any) -> Any:
    """Calls the operator with out=, and returns what was given."""
    entry.info.op(placed.value, *placed.args, **placed.kwargs, out=given)
    return given


def given(made: Subject, device: torch.device, make: Change) -> Any:
    """Returns an out= of as many tensors as the operator has results, each made of one, poisoned,
    on `device`."""
    return as_out(made, [layouts.put(make(poisoned(one)), device) for one in made.results])


def as_out(made: Subject, found: list[torch.Tensor]) -> Any:
    """Returns tensors as out= takes them: those of several results together, one by itself."""
    return tuple(found) if len(made.plain.plain) > 1 else found[0]


def poisoned(one: torch.Tensor) -> torch.Tensor:
    wrong = True if one.dtype == torch.bool else 77
    return torch.empty(one.shape, dtype=one.dtype).fill_(wrong)


def tier_of(entry: Entry, is_quick: bool = False) -> Tier:
    """Returns the tier of a test of one entry: what nearly every program uses is quick."""
    return "quick" if is_quick or entry.title in COMMON else "thorough"


def has_out(entry: Entry) -> bool:
    return bool(entry.info.supports_out) and is_judged(entry)


def has_in_place(entry: Entry) -> bool:
    return entry.info.inplace_variant is not None and is_judged(entry)


def in_place(entry: Entry, placed: Sample) -> Any:
    return entry.info.inplace_variant(placed.value, *placed.args, **placed.kwargs)


def changed(sample: Sample, index: int, change: Change) -> Sample:
    """Returns the same with one of its tensors changed."""
    order = itertools.count()
    value, args, kwargs = tree_map(
        lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) and next(order) == index
        else leaf, (sample.value, sample.args, sample.kwargs))  # fmt: skip
    return Sample(sample.number, sample.variant, value, args, kwargs, sample.outputs)


Try = Callable[[Subject, torch.device], int]
"""Tries a rule; returns how often it had anything to ask."""


def try_rule(attempt: Try, entry: Entry, dtype: torch.dtype, device: torch.device) -> None:
    """Tries a rule on one entry; tells what the device lacks, and where the CPU does not answer."""
    made, left, asked = subject(entry.title, dtype), holding.LeftOut(device), 0
    if made is not None and not left.takes(made.sample, made.plain):
        try:
            asked = attempt(made, device)
        except Exception as error:
            if not missing.lacking(error):
                raise
            check.fact(operator=entry.title, dtype=str(dtype).removeprefix("torch."))
            trial.refused(error, entry, made.plain, 1)
            return
    left.tell(asked, "there is nothing of this form that both PyTorch's CPU and the device take")
