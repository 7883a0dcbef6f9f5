# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions by the generic kernel: one to three dimensions, transposed or not, with gradients.

Values are held against those of float64, as test_products.py says; strides are PyTorch's CPU's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TERMS = 300  # no sum here has more products
STEPS = 2


@dataclass(frozen=True)
class Case:
    """One convolution; a number stands for each dimension."""

    image: tuple[int, ...] = (7, 6)
    window: tuple[int, ...] = (3, 2)
    channels: int = 4
    filters: int = 6
    stride: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    transposed: bool = False
    output_padding: tuple[int, ...] = (0, 0)
    has_bias: bool = True

    def sizes(self) -> list[tuple[int, ...]]:
        """Returns those of input, weight and bias."""
        inner, outer = self.channels, self.filters
        front = (inner, outer // self.groups) if self.transposed else (outer, inner // self.groups)
        return [(2, inner, *self.image), (*front, *self.window), (outer,)]

    def call(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return torch.convolution(
            x,
            weight,
            bias if self.has_bias else None,
            self.stride,
            self.padding,
            self.dilation,
            self.transposed,
            self.output_padding,
            self.groups,
        )


ONE: dict[str, Any] = {"stride": (2,), "padding": (1,), "dilation": (1,), "output_padding": (0,)}
THREE: dict[str, Any] = {
    "image": (4, 5, 3), "window": (2, 3, 1), "stride": (1, 2, 1), "padding": (1, 0, 0),
    "dilation": (2, 1, 1), "output_padding": (0, 0, 0),
}  # fmt: skip
CASES: dict[str, Case] = {
    "plain": Case(),
    "no bias": Case(has_bias=False),
    "strided": Case(stride=(2, 3)),
    "padded": Case(padding=(2, 1)),
    "dilated": Case(dilation=(2, 3)),
    "groups": Case(groups=2),
    "depthwise": Case(filters=8, groups=4, padding=(1, 1)),
    "one by one": Case(window=(1, 1)),
    "one channel": Case(channels=1, filters=1),
    "one place": Case(image=(3, 2)),
    "all of it": Case(stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
    "one dimension": Case(image=(9,), window=(3,), **ONE),
    "one dimension, groups": Case(image=(9,), window=(3,), groups=2, **ONE),
    "three dimensions": Case(**THREE),
    "three dimensions, groups": Case(groups=2, **THREE),
    "transposed": Case(transposed=True),
    "transposed, strided": Case(transposed=True, stride=(2, 3), output_padding=(1, 2)),
    "transposed, all of it": Case(
        transposed=True, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2
    ),
    "transposed, no bias": Case(transposed=True, has_bias=False, padding=(1, 1)),
    "transposed, depthwise": Case(transposed=True, filters=4, groups=4),
    "transposed, one dimension": Case(transposed=True, image=(9,), window=(3,), **ONE),
    "transposed, three dimensions": Case(transposed=True, **THREE),
}


def channels_last(t: Tensor) -> Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return t.to(memory_format=formats[t.dim()]) if t.dim() in formats else t


# Of input, weight and gradient.
LAYOUTS: dict[str, list[Callable[[Tensor], Tensor]]] = {
    "plain": [lambda t: t] * 3,
    "last": [channels_last] * 3,
    "input last": [channels_last, lambda t: t, lambda t: t],
    "weight last": [lambda t: t, channels_last, lambda t: t],
    "turned": [lambda t: t.transpose(0, 1).contiguous().transpose(0, 1)] * 3,
    "stepped": [lambda t: t.repeat_interleave(2, -1)[..., ::2]] * 3,
    "expanded": [lambda t: t[:1].expand(t.shape)] * 3,
}


@pytest.fixture(autouse=True)
def served(backend: DeviceModule, device: torch.device) -> Iterator[None]:
    """Skips where the backend does not offer the kernel; PyTorch's own warnings are not ours."""
    backend.reset_routes()
    functional.conv1d(torch.ones(1, 1, 3, device=device), torch.ones(1, 1, 2, device=device))
    if "generic" not in {r.route for r in backend.routes() if "convolution" in r.operator}:
        pytest.skip("the backend does not offer tbk::convolution")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


Change = Callable[[Tensor], Tensor]


def results(
    case: Case, layout: str, dtype: torch.dtype, where: Any = "cpu", change: Change = lambda t: t
) -> list[Tensor]:
    """Returns the convolution and its gradients, of operands that `change` has changed."""
    seen = LAYOUTS[layout]
    made = [change(values(size, dtype, i)).to(where) for i, size in enumerate(case.sizes())]
    x, weight, bias = seen[0](made[0]), seen[1](made[1]), made[2]
    leaves = [each.detach().requires_grad_() for each in (x, weight, bias)][: 2 + case.has_bias]
    out = case.call(leaves[0], leaves[1], leaves[2] if case.has_bias else None)
    gradient = seen[2](change(values(tuple(out.shape), dtype, 9)).to(where))
    return [out.detach(), *torch.autograd.grad(out, leaves, gradient)]


def check_values(mine: list[Tensor], case: Case, layout: str, dtype: torch.dtype) -> None:
    exact = results(case, layout, dtype, change=lambda t: t.double())
    sizes = results(case, layout, dtype, change=lambda t: t.double().abs())
    summed = torch.finfo(dtype if dtype == torch.float64 else torch.float32).eps
    for one, value, size in zip(mine, exact, sizes, strict=True):
        limit = (2 * TERMS * summed + STEPS * torch.finfo(dtype).eps) * size
        assert bool(((one.cpu().double() - value).abs() <= limit).all())


def strides(t: Tensor) -> list[int]:
    """Returns those that matter."""
    return [stride for size, stride in zip(t.shape, t.stride(), strict=True) if size > 1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_each_is_as_on_the_cpu(
    name: str, layout: str, backend: DeviceModule, device: torch.device
) -> None:
    case = CASES[name]
    for dtype in REAL if layout in ("plain", "last") else REAL[:2]:
        like, mine = results(case, layout, dtype), results(case, layout, dtype, device)
        for one, other in zip(mine, like, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            # Of half precision and three dimensions, they are a matter of the processor.
            if dtype not in (torch.float16, torch.bfloat16) or len(case.image) < 3:
                assert strides(one) == strides(other)
        check_values(mine, case, layout, dtype)


@pytest.mark.parametrize("name", CASES)
def test_none_falls_back(name: str, backend: DeviceModule, device: torch.device) -> None:
    for dtype in REAL:
        backend.reset_fallbacks()
        backend.reset_routes()
        results(CASES[name], "plain", dtype, device)
        assert backend.fallbacks() == []
        counted = {(r.operator, r.dtype, r.route, r.count) for r in backend.routes()}
        assert ("aten::convolution_overrideable", dtype, "generic", 1) in counted
        assert ("aten::convolution_backward_overrideable", dtype, "composed", 1) in counted


@pytest.mark.parametrize(
    "wanted", [(True, False, False), (False, True, False), (False, False, True)]
)
@pytest.mark.parametrize("name", ["plain", "transposed, all of it"])
def test_what_is_not_asked_for_is_not_made(
    name: str, wanted: tuple[bool, ...], device: torch.device
) -> None:
    case = CASES[name]
    leaves = [values(size, torch.float32, i).to(device) for i, size in enumerate(case.sizes())]
    for leaf, is_wanted in zip(leaves, wanted, strict=True):
        leaf.requires_grad_(is_wanted)
    case.call(leaves[0], leaves[1], leaves[2]).sum().backward()
    assert tuple(leaf.grad is not None for leaf in leaves) == wanted
    like = [values(size, torch.float32, i).requires_grad_() for i, size in enumerate(case.sizes())]
    case.call(like[0], like[1], like[2]).sum().backward()
    for mine, other in zip(leaves, like, strict=True):
        if mine.grad is not None:
            torch.testing.assert_close(mine.grad.cpu(), other.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["plain", "all of it", "one dimension", "transposed, all of it"])
def test_gradients_have_gradients(name: str, device: torch.device) -> None:
    case = CASES[name]
    leaves = [values(size, torch.float64, i).to(device) for i, size in enumerate(case.sizes())]
    for leaf in leaves:
        leaf.requires_grad_()
    assert torch.autograd.gradcheck(case.call, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(case.call, leaves, fast_mode=True)


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "an image alone": lambda x, w, b: functional.conv2d(x[0], w, b),
    "no image": lambda x, w, b: functional.conv2d(x[:0], w, b),
    "same padding": lambda x, w, b: functional.conv2d(x, w, b, padding="same"),
    "integers": lambda x, w, b: functional.conv2d(x.long(), w.long(), b.long()),
    "integers, transposed": lambda x, w, b: functional.conv_transpose2d(
        x.long(), w.mT.transpose(0, 1).long(), b.long()
    ),
    "narrow integers": lambda x, w, b: functional.conv2d(x.char(), w.char(), b.char()),
    "complex numbers": lambda x, w, b: functional.conv2d(
        torch.complex(x, x), torch.complex(w, w), torch.complex(b, b)
    ),
    "one padding, then another": lambda x, w, b: (
        functional.conv2d(x, w, b, padding=1, dilation=1).sum()
        + functional.conv2d(x, w, b, padding=2, dilation=2)
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_are_as_on_the_cpu(
    name: str, backend: DeviceModule, device: torch.device
) -> None:
    shapes: list[tuple[int, ...]] = [(2, 4, 7, 6), (5, 4, 3, 3), (5,)]
    given = [values(shape, torch.float32, i) * 3 for i, shape in enumerate(shapes)]
    like = FORMS[name](*given)
    backend.reset_fallbacks()
    mine = FORMS[name](*(each.to(device) for each in given))
    assert not [row for row in backend.fallbacks() if "convolution" in row.operator]
    assert (mine.shape, mine.stride()) == (like.shape, like.stride())
    torch.testing.assert_close(mine.cpu(), like, rtol=1e-4, atol=1e-4)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "channels": lambda d: functional.conv2d(
        torch.ones(1, 3, 5, 5, device=d), torch.ones(2, 4, 3, 3, device=d)
    ),
    "a window too large": lambda d: functional.conv1d(
        torch.ones(1, 1, 3, device=d), torch.ones(1, 1, 5, device=d)
    ),
    "padding": lambda d: functional.conv1d(
        torch.ones(1, 1, 3, device=d), torch.ones(1, 1, 2, device=d), padding=-1
    ),
    "output padding": lambda d: functional.conv_transpose2d(
        torch.ones(1, 1, 3, 3, device=d, dtype=torch.float64),
        torch.ones(1, 1, 2, 2, device=d, dtype=torch.float64),
        output_padding=1,
    ),
    "dtypes": lambda d: functional.conv1d(
        torch.ones(1, 1, 3, device=d), torch.ones(1, 1, 2, device=d).double()
    ),
    "a bias of another size": lambda d: functional.conv1d(
        torch.ones(1, 1, 3, device=d), torch.ones(1, 1, 2, device=d), torch.ones(2, device=d)
    ),
    "narrow integers, transposed": lambda d: functional.conv_transpose2d(
        torch.ones(1, 1, 3, 3, device=d).int(), torch.ones(1, 1, 2, 2, device=d).int()
    ),
    "narrow integers, dilated": lambda d: functional.conv2d(
        torch.ones(1, 1, 3, 3, device=d).int(), torch.ones(1, 1, 2, 2, device=d).int(), dilation=2
    ),
    "truth values": lambda d: functional.conv1d(
        torch.ones(1, 1, 3, device=d).bool(), torch.ones(1, 1, 2, device=d).bool()
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name: str, device: torch.device) -> None:
    with pytest.raises(RuntimeError) as on_host:
        REFUSED[name]("cpu")
    with pytest.raises(type(on_host.value)):
        REFUSED[name](device)


@pytest.mark.parametrize("route", ["named", "generic", "composed", "fallback"])
def test_each_route_gives_the_same(route: Any, backend: DeviceModule, device: torch.device) -> None:
    for name in ("plain", "all of it", "transposed"):
        backend.reset_routes()
        with backend.forced_route(route):
            mine = results(CASES[name], "plain", torch.float32, device)
        check_values(mine, CASES[name], "plain", torch.float32)
        taken = {row.route for row in backend.routes() if "convolution" in row.operator}
        assert taken == ({route, "fallback"} if route in ("generic", "composed") else {"fallback"})


def test_steps_of_training_plan_nothing_new(backend: DeviceModule, device: torch.device) -> None:
    layers = [torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.ConvTranspose2d(4, 3, 3)]
    model = torch.nn.Sequential(*layers).to(device)
    for each in model.parameters():
        each.data = channels_last(each.data)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = channels_last(values((2, 3, 8, 8), torch.float32, 1)).to(device)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    first = step()
    before = backend.plans()
    backend.reset_fallbacks()
    for _ in range(5):
        last = step()
    assert backend.plans() == before
    assert backend.fallbacks() == []
    assert last.item() < first.item()
