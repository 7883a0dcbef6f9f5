# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Pooling as compositions, in the shapes, dtypes and forms that PyTorch's CPU takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional as nnf

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
# Sums in another order, and half precision that PyTorch's CPU may round once more.
LIMITS = {torch.float32: 2e-6, torch.float64: 2e-15, torch.float16: 2e-3, torch.bfloat16: 2e-2}
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "channels last": lambda t: t.to(
        memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d
    ),
    "turned": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "stepped": lambda t: t.repeat_interleave(2, 0)[::2],
}
AVERAGES: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (2, {"kernel_size": 2}),
    "overlapping": (2, {"kernel_size": 3, "stride": 2, "padding": 1}),
    "without padding": (2, {"kernel_size": 3, "padding": 1, "count_include_pad": False}),
    "ceiled": (2, {"kernel_size": (3, 2), "stride": (2, 3), "padding": 1, "ceil_mode": True}),
    "ceiled without padding": (2, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True,
                                   "count_include_pad": False}),
    "divisor": (2, {"kernel_size": (2, 3), "divisor_override": 5}),
    "gaps": (2, {"kernel_size": 2, "stride": 3}),
    "one": (2, {"kernel_size": 1}),
    "one divided": (2, {"kernel_size": 1, "divisor_override": 3}),
    "all": (2, {"kernel_size": (6, 7)}),
    "volume": (3, {"kernel_size": 2}),
    "volume with all": (3, {"kernel_size": (3, 2, 3), "stride": 2, "padding": 1, "ceil_mode": True,
                            "divisor_override": 7}),
}  # fmt: skip
GREATEST: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (2, {"kernel_size": 2}),
    "overlapping": (2, {"kernel_size": 3, "stride": 2, "padding": 1}),
    "dilated": (2, {"kernel_size": (2, 3), "dilation": (2, 3), "padding": (1, 1), "stride": 1}),
    "dilated by steps": (2, {"kernel_size": 3, "dilation": 2, "padding": 1, "stride": 2}),
    "ceiled": (2, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    "gaps": (2, {"kernel_size": 2, "stride": 3}),
    "one": (2, {"kernel_size": 1}),
    "volume": (3, {"kernel_size": 2}),
    "volume with all": (3, {"kernel_size": (3, 2, 2), "stride": (1, 2, 1), "padding": 1,
                            "dilation": (1, 1, 2), "ceil_mode": True}),
}  # fmt: skip
ADAPTIVE: dict[str, tuple[int, ...]] = {
    "fewer": (3, 4), "one": (1, 1), "as many": (6, 7), "more": (9, 8), "uneven": (5, 2),
    "volume": (2, 3, 1), "volume of more": (5, 5, 4),
}  # fmt: skip
SIZES = {1: (3, 4, 9), 2: (2, 3, 6, 7), 3: (2, 3, 4, 5, 6)}


pytestmark = pytest.mark.usefixtures("takes_programs")


