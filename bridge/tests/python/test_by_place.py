# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""arange, linspace, eye, tril and triu: programs that ask where an element is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Make = Callable[[Any], Tensor]
# PyTorch's CPU begins each vector with a rounded number; ours rounds once.
STEPS = {torch.float64: 1e-14, torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


pytestmark = pytest.mark.usefixtures("takes_programs")


def check(make: Make, backend: DeviceModule, device: torch.device, limit: float = 0) -> None:
    expected = make("cpu")
    backend.reset_fallbacks()
    seen = make(device)
    assert backend.fallbacks() == []
    assert seen.stride() == expected.stride()
    torch.testing.assert_close(seen.cpu(), expected, rtol=limit, atol=limit, equal_nan=True)


@pytest.mark.parametrize("dtype", [*STEPS, *WHOLE])
@pytest.mark.parametrize("numbers", [(7,), (3, 20), (3, 20, 4), (20, 3, -3), (5, 5), (100,)])
def test_arange(
    numbers: tuple[int, ...], dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    check(lambda where: torch.arange(*numbers, dtype=dtype, device=where), backend, device,
          STEPS.get(dtype, 0))  # fmt: skip


@pytest.mark.parametrize("dtype", STEPS)
def test_arange_of_fractions(
    dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    """Held against exact numbers: half precision of PyTorch's CPU is less exact."""
    for start, end, step in ((0.5, 9.25, 0.75), (1, -2, -0.1), (-1.0, 1.0, 0.3)):
        exact = torch.arange(start, end, step, dtype=torch.float64).to(dtype)
        backend.reset_fallbacks()
        seen = torch.arange(start, end, step, dtype=dtype, device=device)
        assert backend.fallbacks() == []
        torch.testing.assert_close(seen.cpu(), exact, rtol=STEPS[dtype], atol=STEPS[dtype])


def test_arange_of_large_numbers(backend: DeviceModule, device: torch.device) -> None:
    check(lambda where: torch.arange(2**40, 2**40 + 9, 3, device=where), backend, device)
    check(lambda where: torch.arange(0.5, 9, dtype=torch.int32, device=where), backend, device)


@pytest.mark.parametrize("dtype", STEPS)
@pytest.mark.parametrize("steps", [0, 1, 2, 7, 64, 101])
def test_linspace(
    steps: int, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    for start, end in ((0, 1), (-3.5, 2), (2, 2), (1, -1)):
        exact = torch.linspace(start, end, steps, dtype=torch.float64).to(dtype)
        backend.reset_fallbacks()
        seen = torch.linspace(start, end, steps, dtype=dtype, device=device)
        assert backend.fallbacks() == []
        torch.testing.assert_close(seen.cpu(), exact, rtol=STEPS[dtype], atol=STEPS[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("sizes", [(3,), (2, 5), (5, 2), (0, 3), (1, 1)])
def test_eye(
    sizes: tuple[int, ...], dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    check(lambda where: torch.eye(*sizes, dtype=dtype, device=where), backend, device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
@pytest.mark.parametrize("diagonal", [0, 1, -1, 2, -3, 9, -9])
@pytest.mark.parametrize("name", ["tril", "triu", "tril_", "triu_"])
def test_triangles(
    name: str, diagonal: int, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    def make(sizes: tuple[int, ...], where: Any) -> Tensor:
        x = torch.arange(1.0, 1 + torch.Size(sizes).numel()).reshape(sizes).to(dtype)
        made: Tensor = getattr(x.to(where), name)(diagonal)
        return made

    for sizes in ((4, 4), (2, 3, 5), (2, 2, 5, 3), (1, 6)):
        check(partial(make, sizes), backend, device)


TURNS: dict[str, Callable[[Tensor], Tensor]] = {
    "turned": lambda t: t.transpose(0, 2),
    "stepped": lambda t: t[:, ::2],
    "expanded": lambda t: t[:1].expand(3, 4, 5),
}


@pytest.mark.parametrize("turn", TURNS)
def test_triangles_of_layouts(turn: str, backend: DeviceModule, device: torch.device) -> None:
    x = torch.arange(60.0).reshape(3, 4, 5)
    x[0, 0, 4] = float("nan")
    check(lambda where: TURNS[turn](x.to(where)).tril(), backend, device)


def test_a_triangle_is_cut_where_it_is(device: torch.device) -> None:
    view = torch.arange(60.0).reshape(3, 4, 5).to(device)
    view.transpose(0, 2).triu_()
    expected = torch.arange(60.0).reshape(3, 4, 5)
    expected.transpose(0, 2).triu_()
    torch.testing.assert_close(view.cpu(), expected)


def test_a_triangle_has_a_gradient(device: torch.device) -> None:
    x = torch.ones(3, 3, device=device, requires_grad=True)
    x.tril().sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad.cpu(), torch.ones(3, 3).tril())


@pytest.mark.parametrize(
    "odd",
    [
        lambda where: torch.arange(3, 1, device=where),
        lambda where: torch.arange(0, 3, 0, device=where),
        lambda where: torch.arange(0, float("inf"), device=where),
        lambda where: torch.linspace(0, 1, -1, device=where),
        lambda where: torch.eye(-1, device=where),
        lambda where: torch.ones(3, device=where).tril(),
    ],
)
def test_what_pytorch_refuses_is_refused(
    odd: Callable[[Any], Tensor], device: torch.device
) -> None:
    with pytest.raises(RuntimeError) as on_host:
        odd("cpu")
    with pytest.raises(type(on_host.value)):
        odd(device)


def test_given_outputs(device: torch.device) -> None:
    out = torch.empty(12, device=device)[::2]
    torch.arange(6, out=out)
    torch.testing.assert_close(out.cpu(), torch.arange(6.0))
    empty = torch.empty(0, device=device)
    torch.linspace(0, 1, 5, out=empty)
    torch.testing.assert_close(empty.cpu(), torch.linspace(0, 1, 5))


def made_by(function: Callable[..., Tensor], *numbers: Any, **options: Any) -> Make:
    return lambda where: function(*numbers, device=where, **options)


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_between(
    dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    """Truncated, so that a rounding more would show."""
    for ends in ((0, 100, 7), (90, 3, 118), (16.5, 72, 34), (3.9, 8, 1), (5, 2, 0)):
        check(made_by(torch.linspace, *ends, dtype=dtype), backend, device)
    for powers in ((0, 6, 7, 2.0), (0, 2, 9, 10.0), (4, 0.9, 11, 3.0), (1.7, 3, 1, 2.0)):
        check(made_by(torch.logspace, *powers, dtype=dtype), backend, device)


def test_whole_numbers_between_tensors(backend: DeviceModule, device: torch.device) -> None:
    for between in (torch.linspace, torch.logspace):
        ends = torch.tensor(-2), torch.tensor(5)
        check(made_by(between, *ends, 9, dtype=torch.int64), backend, device)


@pytest.mark.parametrize("make", [torch.tril_indices, torch.triu_indices])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_indices_of_triangles(
    make: Callable[..., Tensor], dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    for sizes in itertools.product((1, 4), (0, 1, 3, 6), (-9, -2, 0, 1, 9)):
        check(made_by(make, *sizes, dtype=dtype), backend, device)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16])
def test_permutations(dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    """Each number once, another order for the next call, and the same for the seed."""
    backend.reset_fallbacks()
    torch.manual_seed(5)
    first, second = (torch.randperm(700, dtype=dtype, device=device).cpu() for _ in range(2))
    torch.manual_seed(5)
    assert torch.equal(torch.randperm(700, dtype=dtype, device=device).cpu(), first)
    assert backend.fallbacks() == []
    assert not torch.equal(first, second)
    for seen in (first, second):
        assert torch.equal(seen.sort().values, torch.arange(700, dtype=dtype))
    generator = torch.Generator(device).manual_seed(1)
    out = torch.empty(9, dtype=dtype, device=device)
    assert torch.randperm(9, generator=generator, out=out) is out
    assert out.cpu().sort().values.tolist() == list(range(9))
