# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reductions of each dtype into each other one, of sums beyond the range of either; and numbers of
each dtype as Python has them. PyTorch's CPU is the oracle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import DTYPES, clause
from tbk_contracts.torch.extremes import (
    PLACES,
    WHOLE,
    compare,
    dtype_of,
    edge,
    laid,
    needs,
    place,
)
from tbk_contracts.torch.operators import subnormal
from tbk_contracts.torch.pairs import Case, each_case, line

Reduce = Callable[..., torch.Tensor]
INTO: dict[str, Reduce] = {
    "sum": lambda x, **to: x.sum(**to), "sum along": lambda x, **to: x.sum(0, **to),
    "sum along the last": lambda x, **to: x.sum(-1, True, **to),
    "sum along two": lambda x, **to: x.sum((0, 1), **to),
    "prod": lambda x, **to: x.prod(**to), "prod along": lambda x, **to: x.prod(0, **to),
    "cumsum": lambda x, **to: x.cumsum(0, **to), "cumprod": lambda x, **to: x.cumprod(-1, **to),
    "nansum": lambda x, **to: x.nansum(**to), "mean": lambda x, **to: x.mean(**to),
    "mean along": lambda x, **to: x.mean(-1, **to),
}  # fmt: skip
PLAIN: dict[str, Reduce] = {
    "any": lambda x: x.any(), "all": lambda x: x.all(-1), "amax": lambda x: x.amax(0),
    "amin": lambda x: x.amin(-1), "aminmax": lambda x: torch.stack(tuple(x.aminmax())),
    "max": lambda x: x.max(), "min": lambda x: x.min(), "max along": lambda x: x.max(0).values,
    "min along": lambda x: x.min(-1).values, "argmax": lambda x: x.argmax(),
    "argmin along": lambda x: x.argmin(-1), "count_nonzero": lambda x: x.count_nonzero(0),
    "median": lambda x: x.median(), "cummax": lambda x: x.cummax(0).values,
    "cummin": lambda x: x.cummin(-1).values, "sort": lambda x: x.sort(0).values,
    "unique": lambda x: x.unique(), "bincount": lambda x: x.reshape(-1).clamp(0, 70).bincount(),
}  # fmt: skip
PRODUCTS = ("prod", "prod along", "cumprod")
MEANS = ("mean", "mean along")
NOT_OF_BOOL = ("argmax", "argmin along", "median", "cummax", "cummin", "bincount", "nansum")
VALUES = ("greatest", "least", "edges", "ones")
SHAPE, OF_MEANS = (67, 5), (64, 8)  # a quotient by a power of two is exact in any way


def _results(name: str, dtype: str) -> list[str]:
    """Returns the dtypes that a result may be asked in: where it is exact in any order, as sums of
    so few numbers are that have half as many bits."""
    found = ["default"]
    if name in PLAIN:
        return found
    if name not in MEANS:
        found += ["int64", "int32", "uint8"]
    if name not in PRODUCTS and dtype != "int64":
        found += ["float64"]
    if name not in (*PRODUCTS, *MEANS) and dtype in ("int8", "uint8", "bool"):
        found += ["float32"]
    return found[1:] if name in MEANS else found


