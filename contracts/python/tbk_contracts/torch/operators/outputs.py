# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tries what is written to: by out= of any size, dtype and layout, in place, and what overlaps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.operators import layouts, rules
from tbk_contracts.torch.operators.rules import CPU, Change, Subject
from tbk_contracts.torch.operators.samples import Sample


def _same(one: torch.Tensor) -> torch.Tensor:
    return one


def _empty(one: torch.Tensor) -> torch.Tensor:
    return one.new_empty((0,))


def _larger(one: torch.Tensor) -> torch.Tensor:
    return rules.poisoned(one.new_empty((one.numel() + 5,)))


def _smaller(one: torch.Tensor) -> torch.Tensor:
    return rules.poisoned(one.new_empty((max(one.numel() - 1, 0),)))


SIZES: dict[str, Change] = {
    "of the right shape": _same, "empty": _empty, "larger": _larger, "smaller": _smaller,
}  # fmt: skip
OTHERS = (torch.int64, torch.float32, torch.bool)


def try_out(made: Subject, device: torch.device) -> int:
    """An out= of any size is made to fit; one whose dtype cannot take the result is refused."""
    asked = 0
    for change in SIZES.values():
        seen = rules.outcome(lambda change=change: rules.into(  # type: ignore[misc]
            made.entry, made.placed(CPU), rules.given(made, CPU, change)))  # fmt: skip
        if isinstance(seen, Exception) or not made.agrees(seen):
            continue
        out = rules.given(made, device, change)
        pointers = _pointers(out)
        rules.on_device(lambda out=out: rules.into(  # type: ignore[misc]
            made.entry, made.placed(device), out), device)  # fmt: skip
        made.judge(out, device)
        if change is _same:
            check.equal("memory of out=", _pointers(out), pointers)
        asked += 1
    return asked + sum(_refuses(made, device, dtype) for dtype in OTHERS)


def _pointers(out: Any) -> list[int]:
    return [one.data_ptr() for one in (out if isinstance(out, tuple) else (out,))]


def _refuses(made: Subject, device: torch.device, dtype: torch.dtype) -> bool:
    first = made.results[0].dtype
    if torch.can_cast(first, dtype):
        return False

    def call(at: torch.device) -> Any:
        out = rules.given(made, at, lambda one: one.to(dtype) if one.dtype == first else one)
        return rules.into(made.entry, made.placed(at), out)

    seen = rules.outcome(lambda: call(CPU))
    return rules.refuses(f"{made.entry.title} with out= of {dtype}", seen,
                         lambda: call(device), device)  # fmt: skip


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[index + 1 :]) for index in range(len(shape)))


def _strides(shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...], int]]:
    if len(shape) > 1:
        turned = _dense((*shape[:-2], shape[-1], shape[-2]))
        yield "transposed", (*turned[:-2], turned[-1], turned[-2]), 0
        yield "reversed", _dense(shape[::-1])[::-1], 0
    yield "every second", tuple(2 * step for step in _dense(shape)), 1
    yield "offset", _dense(shape), 3


def try_strided_out(made: Subject, device: torch.device) -> int:
    """An out= that is strided is written, its strides stay, and so does what lies between."""
    asked, shape = 0, tuple(made.results[0].shape)
    if 0 in shape:
        return 0
    for index, (name, _, _) in enumerate(_strides(shape)):

        def call(at: torch.device, index: int = index) -> tuple[Any, list[torch.Tensor], bool]:
            bases, outs = [], []
            for one in made.results:
                found = list(_strides(tuple(one.shape)))
                _, steps, offset = found[min(index, len(found) - 1)]
                length = offset + 1 + 2 * one.numel()
                base = rules.poisoned(one.new_empty((length,))).to(at)
                bases.append(base)
                outs.append(base.as_strided(one.shape, steps, offset))
            given = rules.as_out(made, outs)
            before = [one.stride() for one in outs]
            rules.into(made.entry, made.placed(at), given)
            kept = [one.stride() for one in outs] == before
            return given, [_between(*pair) for pair in zip(bases, outs, strict=True)], kept

        seen = rules.outcome(lambda call=call: call(CPU))  # type: ignore[misc]
        if isinstance(seen, Exception) or not made.agrees(seen[0]) or not seen[2]:
            continue
        given, between, kept = rules.on_device(lambda call=call: call(device), device)  # type: ignore[misc]
        check.equal(f"an out= that is {name} keeps its strides", kept, True)
        made.judge(given, device)
        for mine, theirs in zip(between, seen[1], strict=True):
            check.tensor(f"memory beside an out= that is {name}", mine, theirs)
        asked += 1
    return asked


