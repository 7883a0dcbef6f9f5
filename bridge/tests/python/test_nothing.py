# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Results without elements: as PyTorch's CPU has them, and no fallback."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
CALLS: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...]]] = {
    "flip": (lambda x: x.flip(0, 2), (5, 0, 3)),
    "roll": (lambda x: x.roll(2, 1), (5, 0)),
    "reflection": (lambda x: F.pad(x, (1, 2), mode="reflect"), (0, 3, 3)),
    "average": (lambda x: F.avg_pool1d(x, 3, 2), (0, 3, 9)),
    "replication": (lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"), (0, 3, 3, 3)),
    "adaptive average": (lambda x: F.adaptive_avg_pool1d(x, 5), (0, 8, 8)),
    "group norm": (lambda x: F.group_norm(x, 1), (0, 2)),
}


@pytest.fixture(autouse=True)
def composed(backend: DeviceModule) -> None:
    """Skips where another route is forced."""
    if backend.get_forced_route() not in (None, "composed"):
        pytest.skip("compositions are closed")


@pytest.mark.parametrize("name", CALLS)
def test_no_element_no_fallback(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, sizes = CALLS[name]
    theirs = torch.empty(sizes, requires_grad=True)
    expected = call(theirs)
    ours = torch.empty(sizes, device=device, requires_grad=True)
    backend.reset_fallbacks()
    seen = call(ours)
    assert backend.fallbacks() == []
    assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
    assert (seen.device, seen.stride()) == (device, expected.stride())


@pytest.mark.parametrize("name", CALLS)
def test_no_element_no_gradient(name: str, backend: DeviceModule, device: torch.device) -> None:
    call, sizes = CALLS[name]
    ours = torch.empty(sizes, device=device, requires_grad=True)
    seen = call(ours)
    backend.reset_fallbacks()
    seen.backward(torch.empty_like(seen))
    assert backend.fallbacks() == []
    assert ours.grad is not None
    assert ours.grad.shape == ours.shape


@pytest.mark.parametrize("weights", [torch.float16, torch.float32], ids=str)
def test_the_dtypes_are_those_of_the_cpu(weights: torch.dtype, device: torch.device) -> None:
    """Shape functions give float32 for mean and rstd of half precision, whatever the weights."""

    def norm(place: torch.device) -> tuple[Tensor, ...]:
        rows = torch.empty(0, 4, dtype=torch.float16, device=place)
        weight, bias = (torch.ones(4, dtype=weights, device=place) for _ in range(2))
        return torch.native_layer_norm(rows, [4], weight, bias, 1e-5)

    seen, expected = norm(device), norm(torch.device("cpu"))
    assert [one.dtype for one in seen] == [one.dtype for one in expected]


def test_an_output_is_pytorchs_to_judge(backend: DeviceModule, device: torch.device) -> None:
    """A shape function takes dtypes for it that the CPU refuses, which is asked."""
    nothing = torch.empty(0, 3, device=device)
    backend.reset_fallbacks()
    out = torch.empty(0, 3, device=device)
    assert torch.igamma(nothing, nothing, out=out) is out
    assert backend.fallbacks() == []
    with pytest.raises(RuntimeError):
        torch.take(nothing[:, 0], nothing[:, 0].long(), out=out.double())


def test_the_errors_are_pytorchs(device: torch.device) -> None:
    nothing = torch.empty(0, 3, device=device)
    with pytest.raises(IndexError):
        nothing.flip(4)
    with pytest.raises((IndexError, RuntimeError), match="dim"):
        nothing.max()