def drawn(sizes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns few different numbers, so that some are equal."""
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randint(-12, 12, sizes, generator=generator).div(3).to(dtype)


def learned(
    function: Callable[[Tensor], Any], x: Tensor, device: torch.device | str
) -> list[Tensor]:
    """Returns the results of `function`, and its gradient."""
    here = x.detach().to(device).requires_grad_()
    out = function(here)
    results = list(out) if isinstance(out, tuple) else [out]
    gradient = drawn(tuple(results[0].shape), x.dtype).to(device)
    results[0].backward(gradient)
    assert here.grad is not None
    return [*(each.detach() for each in results), here.grad]


def check(
    function: Callable[[Tensor], Any], x: Tensor, backend: DeviceModule, device: torch.device
) -> None:
    exact = learned(function, x.double(), "cpu")
    try:
        expected = learned(function, x, "cpu")
    except NotImplementedError:  # half precision in volumes
        expected = [each.to(x.dtype) for each in exact]
    backend.reset_fallbacks()
    seen = learned(function, x, device)
    assert backend.fallbacks() == []
    for one, like, value in zip(seen, expected, exact, strict=True):
        assert (one.dtype, one.shape, one.stride()) == (like.dtype, like.shape, like.stride())
        most = LIMITS[x.dtype] * (1 + value.abs()) + 2 * (like.double() - value).abs()
        wrong = (one.cpu().double() - value).abs() > most
        assert not bool(wrong.any()), (one.cpu(), like)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", AVERAGES)
def test_averages(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    rank, options = AVERAGES[name]
    pool = nnf.avg_pool2d if rank == 2 else nnf.avg_pool3d
    check(lambda x: pool(x, **options), drawn(SIZES[rank], dtype), backend, device)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", GREATEST)
def test_the_greatest(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    rank, options = GREATEST[name]
    pool = nnf.max_pool2d if rank == 2 else nnf.max_pool3d
    check(lambda x: pool(x, return_indices=True, **options), drawn(SIZES[rank], dtype), backend,
          device)  # fmt: skip


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_gradient_that_is_expanded_stays_on_the_device(
    rank: int, backend: DeviceModule, device: torch.device
) -> None:
    pool = getattr(nnf, f"max_pool{rank}d")
    x = drawn((2, 3, *[6] * rank))
    backend.reset_fallbacks()
    gradients = []
    for one in (x, x.to(device)):
        given = one.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(pool(given, 2).sum(), given)
        gradients.append(gradient.cpu())
    assert torch.equal(*gradients)
    assert not [one for one in backend.fallbacks() if "max_pool" in one.operator]


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_ones(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    sizes = ADAPTIVE[name]
    x = drawn(SIZES[len(sizes)], dtype)
    average: Any = nnf.adaptive_avg_pool2d if len(sizes) == 2 else nnf.adaptive_avg_pool3d
    greatest: Any = nnf.adaptive_max_pool2d if len(sizes) == 2 else nnf.adaptive_max_pool3d
    check(lambda t: average(t, sizes), x, backend, device)
    check(lambda t: greatest(t, sizes, return_indices=True), x, backend, device)


LINES: dict[str, Callable[[Tensor], Any]] = {
    "average": lambda t: nnf.avg_pool1d(t, 3, 2, 1),
    "greatest": lambda t: nnf.max_pool1d(t, 3, 2, 1, return_indices=True),
    "adaptive average": lambda t: nnf.adaptive_avg_pool1d(t, 4),
    "adaptive greatest": lambda t: nnf.adaptive_max_pool1d(t, 4, return_indices=True),
    "power": lambda t: nnf.lp_pool1d(t, 2, 2),
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str, backend: DeviceModule, device: torch.device) -> None:
    check(LINES[name], drawn(SIZES[1]).abs().add(1), backend, device)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rank", [2, 3])
def test_layouts_change_nothing(
    layout: str, rank: int, backend: DeviceModule, device: torch.device
) -> None:
    x = LAYOUTS[layout](drawn(SIZES[rank]))
    average = nnf.avg_pool2d if rank == 2 else nnf.avg_pool3d
    greatest = nnf.max_pool2d if rank == 2 else nnf.max_pool3d
    adaptive = nnf.adaptive_avg_pool2d if rank == 2 else nnf.adaptive_avg_pool3d
    check(lambda t: average(t, 3, 2, 1), x, backend, device)
    check(lambda t: greatest(t, 3, 2, 1, return_indices=True), x, backend, device)
    check(lambda t: adaptive(t, 2), x, backend, device)


def test_without_a_batch(backend: DeviceModule, device: torch.device) -> None:
    check(lambda t: nnf.max_pool2d(t, 2, return_indices=True), drawn((3, 6, 7)), backend, device)
    check(lambda t: nnf.avg_pool3d(t, 2), drawn((3, 4, 6, 7)), backend, device)


@pytest.mark.parametrize("layout", ["plain", "channels last"])
def test_infinities_and_what_is_no_number(layout: str, device: torch.device) -> None:
    """The last NaN of a window wins; of windows of nothing but -infinity the first place."""
    x = drawn((2, 3, 9, 8))
    x[0, :, ::3, ::2] = float("nan")
    x[0, 1, 4:6, 3:5] = float("nan")
    x[1, 1:] = -float("inf")
    x[1, 2, 3, 3] = float("inf")
    x = LAYOUTS[layout](x)
    pools: list[Callable[[Tensor], Any]] = [
        lambda t: nnf.max_pool2d(t, 3, 2, 1, return_indices=True),
        lambda t: nnf.max_pool2d(t, 2, 1, return_indices=True),
        lambda t: nnf.adaptive_max_pool2d(t, 3, return_indices=True),
    ]
    for pool in pools:
        for one, like in zip(pool(x.to(device)), pool(x), strict=True):
            torch.testing.assert_close(one.cpu(), like, equal_nan=True, rtol=0, atol=0)
    torch.testing.assert_close(nnf.avg_pool2d(x.to(device), 3).cpu(), nnf.avg_pool2d(x, 3),
                               equal_nan=True)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_integers(dtype: torch.dtype, device: torch.device) -> None:
    x = drawn((2, 3, 6, 7)).mul(3).to(dtype)
    try:
        expected = nnf.max_pool2d(x, 3, 2, 1, return_indices=True)
    except RuntimeError:
        pytest.skip("PyTorch's CPU does not pool it")
    for one, like in zip(nnf.max_pool2d(x.to(device), 3, 2, 1, return_indices=True), expected,
                         strict=True):  # fmt: skip
        torch.testing.assert_close(one.cpu(), like)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8])
def test_gradients_of_integers_are_refused(dtype: torch.dtype, device: torch.device) -> None:
    """They can be asked for by hand; PyTorch's CPU has none."""
    x, gradient = torch.ones(1, 2, 4, 4, dtype=dtype), torch.ones(1, 2, 2, 2, dtype=dtype)
    places = torch.zeros(1, 2, 2, 2, dtype=torch.int64)
    window = ([2, 2], [2, 2], [0, 0], [1, 1], False)
    calls: list[Callable[[torch.device], Any]] = [
        lambda d: torch.ops.aten.adaptive_max_pool2d_backward(
            gradient.to(d), x.to(d), places.to(d)
        ),
        lambda d: torch.ops.aten.max_pool2d_with_indices_backward(
            gradient.to(d), x.to(d), *window, places.to(d)
        ),
    ]
    for call in calls:
        words = []
        for one in (torch.device("cpu"), device):
            with pytest.raises(NotImplementedError) as raised:
                call(one)
            words.append(str(raised.value).splitlines()[0])
        assert words[0] == words[1]


def test_a_large_image(backend: DeviceModule, device: torch.device) -> None:
    x = drawn((2, 8, 65, 57))
    check(lambda t: nnf.max_pool2d(t, 3, 2, 1, return_indices=True), x, backend, device)
    check(lambda t: nnf.avg_pool2d(t, 7, 3, 2), x, backend, device)


@pytest.mark.parametrize(
    "odd",
    [
        lambda x: nnf.max_pool2d(x, 2, padding=2),
        lambda x: nnf.max_pool2d(x, 20),
        lambda x: nnf.max_pool2d(x, 0),
        lambda x: nnf.avg_pool2d(x, 2, padding=2),
        lambda x: nnf.avg_pool2d(x, 2, divisor_override=0),
        lambda x: nnf.avg_pool2d(x.long(), 2).sum() + nnf.avg_pool2d(x.bool(), 2),
        lambda x: nnf.adaptive_avg_pool2d(x, (-1, 2)),
        lambda x: nnf.adaptive_avg_pool2d(x[:, :, :0], (2, 2)),
        lambda x: nnf.max_pool3d(x[0, 0], 2),
    ],
)
def test_what_pytorch_refuses_is_refused(
    odd: Callable[[Tensor], Tensor], device: torch.device
) -> None:
    with pytest.raises(RuntimeError) as on_host:
        odd(torch.ones(2, 3, 6, 7))
    with pytest.raises(type(on_host.value)):
        odd(torch.ones(2, 3, 6, 7, device=device))


def test_empty_batches_and_given_outputs(device: torch.device) -> None:
    empty = torch.empty(0, 3, 6, 7)
    assert nnf.max_pool2d(empty.to(device), 2).shape == (0, 3, 3, 3)
    assert nnf.avg_pool2d(empty.to(device), 2).shape == (0, 3, 3, 3)
    x = drawn((2, 3, 6, 7))
    for out in (
        torch.empty(2, 3, 3, 3),
        torch.empty(0),
        torch.empty(3, 3, 3, 2).permute(3, 0, 1, 2),
    ):
        given = out.to(device)
        torch.ops.aten.avg_pool2d.out(x.to(device), [2, 2], out=given)
        torch.testing.assert_close(given.cpu(), nnf.avg_pool2d(x, 2))
