# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices and vectors, over how many batches, rows, terms and columns there are, and
over the numbers `alpha` and `beta`. All values are small whole numbers, so that any order of the
terms gives the same result. PyTorch's CPU is the oracle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import (
    BEYOND,
    PLACES,
    Shape,
    compare,
    dtype_of,
    laid,
    needs,
    place,
)
from tbk_contracts.torch.pairs import Case, cover, each_case, line

COST = 23

Shapes = Callable[[int, int, int, int], tuple[Shape, ...]]
# Of batches, rows, terms and columns: the factors, and what is added to the product.
PRODUCTS: dict[str, Shapes] = {
    "mm": lambda b, n, k, m: ((n, k), (k, m)),
    "bmm": lambda b, n, k, m: ((b, n, k), (b, k, m)),
    "matmul": lambda b, n, k, m: ((b, n, k), (k, m)),
    "mv": lambda b, n, k, m: ((n, k), (k,)),
    "dot": lambda b, n, k, m: ((k,), (k,)),
    "outer": lambda b, n, k, m: ((n,), (m,)),
    "linear": lambda b, n, k, m: ((n, k), (m, k), (m,)),
}
SUMS: dict[str, Shapes] = {
    "addmm": lambda b, n, k, m: ((n, k), (k, m), (n, m)),
    "baddbmm": lambda b, n, k, m: ((b, n, k), (b, k, m), (b, n, m)),
    "addbmm": lambda b, n, k, m: ((b, n, k), (b, k, m), (n, m)),
    "addmv": lambda b, n, k, m: ((n, k), (k,), (n,)),
    "addr": lambda b, n, k, m: ((n,), (m,), (n, m)),
}
IN_BATCHES = ("bmm", "matmul", "baddbmm", "addbmm")
COUNTS = ("0", "1", "3", "65", "130")
WORK = 1 << 17  # multiplications at most, or the larger ones take seconds


def _work(sizes: Case) -> int:
    return math.prod(int(one) for one in sizes.values())


SIZES = cover(
    {"batch": COUNTS, "rows": COUNTS, "inner": COUNTS, "columns": COUNTS},
    lambda sizes: _work(sizes) <= WORK,
)
BETAS: dict[str, dict[str, int]] = {
    "none": {}, "1": {"beta": 1}, "-1": {"beta": -1}, "2": {"beta": 2},
    "0_of_nan": {"beta": 0},
}  # fmt: skip
ALPHAS: dict[str, dict[str, int]] = {
    "none": {}, "0": {"alpha": 0}, "1": {"alpha": 1}, "-2": {"alpha": -2},
    "beyond_float64": {"alpha": BEYOND},
}  # fmt: skip


def _fits(case: Case) -> bool:
    plain = case.get("beta", "none") == "none" and case.get("alpha", "none") == "none"
    if case.get("alpha") == "beyond_float64" and case.get("dtype", "int64") != "int64":
        return False
    return plain or case.get("name", "addmm") in SUMS


def _results(name: str) -> tuple[str, ...]:
    """Returns where a result may go."""
    if name == "linear":
        return ("new",)
    return ("new", "out", "in_place") if name in SUMS else ("new", "out")


def _small(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(-4, 5, shape, generator=host.seed()).to(dtype)


def _added(case: Case, shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    """What beta=0 leaves out need be no number."""
    if case["beta"] != "0_of_nan":
        return _small(shape, dtype)
    whole = not (dtype.is_floating_point or dtype.is_complex)
    return torch.full(shape, torch.iinfo(dtype).max if whole else math.nan, dtype=dtype)


def _call(case: Case, result: str, operands: list[torch.Tensor]) -> torch.Tensor:
    """`operands` are the factors, then what is added, which may be written."""
    name, named = case["name"], {**BETAS[case["beta"]], **ALPHAS[case["alpha"]]}
    out: dict[str, Any] = {"out": operands[0].new_empty(0)} if result == "out" else {}
    if name == "linear":
        return torch.nn.functional.linear(*operands)
    function: Callable[..., torch.Tensor] = getattr(torch, name)
    if name not in SUMS:
        return function(*operands, **out)
    one, two, added = operands
    if result == "in_place":
        function = getattr(added, f"{name}_")
        return function(one, two, **named)
    return function(added, one, two, **named, **out)


@each_case(
    {"name": (*PRODUCTS, *SUMS), "beta": tuple(BETAS), "alpha": tuple(ALPHAS),
     "dtype": ("float32", "float64", "int64", "int32", "complex64"), "layout": PLACES,
     "second": PLACES, "device": ("first", "second")},
    _fits, needs=needs, quick=6,
)  # fmt: skip
@clause("OPS-557")
def test_products(device: torch.device, case: Case) -> None:
    device, dtype = place(case, device), dtype_of(case)
    shapes = {**PRODUCTS, **SUMS}[case["name"]]
    asked = dict.fromkeys(shapes(*(int(one) for one in sizes.values())) for sizes in SIZES)
    for sizes, result in itertools.product(asked, _results(case["name"])):
        here = [_small(shape, dtype) for shape in sizes[:2]]
        here += [_added(case, shape, dtype) for shape in sizes[2:]]
        layouts = (case["layout"], case["second"], "whole")
        there = [laid(one, layout, device) for one, layout in zip(here, layouts, strict=False)]
        what = f"the result, {line(case)}, {result}, {[list(one) for one in sizes]}"
        compare(what, _call(case, result, there), _call(case, result, here), either_zero=True)
        for mine, one in zip(there[:2], here, strict=False):
            check.tensor(f"a factor afterwards, {line(case)}", host.download(mine), one)
