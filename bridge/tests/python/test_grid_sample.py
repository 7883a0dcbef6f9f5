# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""grid_sample: what lies between elements, forward and backward, beside PyTorch's CPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as everybody calls it
from likeness import moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Sample = Callable[[Tensor, Tensor], Tensor]
LIMIT = {torch.float32: 1e-4, torch.float64: 1e-10}
PADDINGS = ("zeros", "border", "reflection")
# Each is a program, which some backends compile: of doubles one is enough.
FORMS = {torch.float32: list(itertools.product(PADDINGS, (False, True))),
         torch.float64: [("reflection", True)]}  # fmt: skip


pytestmark = pytest.mark.usefixtures("takes_programs")


def image(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(1), dtype=dtype)


def places(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns a grid that reaches beyond all ends, to one side and to the other, twice over."""
    generator = torch.Generator().manual_seed(2)
    return torch.rand(sizes, generator=generator, dtype=torch.float64).mul(7).sub(3.5).to(dtype)


def run(sample: Sample, given: Tensor, grid: Tensor, device: torch.device | str) -> list[Tensor]:
    where = torch.device(device)
    leaves = [moved(one, where).requires_grad_() for one in (given, grid)]
    result = sample(*leaves)
    seed = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view(result.shape)
    return [result.detach(), *torch.autograd.grad(result, leaves, seed.to(where))]


def check(sample: Sample, given: Tensor, grid: Tensor, backend: DeviceModule,
          device: torch.device) -> None:  # fmt: skip
    expected = run(sample, given, grid, "cpu")
    backend.reset_fallbacks()
    seen = run(sample, given, grid, device)
    assert backend.fallbacks() == []
    limit = LIMIT[given.dtype]
    for ours, theirs in zip(seen, expected, strict=True):
        assert (ours.dtype, ours.shape, ours.stride()) == (
            theirs.dtype, theirs.shape, theirs.stride(),
        )  # fmt: skip
        torch.testing.assert_close(ours.cpu(), theirs, rtol=limit, atol=limit)


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images(mode: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    given, grid = image(2, 3, 5, 4, dtype=dtype), places(2, 6, 7, 2, dtype=dtype)
    for padding, aligns in FORMS[dtype]:
        sample = partial(F.grid_sample, mode=mode, padding_mode=padding, align_corners=aligns)
        check(sample, given, grid, backend, device)


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_volumes(
    mode: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    given, grid = image(2, 3, 3, 5, 4, dtype=dtype), places(2, 2, 4, 3, 3, dtype=dtype)
    for padding, aligns in FORMS[dtype]:
        sample = partial(F.grid_sample, mode=mode, padding_mode=padding, align_corners=aligns)
        check(sample, given, grid, backend, device)


LAYOUTS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "last channels": (
        lambda x: x.to(memory_format=torch.channels_last), lambda grid: grid),
    "turned": (lambda x: x.mT.contiguous().mT, lambda grid: grid.transpose(1, 2)),
    "expanded": (
        lambda x: x[:1].expand(2, -1, -1, -1), lambda grid: grid[:1].expand(2, -1, -1, -1)),
    "stepped": (lambda x: x[:, ::2], lambda grid: grid[:, ::2, 1:]),
    "of one element": (lambda x: x[..., :1, :1], lambda grid: grid),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("padding", PADDINGS)
def test_layouts(padding: str, layout: str, backend: DeviceModule, device: torch.device) -> None:
    of_image, of_grid = LAYOUTS[layout]
    given, grid = image(2, 3, 5, 4), places(2, 6, 6, 2)
    for mode, aligns in (("bilinear", True), ("bicubic", False)):
        sample = partial(F.grid_sample, mode=mode, padding_mode=padding, align_corners=aligns)
        expected, seen = (sample(of_image(given.to(where)), of_grid(grid.to(where)))
                          for where in (torch.device("cpu"), device))  # fmt: skip
        assert seen.stride() == expected.stride()
        torch.testing.assert_close(seen.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_an_affine_grid(backend: DeviceModule, device: torch.device) -> None:
    """What networks that straighten images do."""

    def straighten(x: Tensor, angle: Tensor) -> Tensor:
        grid = F.affine_grid(angle, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    turn = torch.tensor([[[0.8, -0.6, 0.1], [0.6, 0.8, -0.2]]]).repeat(2, 1, 1)
    check(straighten, image(2, 3, 6, 6), turn, backend, device)


@pytest.mark.parametrize(
    "sizes", [((2, 3, 5, 4), (1, 6, 7, 2)), ((2, 3, 5, 4), (2, 6, 7, 3)), ((2, 3, 5), (2, 6, 2))]
)
def test_what_pytorch_refuses_is_refused(
    sizes: tuple[tuple[int, ...], tuple[int, ...]], device: torch.device
) -> None:
    given, grid = (torch.zeros(one) for one in sizes)
    with pytest.raises(RuntimeError) as on_host:
        F.grid_sample(given, grid, align_corners=False)
    with pytest.raises(type(on_host.value)):
        F.grid_sample(given.to(device), grid.to(device), align_corners=False)
    with pytest.raises(RuntimeError):
        F.grid_sample(given.to(device), grid, align_corners=False)


def test_no_samples(device: torch.device) -> None:
    seen = F.grid_sample(torch.zeros(0, 3, 5, 4, device=device),
                         torch.zeros(0, 6, 7, 2, device=device), align_corners=False)  # fmt: skip
    assert seen.shape == (0, 3, 6, 7)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_no_number_as_a_coordinate(
    mode: str, padding: str, backend: DeviceModule, device: torch.device
) -> None:
    """As PyTorch's CPU has it, which is another place in two dimensions than in three. It has no
    gradient to compare with: of two dimensions with a border it ends the process.
    """
    for sizes in ((4, 5), (3, 4, 5)):
        grid = places(1, *(1 for _ in sizes[1:]), 6, len(sizes))
        grid[..., 0, 0] = grid[..., 1, 1] = grid[..., 2, :] = float("nan")
        sample = partial(F.grid_sample, mode=mode, padding_mode=padding, align_corners=False)
        given = image(1, 2, *sizes)
        backend.reset_fallbacks()
        seen = sample(given.to(device), grid.to(device))
        assert backend.fallbacks() == []
        torch.testing.assert_close(seen.cpu(), sample(given, grid), rtol=1e-4, atol=1e-4,
                                   equal_nan=True)  # fmt: skip
