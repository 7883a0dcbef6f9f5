# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Padding, resizing, flips, rolls and cat as compositions, as PyTorch's CPU has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional as nnf

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
# Weights are rounded in another order, and half precision may be once more on PyTorch's CPU.
LIMITS = {torch.float32: 4e-6, torch.float64: 4e-14, torch.float16: 2e-3, torch.bfloat16: 2e-2}
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "channels last": lambda t: t.to(
        memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d
    ),
    "turned": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "stepped": lambda t: t.repeat_interleave(2, 0)[::2],
}
SIZES = {1: (2, 3, 7), 2: (2, 3, 5, 6), 3: (2, 3, 4, 5, 3)}
PADDINGS: dict[int, list[tuple[int, ...]]] = {
    1: [(1, 2), (3, 0), (0, 0), (-1, 2), (6, 6)],
    2: [(1, 2, 3, 0), (4, 4, 4, 4), (0, 0, -2, 1)],
    3: [(1, 2, 3, 0, 2, 1), (2, 2, 0, 0, 0, 0)],
}
RESIZED: dict[str, tuple[int, dict[str, Any]]] = {
    "twice": (2, {"scale_factor": 2}),
    "by fractions": (2, {"scale_factor": (1.7, 2.3)}),
    "by fractions that count": (2, {"scale_factor": (1.7, 0.6), "recompute_scale_factor": False}),
    "down": (2, {"size": (2, 3)}),
    "to one": (2, {"size": (1, 1)}),
    "to the same": (2, {"size": (5, 6)}),
    "far up": (2, {"size": (23, 41)}),
    "a line": (1, {"size": 16}),
    "a line down": (1, {"scale_factor": 0.5}),
    "a volume": (3, {"size": (7, 9, 2)}),
    "a volume twice": (3, {"scale_factor": 2}),
}
MODES = {1: ["nearest", "nearest-exact", "linear"],
         2: ["nearest", "nearest-exact", "bilinear", "bicubic"],
         3: ["nearest", "nearest-exact", "trilinear"]}  # fmt: skip
FORMS = [
    (name, mode, ends)
    for name, (rank, _) in RESIZED.items()
    for mode in MODES[rank]
    for ends in ([None] if "nearest" in mode else [False, True])
]


pytestmark = pytest.mark.usefixtures("takes_programs")


