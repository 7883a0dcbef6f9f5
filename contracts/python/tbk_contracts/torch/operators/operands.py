# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tries what is read: operands of any layout, and operands of the host, which are refused."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from tbk_contracts.torch import check
from tbk_contracts.torch.operators import forms, layouts, oracle, rules, table
from tbk_contracts.torch.operators.entries import Entry
from tbk_contracts.torch.operators.rules import CPU, Change, Subject
from tbk_contracts.torch.operators.samples import Sample


def _transposed(one: torch.Tensor) -> torch.Tensor:
    return one.mT.contiguous().mT if one.dim() > 1 else one


def _first_last(one: torch.Tensor) -> torch.Tensor:
    return one.movedim(0, -1).contiguous().movedim(-1, 0) if one.dim() > 2 else one


def _with_gaps(one: torch.Tensor) -> torch.Tensor:
    return torch.stack([one, rules.poisoned(one)], -1).select(-1, 0)


def _offset(one: torch.Tensor) -> torch.Tensor:
    flat = rules.poisoned(one.new_empty((one.numel() + 3,)))
    return rules.in_flat(flat, tuple(one.shape), 3).copy_(one)


def _expanded(one: torch.Tensor) -> torch.Tensor:
    return one[:1].expand(one.shape) if one.dim() else one


LAYOUTS: dict[str, Change] = {"transposed": _transposed, "first last": _first_last,
                              "with gaps": _with_gaps, "offset": _offset}  # fmt: skip


def has_layouts(entry: Entry) -> bool:
    return rules.is_judged(entry) and entry.title not in table.BY_STRIDE


def _laid(sample: Sample, change: Change, name: str) -> Sample:
    def lay(leaf: Any) -> Any:
        plain = isinstance(leaf, torch.Tensor) and not (leaf.is_conj() or leaf.is_neg())
        return change(leaf.detach().contiguous()) if plain else leaf

    return sample.map(lay, name)


