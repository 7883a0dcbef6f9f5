# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies, fills and operators, each over its dimensions: dtypes with their extremes, sizes,
layouts, aliases, scalars, and where and behind what they run. PyTorch's CPU is the oracle.

Only what has one right answer is asked for: one rounding or none, and no number out of range.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import DTYPES, clause
from tbk_contracts.torch.extremes import (
    ALL_SIZES,
    BEYOND,
    FLOATING,
    LARGEST,
    LAYOUTS,
    RANKS,
    WHOLE,
    Operand,
    dtype_of,
    edge,
    fail,
    needs,
    place,
    rank_fits,
    slow,
    values,
    where,
    where_it_fits,
)
from tbk_contracts.torch.operators import subnormal
from tbk_contracts.torch.pairs import Case, each_case, line

WRITTEN = LAYOUTS[:-1]
WAYS = ("upload", "download", "within")
"""Each is code of its own for each dtype and layout, so a case goes all of them."""
KINDS = ("extreme", "ordinary")
PLACES = {
    "stream": ("current", "other"), "thread": ("main", "other"), "pending": ("nothing", "work"),
    "device": ("first", "second"), "state": ("fresh", "after_errors"),
}  # fmt: skip


def _same(case: Case, what: str, operand: Operand) -> None:
    """The whole base: what lies between the elements of a view stays as it was."""
    check.tensor(f"{what}, {line(case)}", host.download(operand.placed), operand.base)


# ------------------------------------------------------------------------------------- copies ---


def _copies_fit(case: Case) -> bool:
    # A blocking copy of pageable memory is what the other cases are; it may wait, not be wrong.
    return rank_fits(case) and not (
        case.get("times") == "300" and case.get("size") not in (None, "few", "thousand")
    )


@each_case(
    {"dtype": DTYPES, "size": ALL_SIZES, "from_layout": LAYOUTS, "to_layout": WRITTEN,
     "host": ("pageable", "pinned"), "blocking": ("yes", "no"), "times": ("1", "300"),
     "rank": RANKS, "values": KINDS, **PLACES},
    _copies_fit, needs=needs, slow=slow, quick=16,
)  # fmt: skip
@clause("CPY-508")
@where_it_fits
def test_copies(device: torch.device, case: Case) -> None:
    device = place(case, device)
    for way in WAYS:
        _copy(case, device, way)


def _copy(case: Case, device: torch.device, way: str) -> None:
    source = Operand(case, device, name="from_layout")
    target = Operand(case, device, name="to_layout")
    pinned = case["host"] == "pinned"
    # The values come behind what is pending, so that a copy that is too early shows.
    latest = source.placed if case["size"] == LARGEST else host.upload(source.base, device)
    if latest is not source.placed:
        source.placed.copy_(source.base == 0)

    def copy() -> torch.Tensor:
        wait = case["blocking"] == "yes"
        if way != "upload":
            source.placed.copy_(latest)
        if way == "within":
            target.there.copy_(source.there, non_blocking=not wait)
            return target.there
        if way == "upload":
            base = source.here.contiguous().pin_memory() if pinned else source.base.clone()
            target.there.copy_(base if pinned else source.view(base), non_blocking=not wait)
            if wait:
                base.copy_(base == 0)  # as the caller may
            return base  # which lives until the copy has read it
        got = torch.empty(source.here.shape, dtype=source.here.dtype, pin_memory=pinned)
        got.copy_(source.here == 0)
        got.copy_(source.there, non_blocking=not wait)
        if not wait and device.type != "cpu":
            torch.accelerator.synchronize(device)
        return got.clone()  # at once: the stream is not waited for before that

    expected = source.here.clone()
    target.here.copy_(source.here)
    for _ in range(int(case["times"])):
        got = where(case, device, copy)
        if way == "download":
            check.tensor(f"a copy (download), {line(case)}", got, expected)
            continue
        if device.type != "cpu":
            torch.accelerator.synchronize(device)
        _same(case, f"a copy ({way})", target)  # each time: the next one would cover a wrong one


def _converts(case: Case) -> bool:
    """Returns whether the case is asked for; what a complex number is as a real one is not."""
    start, end = case.get("from", "bool"), case.get("to", "complex64")
    return rank_fits(case) and (not start.startswith("complex") or end.startswith("complex"))


def _kinds(case: Case) -> tuple[str, ...]:
    """Returns which values each conversion is tried with, as both dtypes say what can be lost.
    A float has no defined value in an integer that can't hold it."""
    if case["from"].startswith("complex"):
        return ("extreme", "between")
    held = case["from"] not in FLOATING or case["to"] not in WHOLE
    return ("extreme", "between", "fractions") if held else ("fractions",)


@each_case(
    {"from": DTYPES, "to": DTYPES, "size": ("one", "few", "thousand"), "layout": LAYOUTS,
     "to_layout": WRITTEN, "rank": RANKS, "state": PLACES["state"]},
    _converts, needs=needs, quick=28,
)  # fmt: skip
@clause("CPY-508")
def test_conversions(device: torch.device, case: Case) -> None:
    for kind, way in itertools.product(_kinds(case), WAYS):
        _convert({**case, "values": kind, "way": way}, device)