def drawn(sizes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randn(sizes, generator=generator).to(dtype)


def learned(
    function: Callable[[Tensor], Tensor], x: Tensor, device: torch.device | str
) -> list[Tensor]:
    """Returns the result of `function`, and its gradient."""
    here = x.detach().to(device).requires_grad_()
    out = function(here)
    out.backward(drawn(tuple(out.shape), x.dtype).to(device))
    assert here.grad is not None
    return [out.detach(), here.grad]


def check(
    function: Callable[[Tensor], Tensor], x: Tensor, backend: DeviceModule, device: torch.device
) -> None:
    expected = learned(function, x, "cpu")
    exact = learned(function, x.double(), "cpu")
    backend.reset_fallbacks()
    seen = learned(function, x, device)
    assert backend.fallbacks() == []
    for one, like, value in zip(seen, expected, exact, strict=True):
        assert (one.dtype, one.shape, one.stride()) == (like.dtype, like.shape, like.stride())
        most = LIMITS[x.dtype] * (1 + value.abs()) + 2 * (like.double() - value).abs()
        wrong = (one.cpu().double() - value).abs() > most
        assert not bool(wrong.any()), (one.cpu(), like)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("rank", SIZES)
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding(
    mode: str, rank: int, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    x = drawn(SIZES[rank], dtype)
    for padding in PADDINGS[rank]:
        check(partial(nnf.pad, pad=padding, mode=mode), x, backend, device)


def test_padding_beyond_its_size(backend: DeviceModule, device: torch.device) -> None:
    check(
        lambda t: nnf.pad(t, (9, 8, 7, 9), mode="replicate"), drawn((1, 2, 1, 3)), backend, device
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_keeps_layouts(
    mode: str, layout: str, backend: DeviceModule, device: torch.device
) -> None:
    x = LAYOUTS[layout](drawn(SIZES[2]))
    check(lambda t: nnf.pad(t, (1, 2, 3, 0), mode=mode), x, backend, device)
    x = LAYOUTS[layout](drawn(SIZES[3]))
    check(lambda t: nnf.pad(t, (1, 2, 3, 0, 1, 1), mode=mode), x, backend, device)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize(("name", "mode", "ends"), FORMS)
def test_resizing(
    name: str,
    mode: str,
    ends: bool | None,
    dtype: torch.dtype,
    backend: DeviceModule,
    device: torch.device,
) -> None:
    rank, options = RESIZED[name]
    check(
        lambda t: nnf.interpolate(t, mode=mode, align_corners=ends, **options),
        drawn(SIZES[rank], dtype),
        backend,
        device,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_resizing_keeps_layouts(
    mode: str, layout: str, backend: DeviceModule, device: torch.device
) -> None:
    x = LAYOUTS[layout](drawn(SIZES[2]))
    check(lambda t: nnf.interpolate(t, (9, 4), mode=mode), x, backend, device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_the_nearest_is_the_same_of_all_sizes(
    mode: str, dtype: torch.dtype, device: torch.device
) -> None:
    """Places are rounded in FLOAT32: one step in the last digit is another element."""
    for size in range(1, 60, 3):
        x = torch.arange(size * 2.0).reshape(1, 2, size).to(dtype)
        for out in (1, 7, 29, 49, 50, 98, 99):
            expected = nnf.interpolate(x, out, mode=mode)
            seen = nnf.interpolate(x.to(device), out, mode=mode)
            torch.testing.assert_close(seen.cpu(), expected, rtol=0, atol=0)


DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
MOVES: dict[str, Callable[[Tensor], Tensor]] = {
    "flip": lambda t: t.flip(1),
    "flip of all": lambda t: t.flip(0, 1, 2, -1),
    "flip of none": lambda t: t.flip(()),
    "turn": lambda t: t.rot90(1, (2, 3)),
    "roll": lambda t: t.roll(2, 1),
    "roll back": lambda t: t.roll((-7, 3), (2, -1)),
    "roll twice": lambda t: t.roll((1, 1), (2, 2)),
    "roll of all": lambda t: t.roll(5),
    "cat": lambda t: torch.cat([t, t[:, :1], t], 1),
    "cat with nothing": lambda t: torch.cat([t, t.new_empty(0), t], -1),
    "cat with a part that is empty": lambda t: torch.cat([t, t[:0]]),
    "cat of two dtypes": lambda t: torch.cat([t, t.float()], 2),
    "stack": lambda t: torch.stack([t, t], 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MOVES)
def test_moves(
    name: str, dtype: torch.dtype, layout: str, backend: DeviceModule, device: torch.device
) -> None:
    x = LAYOUTS[layout](drawn(SIZES[2]).mul(3).relu().to(dtype))
    here = torch.empty_strided(x.shape, x.stride(), dtype=dtype, device=device)
    here.copy_(x.to(device))
    expected = MOVES[name](x)
    backend.reset_fallbacks()
    seen = MOVES[name](here)
    assert backend.fallbacks() == []
    assert seen.stride() == expected.stride()
    torch.testing.assert_close(seen.cpu(), expected, rtol=0, atol=0)


def test_signs_of_zeros_and_what_is_no_number_are_moved(device: torch.device) -> None:
    x = torch.tensor([[[0.0, -0.0, float("nan"), float("inf"), -float("inf")]]])
    for move in (
        lambda t: nnf.pad(t, (2, 2), mode="reflect"),
        lambda t: nnf.pad(t, (2, 2), mode="replicate"),
        lambda t: nnf.interpolate(t, scale_factor=2),
        lambda t: t.flip(2),
        lambda t: torch.cat([t, t]),
    ):
        seen, expected = move(x.to(device)).cpu(), move(x)
        torch.testing.assert_close(seen, expected, equal_nan=True, rtol=0, atol=0)
        assert torch.equal(seen.signbit(), expected.signbit())


def test_gradients_of_moves(backend: DeviceModule, device: torch.device) -> None:
    for name in ("flip", "turn", "roll back", "cat", "stack"):
        check(MOVES[name], drawn(SIZES[2]), backend, device)


@pytest.mark.parametrize(
    "odd",
    [
        lambda x: nnf.pad(x, (7, 0), mode="reflect"),
        lambda x: nnf.pad(x, (-4, -4), mode="replicate"),
        lambda x: nnf.interpolate(x, 0),
        lambda x: nnf.interpolate(x.long(), 4, mode="linear"),
        lambda x: torch.cat([x, x[:, :1]], 2),
        lambda x: torch.cat([x, x], 3),
        lambda x: x.roll((1, 2), 1),
        lambda x: x.roll(1, 4),
        lambda x: x.flip(1, 1),
        lambda x: x.flip(5),
    ],
)
def test_what_pytorch_refuses_is_refused(
    odd: Callable[[Tensor], Tensor], device: torch.device
) -> None:
    with pytest.raises((RuntimeError, IndexError)) as on_host:
        odd(torch.ones(2, 3, 7))
    with pytest.raises(type(on_host.value)):
        odd(torch.ones(2, 3, 7, device=device))


def test_empty_batches(device: torch.device) -> None:
    x = torch.empty(0, 3, 5, 6, device=device)
    assert nnf.pad(x, (1, 1, 1, 1), mode="reflect").shape == (0, 3, 7, 8)
    assert nnf.interpolate(x, scale_factor=2).shape == (0, 3, 10, 12)
    assert x.flip(0).shape == x.roll(1, 0).shape == torch.cat([x, x]).shape == x.shape


def test_other_sizes_make_no_other_program(backend: DeviceModule, device: torch.device) -> None:
    """A size is a number of the launch, and so is a scale."""

    def run(size: int) -> None:
        x = drawn((2, 3, size, size + 1)).to(device).requires_grad_()
        out = nnf.interpolate(nnf.max_pool2d(x, 3, 2, 1), (size - 1, 7), mode="bilinear")
        nnf.adaptive_avg_pool2d(nnf.pad(out, (1, 2, 1, 1), mode="reflect"), 3).sum().backward()

    run(11)
    before = backend.plans().programs
    for size in (10, 12, 15, 23):
        run(size)
    assert backend.plans().programs == before
