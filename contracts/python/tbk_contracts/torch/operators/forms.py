# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The forms of an operator beside the plain one: in place, and into a tensor that is given.

A backend may have a kernel of its own for each. Those are judged that take an option, which the
schema tells; by samples in which one has another value than when nothing is said.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from tbk_contracts.torch.operators import holding, judge, oracle, samples, table, trial
from tbk_contracts.torch.operators.entries import Entry

MOST, FEW = 4, 2  # samples, each with other options; where nothing is said
Operator = Callable[..., Any]
_OPTIONS = ("bool", "number", "str", "Optional[str]", "Optional[number]", "Optional[bool]", "float",
            "Optional[float]")  # fmt: skip


def overloads(name: str) -> Iterator[Any]:
    """Yields the schemas that an operator has."""
    packet = getattr(torch.ops.aten, name, None)
    for each in packet.overloads() if packet is not None else ():
        yield getattr(packet, each)._schema


def takes_several(schema: Any) -> bool:
    """Returns whether it has more than one argument of tensors beside those that it writes to."""
    return sum("Tensor" in str(one.type) for one in schema.arguments if not one.is_out) > 1


def takes_lists(schema: Any) -> bool:
    """Returns whether an argument is a list of tensors."""
    return any(str(one.type).startswith("List[Tensor") for one in schema.arguments)


def base(entry: Entry) -> str:
    """Returns the name of the operator that an entry is of."""
    return str(entry.info.aten_name or entry.info.name).rpartition(".")[2]


def _options(schema: Any) -> list[Any]:
    """Returns the arguments that may be left away, and say how to compute."""
    return [one for one in schema.arguments if one.has_default_value()
            and not one.is_out and str(one.type) in _OPTIONS]  # fmt: skip


def has_switch(entry: Entry) -> bool:
    """Returns whether something can be turned on or off."""
    return any(str(one.type) == "bool" for schema in overloads(base(entry))
               for one in _options(schema))  # fmt: skip


def _is_judged(entry: Entry) -> bool:
    return entry.kind is not table.Class.STATISTICS and entry.title not in table.UNDEFINED


def _has_in_place(entry: Entry) -> bool:
    name = getattr(entry.info.inplace_variant, "__name__", "")
    return bool(name) and _is_judged(entry) and any(_options(schema) for schema in overloads(name))


def _has_out(entry: Entry) -> bool:
    return bool(entry.info.supports_out) and _is_judged(entry) and any(
        _options(schema) for schema in overloads(base(entry))
        if any(one.is_out for one in schema.arguments)
    )  # fmt: skip


def _in_place(entry: Entry) -> Operator:
    def call(value: Any, *args: Any, **kwargs: Any) -> Any:
        return entry.info.inplace_variant(value.clone(), *args, **kwargs)

    return call


def _spoilt(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    wrong = True if leaf.dtype == torch.bool else 77
    return torch.empty_like(leaf).fill_(wrong)


def _into(entry: Entry) -> Operator:
    def call(*args: Any, **kwargs: Any) -> Any:
        plain = entry.info.op(*args, **kwargs)
        given = tree_map(_spoilt, tuple(plain) if isinstance(plain, tuple) else plain)
        entry.info.op(*args, **kwargs, out=given)
        return given

    return call


@dataclass(frozen=True)
class Form:
    """One of them: which entries have it, and the operator in it, from copies."""

    name: str
    has: Callable[[Entry], bool]
    operator: Callable[[Entry], Operator]


FORMS = (Form("in_place", _has_in_place, _in_place), Form("out", _has_out, _into))


def _said(sample: samples.Sample) -> tuple[tuple[str, str], ...]:
    """Returns the options of a sample, as text."""
    return tuple(sorted((key, repr(value)) for key, value in sample.kwargs.items()
                        if isinstance(value, (bool, int, float, complex, str))))  # fmt: skip


def with_options(entry: Entry, dtype: torch.dtype) -> list[samples.Sample]:
    """Returns some that say something by name, each something else; any, where none does."""
    chosen = list(samples.saying(entry, dtype, _said)) or samples.picked(entry, dtype, FEW)
    step = max(1, len(chosen) // MOST)
    return chosen[::step][:MOST]


def _agrees(other: Entry, sample: samples.Sample, expected: oracle.Expected) -> bool:
    """Returns whether PyTorch's CPU has this form, and gives the same in it: there are forms that
    leave their output as it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = oracle.run(other.info.op, sample)
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False
    return len(made) == len(expected.plain) and all(
        not isinstance(one, torch.Tensor)
        or (one.dtype == mine.dtype and one.shape == mine.shape
            and torch.allclose(one, mine, rtol=1e-3, atol=1e-5, equal_nan=True))
        for one, mine in zip(made, expected.plain, strict=True)
    )  # fmt: skip


def try_form(form: Form, entry: Entry, dtype: torch.dtype, device: torch.device) -> None:
    """Judges the operator in that form, as its plain form is judged."""
    info = copy.copy(entry.info)
    info.op = form.operator(entry)
    other, judged, left = replace(entry, info=info), 0, holding.LeftOut(device)
    chosen = with_options(entry, dtype)
    for index, sample in enumerate(chosen):
        expected = oracle.expect(entry, sample, dtype)
        if expected is None or expected.draws or left.takes(sample, expected):
            continue
        if not _agrees(other, sample, expected):
            continue
        placed = samples.place(sample, device, entry)
        waiting = len(chosen) - index
        got = trial.offered(entry, other, placed, expected, dtype, device, waiting)
        if got is None:
            return
        judge.results(other, sample, got, expected, device, judge.Margin())
        judged += 1
    left.tell(judged, "PyTorch's CPU has no answer in this form to compare with")
