# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""An operator told what its samples seldom say: numbers where tensors stood and numbers exchanged,
each dimension of an operand that has many, an operand of another dtype. PyTorch's CPU says what
comes of it; where it refuses, nothing is asked of a device.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from tbk_contracts.torch import check, host, missing
from tbk_contracts.torch.operators import forms, holding, oracle, rules, samples, table, trial
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.samples import Sample

DIMENSIONS = ("dim", "dim0", "dim1", "start_dim", "end_dim", "axis")
RANK, MANY = 4, 6
DIMS = (0, 1, -2, -1)  # each of them, from either end
DIMS_OF_MANY = (2, -3)  # those that have no name
FURTHER = (2, 3, 2, 3, 2, 3)  # sizes of what is put in front, from behind
OTHERS = (torch.float64, torch.float32, torch.float16, torch.int64, torch.bool)
Numbers = tuple[bool | int | float | complex, ...]
NUMBERS: Numbers = (True, 2, 2.5)
COMPLEX: Numbers = (1 + 2j,)  # of devices that hold such
FINE = 1 + 2.0**-29  # what only float64 tells from 1


def dimensions(entry: Entry) -> dict[str, int]:
    """Returns the arguments that name a dimension: by name, and behind how many of the others."""
    return {one.name: place - 1 for schema in forms.overloads(forms.base(entry))
            for place, one in enumerate(schema.arguments)
            if one.name in DIMENSIONS and place}  # fmt: skip


def several_dimensions(entry: Entry) -> set[str]:
    """Returns those of which an argument may name several at a time."""
    return {one.name for schema in forms.overloads(forms.base(entry)) for one in schema.arguments
            if one.name in DIMENSIONS and "List[int]" in str(one.type)}  # fmt: skip


def told_dimension(sample: Sample, name: str, place: int, dim: int | list[int]) -> Sample | None:
    """Returns the call with another dimension, or a list of them; None where it names none."""
    if isinstance(sample.kwargs.get(name), (int, tuple, list)):
        kwargs = {**sample.kwargs, name: _like(sample.kwargs[name], dim)}
        return replace(sample, kwargs=kwargs)
    if not 0 <= place < len(sample.args) or not isinstance(sample.args[place], (int, tuple, list)):
        return None
    args = list(sample.args)
    args[place] = _like(args[place], dim)
    return replace(sample, args=tuple(args))


def _like(old: Any, dim: int | list[int]) -> Any:
    return dim if isinstance(old, int) or isinstance(dim, list) else type(old)([*old[:-1], dim])


def _with(sample: Sample, changes: dict[int, Any]) -> Sample:
    """Returns the call with some leaves of its arguments, by their place, replaced."""
    leaves, spec = tree_flatten((sample.args, sample.kwargs))
    made = [changes.get(place, leaf) for place, leaf in enumerate(leaves)]
    args, kwargs = tree_unflatten(made, spec)
    return replace(sample, args=args, kwargs=kwargs)


def _rest(sample: Sample) -> list[Any]:
    """Returns the leaves of all arguments but the first."""
    leaves: list[Any] = tree_flatten((sample.args, sample.kwargs))[0]
    return leaves


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (int, float)) and not isinstance(leaf, bool)


def _numbered(sample: Sample) -> Iterator[Sample]:
    """Yields the call with a number in place of each tensor behind the first, and of all."""
    held = {place: leaf.flatten()[leaf.numel() // 2].item()
            for place, leaf in enumerate(_rest(sample))
            if isinstance(leaf, torch.Tensor) and leaf.numel()}  # fmt: skip
    yield from (_with(sample, {place: number}) for place, number in held.items())
    if len(held) > 1:
        yield _with(sample, held)


def _exchanged(sample: Sample) -> Iterator[Sample]:
    """Yields the call with two numbers of one kind exchanged, each pair."""
    leaves = _rest(sample)
    places = [place for place, leaf in enumerate(leaves) if _is_number(leaf)]
    for one, other in itertools.combinations(places, 2):
        if type(leaves[one]) is type(leaves[other]) and leaves[one] != leaves[other]:
            yield _with(sample, {one: leaves[other], other: leaves[one]})


def _has_numbers(sample: Sample) -> bool:
    return any(True for _ in _exchanged(sample))


def _has_two_more(sample: Sample) -> bool:
    return len(sample.tensors()) > 2


def _written(entry: Entry, sample: Sample) -> str:
    """Returns a call as text, with the dtypes and shapes of its tensors."""

    def one(leaf: Any) -> str:
        if isinstance(leaf, (list, tuple)):
            return f"[{', '.join(map(one, leaf))}]"
        if isinstance(leaf, torch.Tensor):
            return f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}"
        return repr(leaf)

    named = (f"{name}={one(value)}" for name, value in sample.kwargs.items())
    return f"{entry.title}({', '.join([*map(one, (sample.value, *sample.args)), *named])})"