def _between(base: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Returns on the host what lies in the memory of `out` and is no element of it."""
    seen = host.download(base)
    seen.as_strided(out.shape, out.stride(), out.storage_offset()).zero_()
    return seen


def _expand(one: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the same shape whose elements share memory, as far as it can."""
    at = next((index for index, size in enumerate(one.shape) if size > 1), None)
    return one if at is None else one.narrow(at, 0, 1).expand(one.shape)


def try_expanded(made: Subject, device: torch.device) -> int:
    """Tries what overlaps itself, which is written neither in place nor as out=."""
    asked, entry = 0, made.entry

    def in_place(at: torch.device) -> Any:
        placed = made.placed(at)
        return rules.in_place(entry, rules.changed(placed, 0, _expand))

    def out(at: torch.device) -> Any:
        given = rules.as_out(made, [_expand(rules.poisoned(one).to(at)) for one in made.results])
        return rules.into(entry, made.placed(at), given)

    forms = {"in place": (rules.has_in_place(entry) and isinstance(made.sample.value, torch.Tensor),
                          in_place), "with out=": (rules.has_out(entry), out)}  # fmt: skip
    for name, (has, call) in forms.items():
        seen = rules.outcome(partial(call, CPU)) if has else None
        what = f"{entry.title} {name} of what is expanded"
        asked += rules.refuses(what, seen, partial(call, device), device)
    return asked


def _sharing(
    made: Subject, index: int, first: int, second: int, shape: tuple[int, ...], at: torch.device
) -> tuple[Sample, torch.Tensor]:
    """Returns the call with one operand in memory that another tensor of that shape shares; they
    begin at these offsets."""
    operand = made.sample.tensors()[index]
    length = max(first + operand.numel(), second + math.prod(shape))
    flat = rules.poisoned(operand.new_empty((length,)))
    rules.in_flat(flat, tuple(operand.shape), first).copy_(operand.detach())
    base = layouts.put(flat, at)
    put = rules.in_flat(base, tuple(operand.shape), first)
    return rules.changed(made.placed(at), index, lambda _: put), rules.in_flat(base, shape, second)


def try_overlap(made: Subject, device: torch.device) -> int:
    """An out=, and what is changed in place, may be an operand, but no part of one."""
    asked, entry = 0, made.entry
    has_out = len(made.plain.plain) == 1 and rules.has_out(entry)
    has_place = rules.has_in_place(entry) and isinstance(made.sample.value, torch.Tensor)
    for index, operand in enumerate(made.sample.tensors()):
        if operand.numel() < 2:
            continue
        if has_out and operand.dtype == made.results[0].dtype:
            asked += _out_overlaps(made, index, device)
        if has_place and index and operand.dtype == made.sample.value.dtype:
            asked += _place_overlaps(made, index, device)
    return asked


PLACES = {"begins before": (0, 1), "begins behind": (1, 0), "is": (0, 0)}
_OF_ELEMENTS = ("UnaryUfuncInfo", "BinaryUfuncInfo")


def _out_overlaps(made: Subject, index: int, device: torch.device) -> int:
    asked, shape = 0, tuple(made.results[0].shape)
    is_exact = (type(made.entry.info).__name__ in _OF_ELEMENTS
                and made.sample.tensors()[index].shape == shape)  # fmt: skip
    for name, (first, second) in PLACES.items():

        def call(at: torch.device, first: int = first, second: int = second) -> Any:
            placed, out = _sharing(made, index, first, second, shape, at)
            return rules.into(made.entry, placed, out)

        seen = rules.outcome(partial(call, CPU))
        what = f"{made.entry.title} with an operand that {name} its out="
        if name != "is":
            asked += rules.refuses(what, seen, partial(call, device), device)
        elif is_exact and not isinstance(seen, Exception) and made.agrees(seen):
            made.judge(rules.on_device(partial(call, device), device), device)
            asked += 1
    return asked


def _place_overlaps(made: Subject, index: int, device: torch.device) -> int:
    asked, shape = 0, tuple(made.sample.value.shape)
    for name, (first, second) in list(PLACES.items())[:2]:

        def call(at: torch.device, first: int = first, second: int = second) -> Any:
            placed, changed = _sharing(made, index, first, second, shape, at)
            return rules.in_place(made.entry, rules.changed(placed, 0, lambda _: changed))

        seen = rules.outcome(partial(call, CPU))
        what = f"{made.entry.title} in place, with an operand that {name} it"
        asked += rules.refuses(what, seen, partial(call, device), device)
    return asked