def _values(kind: str, dtype: torch.dtype, shape: tuple[int, int]) -> torch.Tensor:
    if dtype == torch.bool or kind == "ones":
        made = torch.ones(shape, dtype=dtype)
        made[3:, 2] = kind in ("ones", "greatest")
        return made
    facts = torch.iinfo(dtype)
    kinds: dict[str, list[Any]] = {
        "greatest": [facts.max], "least": [facts.min], "edges": edge(dtype)
    }  # fmt: skip
    ends = kinds[kind]
    count = shape[0] * shape[1]
    return torch.tensor(ends * (count // len(ends) + 1), dtype=dtype)[:count].reshape(shape)


def _fits(case: Case) -> bool:
    name, dtype = case.get("name", "sum"), case.get("dtype", "int32")
    return bool(_results(name, dtype)) and not (dtype == "bool" and name in NOT_OF_BOOL)


@each_case(
    {"name": (*INTO, *PLAIN), "dtype": (*WHOLE, "bool"), "layout": PLACES,
     "device": ("first", "second")},
    _fits, needs=lambda case: f"{needs(case)} dtype:int64", quick=6,
)  # fmt: skip
@clause("OPS-529")
def test_results_beyond_a_dtype(device: torch.device, case: Case) -> None:
    device, function = place(case, device), {**INTO, **PLAIN}[case["name"]]
    results = [one for one in _results(case["name"], case["dtype"])
               if one == "default" or host.goes_round(getattr(torch, one), device)]  # fmt: skip
    if not results:
        check.evidence(check.NOT_SHOWN, "the device has no dtype in which the result is exact")
    for kind, result in itertools.product(VALUES, results):
        here = _values(kind, dtype_of(case), OF_MEANS if case["name"] in MEANS else SHAPE)
        there = laid(here, case["layout"], device)
        named: dict[str, Any] = {} if result == "default" else {"dtype": getattr(torch, result)}
        compare(f"the result, {line(case)}, {kind}, {result}", function(there, **named),
                function(here, **named))  # fmt: skip


# --------------------------------------------------------------------- of numbers of Python ---

WAYS: dict[str, Callable[[torch.Tensor], Any]] = {
    "item": lambda x: x.item(), "tolist": lambda x: x.tolist(), "float": float, "int": int,
    "bool": bool, "complex": complex, "index": lambda x: x.__index__(),
    "range": lambda x: range(x)[-1:], "format": lambda x: f"{x:}", "is_nonzero": torch.is_nonzero,
}  # fmt: skip
OF_WHOLE = ("index", "range")


def _asked(way: str, number: float | complex | bool) -> bool:
    """Returns whether Python has an answer: no whole number is infinite, no range that long."""
    if way == "int":
        return not isinstance(number, complex) and math.isfinite(number)
    return way != "range" or (isinstance(number, int) and 0 < number < 1 << 62)


def _has_a_number(case: Case) -> bool:
    way, dtype = case.get("way"), case.get("dtype", "int8")
    if way in OF_WHOLE and dtype not in WHOLE:
        return False
    if way in ("float", "int") and dtype.startswith("complex"):
        return False
    if case.get("rank") == "1":
        return way not in (*OF_WHOLE, "format")
    return not (case.get("layout") == "steps" and case.get("rank") == "0")


@each_case(
    {"dtype": DTYPES, "way": tuple(WAYS), "layout": ("whole", "offset", "steps"),
     "rank": ("0", "1"), "device": ("first", "second")},
    _has_a_number, needs=needs, quick=6,
)  # fmt: skip
@clause("CPY-501")
def test_numbers_of_python(device: torch.device, case: Case) -> None:
    device, dtype, way = place(case, device), dtype_of(case), WAYS[case["way"]]
    ends = torch.tensor(edge(dtype), dtype=dtype)
    if dtype.is_floating_point and not subnormal.kept(device, dtype):
        ends = ends[~subnormal.among(ends)]
    asked = 0
    for one in ends:
        if not _asked(case["way"], one.item()):
            continue
        here = one.reshape(() if case["rank"] == "0" else (1,)).clone()
        there = laid(here, case["layout"], device)
        check.equal(f"{here.item()!r}, {line(case)}", repr(way(there)), repr(way(here)))
        asked += 1
    check.that(f"how many numbers, {line(case)}", asked > 0, expected="some", seen=asked)


SPECIAL = ("float16", "bfloat16")


@each_case({"dtype": SPECIAL, "name": ("sum", "sum along", "mean", "cumsum"), "layout": PLACES},
           needs=lambda case: f"{needs(case)} dtype:float32", quick=2)  # fmt: skip
@clause("OPS-529")
def test_sums_in_a_wider_dtype(device: torch.device, case: Case) -> None:
    """Of numbers whose sum the dtype itself does not hold; it is exact in float32."""
    here = torch.full((64, 8), 4096.0, dtype=dtype_of(case))
    function = INTO[case["name"]]
    compare(f"the result, {line(case)}",
            function(laid(here, case["layout"], device), dtype=torch.float32),
            function(here, dtype=torch.float32))  # fmt: skip