def _put(made: Subject, sample: Sample, device: torch.device) -> Sample:
    stay = CPU if made.entry.title in table.ONLY_INPUT_MOVES else device

    def put(at: torch.device, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return layouts.put(leaf.resolve_conj().resolve_neg(), at)
        if isinstance(leaf, torch.device):
            return at
        return str(at) if isinstance(leaf, str) and leaf == "cpu" else leaf

    return Sample(
        sample.number, sample.variant, tree_map(partial(put, device), sample.value),
        tree_map(partial(put, stay), sample.args), tree_map(partial(put, stay), sample.kwargs),
    )  # fmt: skip


def try_layouts(made: Subject, device: torch.device) -> int:
    """The values are those of operands that are contiguous."""
    asked, entry = 0, made.entry
    for name, change in LAYOUTS.items():
        sample = _laid(made.sample, change, name)
        if name == "first last" and all(one.is_contiguous() for one in sample.tensors()):
            continue
        seen = rules.outcome(lambda sample=sample: _plain(entry, sample))  # type: ignore[misc]
        if isinstance(seen, Exception) or not made.agrees(seen):
            continue
        placed = _put(made, sample, device)
        made.judge(rules.on_device(partial(_plain, entry, placed), device), device)
        asked += 1
    return asked + _try_expanded(made, device) + _try_flat(made, device)


def _try_flat(made: Subject, device: torch.device) -> int:
    """Tries matrices, transposed, where what was picked has one dimension more."""
    if made.entry.kind is table.Class.BOUND:  # few rows, whose variance may be next to nothing
        return 0
    if not any(one.dim() == 3 for one in made.sample.tensors()):
        return 0
    flat = made.sample.map(
        lambda leaf: leaf[0] if isinstance(leaf, torch.Tensor) and leaf.dim() == 3 else leaf
    )
    plain = oracle.plainly(made.entry, flat)
    if plain is None:
        return 0
    other = Subject(made.entry, flat, plain, made.dtype)
    sample = _laid(flat, _transposed, "transposed")
    seen = rules.outcome(lambda: _plain(made.entry, sample))
    if isinstance(seen, Exception) or not other.agrees(seen):
        return 0
    placed = _put(other, sample, device)
    other.judge(rules.on_device(partial(_plain, made.entry, placed), device), device)
    return 1


def _try_expanded(made: Subject, device: torch.device) -> int:
    entry, dtype = made.entry, made.dtype
    sample = _laid(made.sample, _expanded, "expanded")
    of_rows = type(entry.info).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo", "ReductionOpInfo")
    ill = entry.kind is table.Class.BOUND and not of_rows  # equal rows, whose variance is none
    if ill or entry.title in table.DISTINCT | table.OF_EQUALS:
        return 0
    plain = oracle.plainly(entry, _laid(sample, torch.clone, "expanded"))
    if plain is None or isinstance(rules.outcome(lambda: _plain(entry, sample)), Exception):
        return 0
    other = Subject(entry, sample, plain, dtype)
    other.judge(rules.on_device(partial(_plain, entry, _put(made, sample, device)), device), device)
    return 1


def _plain(entry: Entry, placed: Sample) -> Any:
    return entry.info.op(placed.value, *placed.args, **placed.kwargs)


MISMATCH = re.compile(r"same device|two different devices")


# They copy one operand into a part of another, or index with it, which takes tensors of the host.
_COPIES = frozenset({"as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter",
                     "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"})  # fmt: skip


def has_operands(entry: Entry) -> bool:
    """Returns whether there may be operands of two devices, as far as the schema tells."""
    if entry.title in table.ONLY_INPUT_MOVES | _COPIES:
        return False
    schemas = list(forms.overloads(forms.base(entry)))
    return not schemas or rules.has_out(entry) or any(
        forms.takes_several(schema)
        or any("List[" in str(one.type) and "Tensor" in str(one.type) for one in schema.arguments)
        for schema in schemas
    )  # fmt: skip


@contextmanager
def _without_memory() -> Iterator[None]:
    """Tensors that are made inside have a device and no memory; that one is refused is not told."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before, log.disabled = log.disabled, True
    try:
        with FakeTensorMode():
            yield
    finally:
        log.disabled = before


def _fake(sample: Sample, device: torch.device, on_host: int) -> Sample:
    """Returns tensors without memory, one of them of the host."""
    found = sample
    for index in range(len(sample.tensors())):
        at = CPU if index == on_host else device
        found = rules.changed(found, index, lambda one, at=at: torch.empty_strided(  # type: ignore[misc]
            one.shape, one.stride(), dtype=one.dtype, device=at))  # fmt: skip
    return found


def _forms(made: Subject) -> Iterator[tuple[str, Callable[[Sample], Any]]]:
    yield "", partial(_plain, made.entry)
    if rules.has_in_place(made.entry):
        yield " in place", partial(rules.in_place, made.entry)


def try_host(made: Subject, device: torch.device) -> int:
    """Each operand in turn is of the host. PyTorch's own tensors without memory say whether the
    operator is one that takes such an operand, as an index."""
    asked, held = 0, made.sample.tensors()
    if len(held) < 2:
        return _try_out(made, device)
    for name, call in _forms(made):
        for index in [index for index, one in enumerate(held) if one.dim()]:
            with _without_memory():
                faked = _fake(made.sample, device, index)
                seen = rules.outcome(lambda call=call, faked=faked: call(faked))  # type: ignore[misc]
            if not isinstance(seen, RuntimeError) or not MISMATCH.search(str(seen)):
                continue
            placed = rules.changed(made.placed(device), index, lambda one: one.cpu())
            check.raises(f"{made.entry.title}{name} with an operand of the host", RuntimeError,
                         lambda call=call, placed=placed: rules.on_device(  # type: ignore[misc]
                             lambda: call(placed), device))  # fmt: skip
            asked += 1
    return asked + _try_out(made, device)


def _try_out(made: Subject, device: torch.device) -> int:
    """An out= of the host is refused, where tensors without memory refuse it."""
    if not rules.has_out(made.entry):
        return 0
    with _without_memory():
        faked = _fake(made.sample, device, -1)
        given = rules.as_out(
            made, [torch.empty(one.shape, dtype=one.dtype) for one in made.results]
        )
        seen = rules.outcome(lambda: rules.into(made.entry, faked, given))
    if not isinstance(seen, RuntimeError) or not MISMATCH.search(str(seen)):
        return 0
    theirs = rules.given(made, CPU, lambda one: one)
    check.raises(f"{made.entry.title} with out= of the host", RuntimeError, lambda: rules.on_device(
        lambda: rules.into(made.entry, made.placed(device), theirs), device))  # fmt: skip
    return 1