def _answer(entry: Entry, sample: Sample, device: torch.device) -> oracle.Expected | None:
    """Returns what the device has to give; None where PyTorch's CPU gives nothing to compare with,
    or the device lacks a dtype for it."""
    plain = rules.answer(entry, sample)
    return None if plain is None or holding.lacks(sample, plain, device) else plain


def _judged(made: rules.Subject, sample: Sample, device: torch.device) -> int:
    """Judges another call of the operator; returns 0 where there is no answer to judge it by."""
    plain = _answer(made.entry, sample, device)
    if plain is None:
        return 0
    other = rules.Subject(made.entry, sample, plain, made.dtype)
    try:
        other.judge(trial.call(made.entry, other.placed(device), device), device)
    except Exception as error:
        if not missing.lacking(error):
            check.note(f"the call: {_written(made.entry, sample)}")
        raise
    return 1


def try_numbers(made: rules.Subject, device: torch.device) -> int:
    """Judges calls with numbers where tensors stood, and with two numbers exchanged."""
    asked = 0
    chosen = rules.subject(made.entry.title, made.dtype, _has_numbers) or made
    for sample in _exchanged(chosen.sample):
        asked += _judged(made, sample, device)
    chosen = rules.subject(made.entry.title, made.dtype, _has_two_more) or made
    for sample in _numbered(chosen.sample):
        for one in (sample, *_exchanged(sample)):
            asked += _judged(made, one, device)
    return asked


def _deepened(entry: Entry, sample: Sample, rank: int) -> Sample:
    """Returns the call with further dimensions in front of each operand that has as many as the
    first; along these lie the same elements, in another order."""
    first = sample.tensors()[0].dim()

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.dim() != first or not first:
            return leaf
        for level, count in enumerate(FURTHER[: max(0, rank - first)], 1):
            leaf = torch.stack([leaf.roll(level * step, -1) for step in range(count)])
        return leaf

    made = sample.map(change)
    return samples.distinct(made) if entry.title in table.DISTINCT else made


def _names_dimension(entry: Entry, sample: Sample) -> bool:
    return sample.tensors()[0].dim() > 0 and any(
        told_dimension(sample, name, place, 0) for name, place in dimensions(entry).items()
    )


def _along(made: rules.Subject, deep: Sample, dims: Sequence[int], device: torch.device) -> int:
    """Judges a call along each of some dimensions, and along two of them where it may be."""
    asked, several = 0, several_dimensions(made.entry)
    for name, place in dimensions(made.entry).items():
        told_dims: list[int | list[int]] = [*dims, *([list(dims[-2:])] if name in several else [])]
        for dim in told_dims:
            told = told_dimension(deep, name, place, dim)
            asked += _judged(made, told, device) if told is not None else 0
    return asked


def try_dimensions(made: rules.Subject, device: torch.device) -> int:
    """Judges the operator along each dimension of an operand that has four or more."""
    entry = made.entry
    chosen = rules.subject(entry.title, made.dtype, partial(_names_dimension, entry))
    if chosen is None:
        return 0
    return _along(made, _deepened(entry, chosen.sample, RANK), DIMS, device)


def _is_of_one_rank(sample: Sample) -> bool:
    """Tells whether all operands grow together: some of PyTorch's own kernels read beyond those
    that belong to one dimension, as statistics do to channels, where that has become longer."""
    held = sample.tensors()
    rank = held[0].dim()
    return rank > 0 and all(one.dim() in (0, rank) or one.numel() == 1
                            for one in held if one.is_floating_point())  # fmt: skip