def _convert(case: Case, device: torch.device) -> None:
    source = Operand(case, device, dtype="from")
    target = Operand(case, device, name="to_layout", dtype="to")
    target.here.copy_(source.here)
    if case["state"] == "after_errors":
        fail(device)
    if case["way"] == "download":
        got = torch.empty(source.here.shape, dtype=dtype_of(case, "to"))
        got.copy_(source.there)
        check.tensor(f"a conversion, {line(case)}", got, target.here.clone())
        return
    target.there.copy_(source.there if case["way"] == "within" else source.here)
    _same(case, "a conversion", target)


# -------------------------------------------------------------------------------------- fills ---

# How a value gets into each element: fill_ with it, or what else writes one value.
FORMS = ("number", "tensor_of_host", "tensor_of_device", "zero", "item", "mask")


def _fill(form: str, target: torch.Tensor, value: Any) -> None:
    if form == "zero":
        target.zero_()
    elif form == "item":
        target[...] = value
    elif form == "mask":
        target.masked_fill_(torch.ones(target.shape, dtype=torch.bool).to(target.device), value)
    else:
        target.fill_(value)


@each_case(
    {"dtype": DTYPES, "form": FORMS, "size": ALL_SIZES, "layout": WRITTEN, "rank": RANKS, **PLACES},
    rank_fits, needs=needs, slow=slow, quick=16,
)  # fmt: skip
@clause("OPS-529")
@where_it_fits
def test_fills(device: torch.device, case: Case) -> None:
    device = place(case, device)
    dtype = dtype_of(case)
    for end in values("extreme", (len(edge(dtype)),), dtype, device):
        operand = Operand(case, device)
        number = end if case["form"].startswith("tensor") else end.item()
        placed = host.upload(end, device) if case["form"] == "tensor_of_device" else number

        def fill(target: torch.Tensor = operand.there, by: Any = placed) -> None:
            _fill(case["form"], target, by)

        where(case, device, fill)
        _fill(case["form"], operand.here, number)
        _same(case, f"a fill with {end.item()!r}", operand)
        if case["size"] == LARGEST:
            return


# ------------------------------------------------------------------------------------ operators ---

Binary = Callable[..., torch.Tensor]
BINARY: dict[str, Binary] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "eq": torch.eq, "lt": torch.lt,
}  # fmt: skip
OTHERS = ("tensor", "same", "number_of_host", "number_of_device", "int", "float", "bool")
RESULTS = ("new", "in_place", "out", "out_is_first", "out_is_second")
ALPHA: dict[str, dict[str, int]] = {
    "none": {}, "1": {"alpha": 1}, "-1": {"alpha": -1}, "2": {"alpha": 2},
    "beyond_float64": {"alpha": BEYOND},
}  # fmt: skip
ALPHAS = tuple(ALPHA)


# What may not meet: all of a line together. Values that are promoted can't be written in place; of
# infinite complex numbers there are several right answers; what overlaps itself is only read.
_COMPLEX = ("complex64", "complex128")
NOT_TOGETHER: tuple[dict[str, tuple[str, ...]], ...] = (
    {"other": ("float",), "dtype": (*WHOLE, "bool")},
    {"other": ("int",), "dtype": ("bool",)},
    {"name": ("sub",), "dtype": ("bool",)},
    {"name": ("sub",), "other": ("bool",)},
    {"alpha": ALPHAS[1:], "dtype": ("bool",)},
    # PyTorch's CPU may round the product first, which then is infinite.
    {"alpha": ("2",), "dtype": ("float16", "bfloat16"), "values": ("extreme",)},
    {"alpha": ALPHAS[1:], "name": ("mul", "eq", "lt")},
    {"alpha": ("beyond_float64",), "dtype": tuple(one for one in DTYPES if one != "int64")},
    {"name": ("mul", "lt"), "dtype": _COMPLEX},
    {"name": ("add", "sub"), "dtype": _COMPLEX, "values": ("extreme",)},
    {"name": ("eq", "lt"), "result": ("out", "out_is_first", "out_is_second")},
    {"result": ("out_is_second",), "other": OTHERS[1:]},
    {"out": LAYOUTS[1:], "result": ("new", "in_place", "out_is_first", "out_is_second")},
    {"out": LAYOUTS[1:], "name": ("eq", "lt")},
    {"result": ("out_is_second",), "second": ("expanded",)},
    {"result": ("in_place", "out_is_first"), "layout": ("expanded",)},
)


def _operands_fit(case: Case) -> bool:
    return rank_fits(case) and not any(
        all(case.get(name) in values for name, values in row.items()) for row in NOT_TOGETHER
    )


def _scalar(case: Case) -> float | int | bool:
    if case["other"] == "bool":
        return True
    if case["other"] == "float":
        return -1.5
    if case["dtype"] not in WHOLE:
        return -3
    ends = {"int64": -BEYOND, "uint8": 255}
    return ends.get(case["dtype"], int(torch.iinfo(dtype_of(case)).min))


