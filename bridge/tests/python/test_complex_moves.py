# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What moves, draws or looks at complex numbers on the device, beside PyTorch's CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from beside_cpu import tensors
from test_complex_reductions import COMPLEX, REAL, compare, pairs, placed

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[[Tensor], Any]

pytestmark = pytest.mark.usefixtures("takes_programs", "takes_all")

CALLS: dict[str, tuple[Call, tuple[int, ...]]] = {
    "flip": (lambda x: x.flip(0, -1), (3, 4, 5)),
    "flip of channels last": (
        lambda x: x.to(memory_format=torch.channels_last).flip(-2), (2, 3, 4, 5)),
    "roll": (lambda x: x.roll((2, -1), (0, -1)), (3, 4)),
    "roll of all": (lambda x: x.roll(3), (3, 4)),
    "rot90": (torch.rot90, (3, 4)),
    "tril": (torch.tril, (2, 4, 5)),
    "tril in place": (lambda x: x.clone().tril_(1), (4, 5)),
    "triu": (lambda x: x.mT.triu(-1), (4, 5)),
    "eye": (lambda x: torch.eye(3, 4, dtype=x.dtype, device=x.device), (1,)),
    "a space": (
        lambda x: torch.linspace(1 - 2j, 3 + 1j, 7, dtype=x.dtype, device=x.device), (1,)),
    "a space of real ends": (
        lambda x: torch.linspace(-1, 3.5, 8, dtype=x.dtype, device=x.device), (1,)),
    "a space of one": (lambda x: torch.linspace(1j, 3, 1, dtype=x.dtype, device=x.device), (1,)),
    "a space of none": (lambda x: torch.linspace(1j, 3, 0, dtype=x.dtype, device=x.device), (1,)),
    "trace": (torch.trace, (4, 5)),
    "nonzero": (torch.nonzero, (4, 5)),
    "nonzero by dimension": (lambda x: torch.nonzero(x, as_tuple=True), (4, 5)),
    "nonzero of a fixed number": (lambda x: torch.nonzero_static(x, size=7), (4, 5)),
    "fill some": (lambda x: x.index_fill(0, torch.tensor([0, 2], device=x.device), 2 - 1j), (4, 5)),
    "add to some": (
        lambda x: x.index_add(0, torch.tensor([0, 2], device=x.device), x[:2]), (4, 5)),
    "mirrored": (lambda x: F.pad(x, (2, 1), mode="reflect"), (2, 3, 5)),
    "mirrored image": (lambda x: F.pad(x, (2, 1, 0, 1), mode="reflect"), (2, 3, 4, 5)),
    "mirrored space": (lambda x: F.pad(x, (2, 1, 0, 1, 1, 1), mode="reflect"), (2, 2, 3, 4, 5)),
    "replicated": (lambda x: F.pad(x, (2, 1), mode="replicate"), (2, 3, 5)),
    "replicated image": (lambda x: F.pad(x, (2, 1, 0, 1), mode="replicate"), (2, 3, 4, 5)),
    "stack": (lambda x: torch.stack([x, x.mT.contiguous().mT]), (3, 4)),
}  # fmt: skip


@pytest.fixture
def takes_all(backend: DeviceModule, device: torch.device) -> None:
    backend.reset_fallbacks()
    torch.ones(2, device=device).cumsum(0)
    torch.ones(2, device=device).index_add_(
        0, torch.zeros(1, dtype=torch.int64, device=device), torch.ones(1, device=device)
    )
    if backend.fallbacks():
        pytest.skip("the backend does not offer tbk::scan and tbk::index")


def sparse(dtype: torch.dtype, *sizes: int) -> Tensor:
    """Returns numbers, of which some are 0, or have no real or no imaginary part."""
    value = pairs(dtype, *sizes)
    parts = torch.view_as_real(value).view(-1, 2)
    parts[::3] = 0
    parts[1::4, 0] = 0
    parts[2::5, 1] = 0
    return value


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "view", [lambda x: x, torch.conj, torch._neg_view], ids=["", "conj", "neg"]
)
@pytest.mark.parametrize("name", CALLS)
def test_a_call(
    name: str, view: Call, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call, sizes = CALLS[name]
    value = sparse(dtype, *sizes)
    expected, there = call(view(value)), placed(value, device)
    backend.reset_fallbacks()
    seen = call(view(there))
    assert backend.fallbacks() == []
    compare(seen, expected)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_bad_dimensions(dtype: torch.dtype, device: torch.device) -> None:
    """What is one dimension more to the parts is none to the caller."""
    value = pairs(dtype, 3, 4)
    calls: list[Call] = [
        lambda x: x.flip(2), lambda x: x.flip(0, 0), lambda x: x.roll(1, 2),
        lambda x: F.pad(x, (4, 4), mode="reflect"), lambda x: x.flatten().tril(),
        lambda x: x.flatten().trace(),
    ]  # fmt: skip
    for call in calls:
        for of in (value, placed(value, device)):
            with pytest.raises((RuntimeError, IndexError)):
                call(of)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_equal(dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    value = pairs(dtype, 3, 4)
    there = placed(value, device)
    backend.reset_fallbacks()
    assert torch.equal(there, there.clone())
    assert torch.equal(there.conj().resolve_conj(), placed(value.conj().resolve_conj(), device))
    other = there.clone()
    torch.view_as_real(other)[1, 2, 1] += 1
    assert not torch.equal(there, other)
    assert not torch.equal(there, there[:2])
    assert backend.fallbacks() == []
    there[0, 0] = torch.tensor(complex(math.nan, 0))
    assert not torch.equal(there, there.clone())


@pytest.mark.parametrize("dtype", COMPLEX)
def test_gradients_of_pads(dtype: torch.dtype, device: torch.device) -> None:
    value = pairs(dtype, 2, 3, 5)
    slopes = []
    for where in ("cpu", device):
        asked = value.to(where).requires_grad_()
        result = F.pad(asked, (2, 1), mode="reflect")
        slopes.append(torch.autograd.grad(torch.view_as_real(result).pow(2).sum(), asked)[0])
    compare(slopes[1], slopes[0])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_drawn_numbers(dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    """They are pairs of real ones of the same seed; normal parts have half the variance each."""
    drawn = torch.empty(40, 50, dtype=dtype, device=device)
    of_parts = torch.empty(40, 50, 2, dtype=REAL[dtype], device=device)
    backend.reset_fallbacks()
    calls: list[Callable[[Tensor, float], Any]] = [
        lambda x, d: x.normal_(3.0, d),
        lambda x, d: x.uniform_(-1.0, 2.0),
    ]
    for call in calls:
        torch.manual_seed(5)
        call(drawn, 2.0)
        torch.manual_seed(5)
        call(of_parts, math.sqrt(2.0))
        compare(torch.view_as_real(drawn), of_parts.cpu())
    torch.randn(3, dtype=dtype, device=device)
    assert backend.fallbacks() == []
    torch.manual_seed(5)
    turned = torch.empty(50, 40, dtype=dtype, device=device).mT.normal_()
    assert 0.8 < torch.view_as_real(turned).cpu().var() * 2 < 1.2


def test_where_nothing_is_drawn(device: torch.device) -> None:
    assert tensors(torch.empty(0, dtype=torch.complex64, device=device).normal_())[0].numel() == 0
    with pytest.raises(RuntimeError):
        torch.empty(3, dtype=torch.complex64, device=device).normal_(0, -1)