def _turned(leaf: Any) -> Any:
    """Returns a tensor with the same elements, whose first dimension is the dense one."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    order = tuple(reversed(range(leaf.dim())))
    return leaf.permute(order).contiguous().permute(order)


def try_ranks(made: rules.Subject, device: torch.device) -> int:
    """Judges the operator on operands of six dimensions, dense and turned round in memory, and
    along dimensions that are neither the first nor the last ones."""
    entry, asked = made.entry, 0
    chosen = rules.subject(entry.title, made.dtype, _is_of_one_rank)
    if chosen is None:
        return 0
    deep = _deepened(entry, chosen.sample, MANY)
    for sample in (deep, deep.map(_turned)):
        asked += _judged(made, sample, device)
    named = rules.subject(entry.title, made.dtype, partial(_names_dimension, entry))
    if named is not None and _is_of_one_rank(named.sample):
        asked += _along(made, _deepened(entry, named.sample, MANY), DIMS_OF_MANY, device)
    return asked


def _as(dtype: torch.dtype, one: torch.Tensor) -> torch.Tensor:
    """Returns it as another dtype; in float64 with digits that no other one has."""
    made = one.to(dtype)
    return made * FINE if dtype == torch.float64 and one.is_floating_point() else made


def _whole(one: torch.Tensor) -> torch.Tensor:
    return one.to(torch.int64)


def _of_other_dtypes(sample: Sample, numbers: Numbers) -> Iterator[tuple[str, Sample]]:
    """Yields the call with each of its tensors of each other dtype, as it is and of no dimensions,
    and with each of some numbers in the place of each but the first."""
    for place, one in enumerate(sample.tensors()):
        for dtype in OTHERS:
            if dtype != one.dtype:
                yield f"{place} of {dtype}", rules.changed(sample, place, partial(_as, dtype))
                yield (f"{place} of {dtype}, of no dimensions",
                       rules.changed(sample, place, lambda x: x.flatten()[0].to(dtype)))  # noqa: B023  # fmt: skip
        if one.dim() and one.is_floating_point():
            wide = sample.map(lambda x: _as(torch.float64, x) if isinstance(x, torch.Tensor) else x)
            yield f"{place} of int64, others of float64", rules.changed(wide, place, _whole)
    for place, leaf in enumerate(_rest(sample)):
        if isinstance(leaf, torch.Tensor):
            for number in numbers:
                yield f"{place + 1} being {number}", _with(sample, {place: number})


def _has_two_with_dimensions(sample: Sample) -> bool:
    return sum(one.dim() > 0 for one in sample.tensors()) > 1


def try_dtypes(made: rules.Subject, device: torch.device) -> int:
    """Judges calls with operands of two dtypes. Where the operator is not of two elements, a device
    may refuse what PyTorch's CPU takes. Raises what the device says that it lacks, if it answers
    nothing."""
    asked, entry, lack = 0, made.entry, None
    may_refuse = type(entry.info).__name__ != "BinaryUfuncInfo"
    chosen = rules.subject(entry.title, made.dtype, _has_two_with_dimensions) or made
    numbers = NUMBERS + (COMPLEX if holding.holds(torch.complex64, device) else ())
    for what, sample in _of_other_dtypes(chosen.sample, numbers):
        plain = _answer(entry, sample, device)
        if plain is None:
            continue
        placed = samples.place(sample, device, entry)
        got = rules.outcome(partial(trial.call, entry, placed, device))
        if isinstance(got, Exception):
            lack = got if missing.lacking(got) else lack
            if lack is not got and not may_refuse:
                raise got
            continue
        check.equal(f"dtypes and shapes of {entry.title}, operand {what}",
                    _kinds(got), _kinds(plain.plain))  # fmt: skip
        _compare(f"{entry.title}, operand {what}", entry, sample, got, plain.plain)
        asked += 1
    if lack is not None and not asked:
        raise lack
    return asked


def _in_one_dtype(entry: Entry, sample: Sample, plain: list[Any]) -> list[Any]:
    """Returns the results where all operands, or those that are rounded numbers, have the dtype of
    the first one of them; none where PyTorch's CPU does not take that."""
    dtype = next((one.dtype for one in plain if oracle.is_inexact(one)), None)
    if dtype is None or all(one.dtype == dtype for one in sample.tensors()):
        return []
    for change in (_to, _to_if_inexact):
        told = rules.answer(entry, sample.map(partial(change, dtype)))
        if told is not None and _kinds(told.plain) == _kinds(plain):
            return told.plain
    return []


def _to(dtype: torch.dtype, leaf: Any) -> Any:
    return leaf.to(dtype) if isinstance(leaf, torch.Tensor) else leaf


def _to_if_inexact(dtype: torch.dtype, leaf: Any) -> Any:
    return _to(dtype, leaf) if oracle.is_inexact(leaf) else leaf


def _are_close(mine: Any, theirs: Any) -> bool:
    """Tells whether two results agree in more digits than a narrower dtype has."""
    if not isinstance(mine, torch.Tensor) or not oracle.is_inexact(theirs):
        return True
    bound = oracle.leeway(theirs.dtype) * torch.finfo(theirs.dtype).eps
    finite = theirs[theirs.isfinite()].abs()
    near = bound * float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(host.download(mine), theirs, rtol=bound, atol=near, equal_nan=True)


def _compare(what: str, entry: Entry, sample: Sample, got: list[Any], plain: list[Any]) -> None:
    """Checks values where PyTorch's CPU takes all operands to one dtype before it computes."""
    off = [(mine, theirs) for mine, theirs in zip(got, plain, strict=True)
           if not _are_close(mine, theirs)]  # fmt: skip
    told = _in_one_dtype(entry, sample, plain) if off else []
    if not told or not all(map(_are_close, told, plain)):
        return
    for mine, theirs in off:
        check.that(f"the values of {what}", False,
                   expected=check.shown(theirs), seen=check.shown(mine))  # fmt: skip


def _kinds(leaves: list[Any]) -> list[tuple[torch.dtype, tuple[int, ...]]]:
    return [(one.dtype, tuple(one.shape)) for one in leaves if isinstance(one, torch.Tensor)]


def has_dimensions(entry: Entry) -> bool:
    """Returns whether a dimension can be named, and values be judged."""
    return rules.is_judged(entry) and bool(dimensions(entry))


def has_several(entry: Entry) -> bool:
    """Returns whether the operator takes several tensors, as far as the schema tells."""
    schemas = list(forms.overloads(forms.base(entry)))
    return rules.is_judged(entry) and (
        not schemas or any(forms.takes_several(one) or forms.takes_lists(one) for one in schemas)
    )