def _call(case: Case, first: torch.Tensor, second: object, out: torch.Tensor) -> torch.Tensor:
    """`out` is taken where the case says so, and is not made by the operator itself."""
    function, result = BINARY[case["name"]], case["result"]
    alphas = {"none": None, "beyond_float64": BEYOND}
    alpha = alphas.get(
        case["alpha"], int(case["alpha"]) if case["alpha"].strip("-").isdigit() else 0
    )
    named = {} if alpha is None else {"alpha": alpha}
    if result == "in_place":
        return getattr(first, f"{case['name']}_")(second, **named)  # type: ignore[no-any-return]
    if result == "out":
        if case["out"] == "whole":
            out = torch.empty(0, dtype=first.dtype, device=first.device)
        return function(first, second, out=out, **named)
    if result == "new":
        return function(first, second, **named)
    return function(first, second, out=first if result == "out_is_first" else second, **named)


@each_case(
    {"name": tuple(BINARY), "dtype": DTYPES, "other": OTHERS, "alpha": ALPHAS, "result": RESULTS,
     "out": WRITTEN, "layout": LAYOUTS, "second": LAYOUTS, "size": ALL_SIZES, "rank": RANKS,
     "values": KINDS, **PLACES},
    _operands_fit, needs=needs, slow=slow, quick=24,
)  # fmt: skip
@clause("OPS-529")
@where_it_fits
def test_operands(device: torch.device, case: Case) -> None:
    device = place(case, device)
    first, second, out = (Operand(case, device, name=name) for name in ("layout", "second", "out"))
    dtype = dtype_of(case)
    number = host.values((), dtype)
    here: object = {"tensor": second.here, "same": first.here, "number_of_host": number,
                    "number_of_device": number}.get(case["other"])  # fmt: skip
    there: object = {"tensor": second.there, "same": first.there,
                     "number_of_host": number}.get(case["other"])  # fmt: skip
    if case["other"] == "number_of_device":
        there = host.upload(number, device)
    elif here is None:
        here = there = _scalar(case)
    result = where(case, device, lambda: _call(case, first.there, there, out.there))
    expected = _call(case, first.here, here, out.here)
    given = host.download(result)
    if dtype.is_floating_point and case["values"] == "extreme":
        given, expected = _but_subnormal(given, expected, device)
    check.tensor(f"the result, {line(case)}", given, expected.clone())
    if case["result"] in ("new", "out"):
        _same(case, "the first operand afterwards", first)
        _same(case, "the second operand afterwards", second)
    if case["result"] == "out" and case["out"] != "whole" and case["values"] != "extreme":
        _same(case, "what lies around the output", out)


def _but_subnormal(
    given: torch.Tensor, expected: torch.Tensor, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """A device that takes subnormal numbers for 0 may give 0 for them."""
    if not expected.is_floating_point() or subnormal.kept(device, expected.dtype):
        return given, expected
    out = (expected != 0) & (expected.abs() < torch.finfo(expected.dtype).smallest_normal)
    return given.masked_fill(out, 0), expected.masked_fill(out, 0)


# ----------------------------------------------------------------------------------- reductions ---

REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": torch.sum, "amax": torch.amax, "amin": torch.amin, "any": torch.any,
}  # fmt: skip
AXES: dict[str, tuple[int, ...]] = {
    "last": (3,), "first": (0,), "inner": (1, 2), "all": (0, 1, 2, 3)
}  # fmt: skip


MOSTLY = 0.9  # zeros, or there would always be any other


def _reduces(case: Case) -> bool:
    unfit = case.get("dtype") in _COMPLEX or case.get("size") == "none"
    if case.get("name") in ("amax", "amin") and unfit:
        return False
    # Whole numbers add up in any order; others are for other tests.
    return case.get("name") != "sum" or case.get("dtype", "bool") in (*WHOLE, "bool")


@each_case(
    {"name": tuple(REDUCTIONS), "dtype": DTYPES, "axes": tuple(AXES), "keep": ("yes", "no"),
     "layout": LAYOUTS, "size": ALL_SIZES, "values": KINDS, **PLACES},
    _reduces, needs=needs, slow=slow, quick=16,
)  # fmt: skip
@clause("OPS-529")
@where_it_fits
def test_reductions(device: torch.device, case: Case) -> None:
    device = place(case, device)
    operand, axes, keep = Operand(case, device), AXES[case["axes"]], case["keep"] == "yes"
    function = REDUCTIONS[case["name"]]
    if case["name"] == "any":
        axes = axes[-1:]
        operand.base.masked_fill_(torch.rand(operand.base.shape, generator=host.seed()) < MOSTLY, 0)
        operand.placed.copy_(operand.base)
    result = where(case, device, lambda: function(operand.there, axes, keepdim=keep))
    expected = function(operand.here, axes, keepdim=keep)
    # Which zero is the larger is not said.
    seen = host.download(result)
    if seen.is_floating_point():
        seen, expected = seen + 0.0, expected + 0.0
    check.tensor(f"the result, {line(case)}", seen, expected)
    _same(case, "the operand afterwards", operand)
