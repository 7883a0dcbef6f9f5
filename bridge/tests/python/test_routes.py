# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each route is right: the same calls through each that serves them give what PyTorch's CPU gives.

Values, dtype, sizes and strides. test_route_faults.py shows that these samples are able to fail.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import pytest
import torch
from likeness import check_same
from route_samples import FAMILIES, Place

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
ROUTES = ("any", "named", "generic", "composed", "fallback")
# Programs and PyTorch's CPU draw other numbers, each by its definition.
OF_PROGRAMS = {"random": ("any", "generic"), "choices": ("any", "composed")}
# What takes more than one launch, and what never does.
WITHOUT = {
    "generic": {
        "bins",
        "classes",
        "distances",
        "grids",
        "margins",
        "norms",
        "pairs, multiplied",
        "pooling",
        "resampling",
    },
    "composed": {"pointwise", "optimizers", "pairs, summed"},
}
# Each route may copy and fill, by kernels of these names.
COPIES = ("aten::copy_", "aten::fill_.Scalar")


@functools.cache
def expected(family: str, name: str) -> list[Tensor]:
    return FAMILIES[family][name](Place(torch.device("cpu")))


def difference(family: str, name: str, device: torch.device) -> str:
    """Returns what the device does otherwise than PyTorch's CPU."""
    try:
        results = FAMILIES[family][name](Place(device))
        for one, like in zip(results, expected(family, name), strict=True):
            check_same(one, like)
    except (AssertionError, RuntimeError, IndexError) as error:
        return " ".join(str(error).split())[:160]
    return ""


def samples_of(family: str, can_all: bool) -> list[str]:
    """Leaves out bad indices where a kernel of the operator's name may be what reads them."""
    return [name for name in FAMILIES[family] if can_all or not name.startswith("a bad")]


def is_generic(backend: DeviceModule) -> bool:
    """Returns whether the backend offers all generic kernels: then nothing here falls back."""
    device = torch.device(backend.backend_name, 0)
    backend.reset_fallbacks()
    for family, name in (("products", "bmm"), ("convolutions", "groups"), ("index", "gather"),
                         ("sorting", "sort"), ("scans", "cumsum"), ("norms", "batch")):  # fmt: skip
        FAMILIES[family][name](Place(device))
    return backend.fallbacks() == []


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("family", FAMILIES)
def test_each_route_is_right(
    family: str, route: Any, backend: DeviceModule, device: torch.device
) -> None:
    can_all = is_generic(backend)
    if route not in OF_PROGRAMS.get(family, ROUTES) or (family in OF_PROGRAMS and not can_all):
        pytest.skip("other numbers are drawn there")
    backend.reset_routes()
    with contextlib.nullcontext() if route == "any" else backend.forced_route(route):
        wrong = {name: what for name in samples_of(family, can_all)
                 if (what := difference(family, name, device))}  # fmt: skip
    assert not wrong
    taken = {row.route for row in backend.routes() if row.operator not in COPIES}
    if route == "any":
        assert not can_all or "fallback" not in taken
    elif route != "composed":  # whose parts may take any
        assert taken <= {route, "fallback"}
    if can_all and route in WITHOUT:
        assert (route in taken) == (family not in WITHOUT[route])
