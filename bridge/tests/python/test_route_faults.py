# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The samples of routes are able to fail.

What the bridge asks generic kernels for is changed on its way to the backend in each way that there
is, and each family of samples has to notice: a mutant is a pair of family and fault. What no sample
can notice, since results are the same, stands in route_samples/same.py with its reason.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mutants"))

import pytest
import torch
from likeness import check_same
from route_samples import FAMILIES, Place
from route_samples.same import SAME, open_in
from tbk_torch_mutants import routes

if TYPE_CHECKING:
    from route_samples import Sample
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
HOST = Place(torch.device("cpu"))
MOST_KERNELS = 7


@pytest.fixture(scope="module")
def watched(backend: DeviceModule, library: Path, backend_options: str) -> Iterator[None]:
    """Only on a backend that offers all generic kernels."""
    torch.ones(2, device=backend.backend_name).exp()
    found = routes.watch(library, backend_options)
    if found == MOST_KERNELS:
        yield
    routes.leave()
    if found < MOST_KERNELS:
        pytest.skip("the backend does not offer all generic kernels")


@functools.cache
def expected(family: str, name: str) -> list[Tensor]:
    return FAMILIES[family][name](HOST)


def kernels_of(sample: Sample, device: torch.device) -> set[str]:
    routes.called()
    sample(Place(device))
    return routes.called()


def wait(device: torch.device) -> None:
    with contextlib.suppress(RuntimeError, IndexError):  # of what was broken: told once
        torch.accelerator.synchronize(device)


def check(sample: Sample, device: torch.device, results: list[Tensor]) -> None:
    for one, like in zip(sample(Place(device)), results, strict=True):
        check_same(one, like)


def notices(fault: str, family: str, name: str, device: torch.device) -> bool | None:
    """Returns whether the sample fails; None where the fault changes nothing that it asks for."""
    with routes.broken(fault) as hits:
        try:
            check(FAMILIES[family][name], device, expected(family, name))
            seen = False
        except (AssertionError, RuntimeError, IndexError):
            seen = True
        wait(device)
    return seen if hits.count else None


@functools.cache
def noticed(family: str, device: torch.device) -> dict[str, bool]:
    """Returns of each fault that changes a call of the family whether a sample fails."""
    kernels = {name: kernels_of(sample, device) for name, sample in FAMILIES[family].items()}
    found: dict[str, bool] = {}
    for fault in routes.faults():
        kernel = fault.rpartition(": ")[0]
        for name in (name for name in kernels if kernel in kernels[name]):
            seen = notices(fault, family, name, device)
            if seen is not None:
                found[fault] = seen
            if seen:
                break
    return found


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_notices_each_fault(family: str, device: torch.device) -> None:
    found = noticed(family, device)
    unseen = {fault for fault in found if not found[fault]}
    assert unseen - open_in(family) == set(SAME.get(family, {})) - open_in(family)
    assert len(found) - len(unseen) >= 5


@pytest.mark.usefixtures("watched")
def test_each_fault_is_noticed_by_a_family(device: torch.device) -> None:
    """None is of a kind that no route has; all pairs together are the mutants."""
    found = {family: noticed(family, device) for family in FAMILIES}
    by_some = {fault for faults in found.values() for fault in faults if faults[fault]}
    assert set(routes.faults()) == by_some
    assert sum(map(len, found.values())) >= 450


@pytest.mark.usefixtures("watched")
def test_what_is_watched_is_as_before(device: torch.device) -> None:
    """A fault that is over changes nothing any more, and one that there is not is refused."""
    assert notices("tbk::matmul: alpha is 1", "products", "addmm", device)
    for family, name in (("products", "addmm"), ("norms", "batch"), ("index", "gather")):
        check(FAMILIES[family][name], device, expected(family, name))
    with pytest.raises(ValueError, match="no fault is called"), routes.broken("tbk::index: none"):
        pass
