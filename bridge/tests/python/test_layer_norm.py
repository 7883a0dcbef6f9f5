# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Layer norm as a composition, in the shapes, dtypes and forms that PyTorch's CPU takes.

Its values are held against those of float64, and may be off where the CPU's are: it rounds mean and
scale to half, and of a row of one element nothing is left but roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
LIMITS = {torch.float32: 2e-5, torch.float64: 1e-12, torch.float16: 1e-2, torch.bfloat16: 8e-2}
SHAPES = {"rows": ((6, 5), 1), "images": ((2, 3, 4, 5), 3), "one row": ((1, 7), 1),
          "one column": ((4, 1), 1), "long": ((3, 1000), 1)}  # fmt: skip
FORMS = {"plain": (False, False), "weight": (True, False), "both": (True, True)}
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "turned": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "stepped": lambda t: t.repeat_interleave(2, 0)[::2],
}


pytestmark = pytest.mark.usefixtures("takes_programs")


def operands(shape: tuple[int, ...], inner: int, dtype: torch.dtype) -> list[Tensor]:
    """Returns input, gradient, weight and bias; far from 0, where what is left is small."""
    generator = torch.Generator().manual_seed(3)
    sizes = (shape, shape, shape[-inner:], shape[-inner:])
    return [torch.randn(each, generator=generator).add(2).to(dtype) for each in sizes]


def both(
    tensors: list[Tensor], inner: int, form: str, device: torch.device | str
) -> tuple[Tensor, ...]:
    """Returns the three results, and the three gradients of the first."""
    there = [each.to(device) for each in tensors]
    has_weight, has_bias = FORMS[form]
    x, gradient = there[:2]
    weight, bias = there[2] if has_weight else None, there[3] if has_bias else None
    shape = list(x.shape[-inner:])
    out = torch.ops.aten.native_layer_norm(x, shape, weight, bias, 1e-5)
    wanted = [True, has_weight, has_bias]
    back = torch.ops.aten.native_layer_norm_backward(
        gradient, x, shape, out[1], out[2], weight, bias, wanted
    )
    return (*out, *(one for one, is_asked in zip(back, wanted, strict=True) if is_asked))


def check(tensors: list[Tensor], inner: int, form: str, device: torch.device) -> None:
    expected, seen = both(tensors, inner, form, "cpu"), both(tensors, inner, form, device)
    exact = both([each.double() for each in tensors], inner, form, "cpu")
    limit = LIMITS[tensors[0].dtype]
    for one, like, value in zip(seen, expected, exact, strict=True):
        assert (one.dtype, one.shape, one.stride()) == (like.dtype, like.shape, like.stride())
        most = limit * (1 + value.abs()) + 2 * (like.double() - value).abs()
        assert bool(((one.cpu().double() - value).abs() <= most).all())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", SHAPES)
def test_it_gives_what_the_host_gives(
    name: str, dtype: torch.dtype, form: str, device: torch.device
) -> None:
    shape, inner = SHAPES[name]
    check(operands(shape, inner, dtype), inner, form, device)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_change_nothing(layout: str, device: torch.device) -> None:
    tensors = operands((6, 4, 5), 2, torch.float32)
    check([LAYOUTS[layout](each) for each in tensors[:2]] + tensors[2:], 2, "both", device)


def test_a_module_learns_without_the_host(backend: DeviceModule, device: torch.device) -> None:
    layer = torch.nn.LayerNorm(8).to(device)
    x = torch.randn(4, 8).to(device).requires_grad_()
    backend.reset_fallbacks()
    layer(x).square().mean().backward()
    assert backend.fallbacks() == []
    assert {row.route for row in backend.routes() if "layer_norm" in row.operator} == {"composed"}


@pytest.mark.parametrize(
    "odd",
    [
        lambda x: torch.nn.functional.layer_norm(x, (7,)),
        lambda x: torch.nn.functional.layer_norm(x, ()),
        lambda x: torch.nn.functional.layer_norm(x, (5,), torch.ones(4, device=x.device)),
        lambda x: torch.nn.functional.layer_norm(x.long(), (5,)),
    ],
)
def test_what_pytorch_refuses_is_refused(
    odd: Callable[[Tensor], Tensor], device: torch.device
) -> None:
    with pytest.raises(RuntimeError) as on_host:
        odd(torch.ones(3, 5))
    with pytest.raises(type(on_host.value)):
        odd(torch.ones(3, 5, device=device))


@pytest.mark.parametrize("shape", [(5,), (0, 5), (3, 0)])
def test_what_is_not_composed_falls_back(shape: tuple[int, ...], device: torch.device) -> None:
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    expected = torch.nn.functional.layer_norm(x, shape[-1:])
    seen = torch.nn.functional.layer_norm(x.to(device), shape[-1:])
    torch.testing.assert_close(seen.cpu(), expected)
