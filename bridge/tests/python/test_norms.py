# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Batch norm and group norm as compositions, in the shapes, dtypes and forms that the CPU takes.

Their values are held against those of float64, and may be off where the CPU's are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Results = list[Tensor | None]
LIMITS = {torch.float32: 4e-5, torch.float64: 1e-11, torch.float16: 1e-2, torch.bfloat16: 8e-2}
# The dtypes of the input and of parameters: the ones of mixed precision are wider.
DTYPES = [*((each, each) for each in LIMITS), (torch.bfloat16, torch.float32)]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "channels last": lambda t: t.to(memory_format=torch.channels_last),
    "turned": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "stepped": lambda t: t.repeat_interleave(2, 0)[::2],
}
SHAPES = {"rows": (6, 4), "lines": (3, 4, 7), "images": (2, 6, 3, 5), "volumes": (2, 4, 2, 3, 4),
          "one image": (1, 4, 3, 3), "long": (2, 2, 4000)}  # fmt: skip


pytestmark = pytest.mark.usefixtures("takes_programs")


def drawn(*sizes: int, shift: float = 0.0) -> Tensor:
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randn(sizes, generator=generator).add(shift)


def batch_norm(
    tensors: list[Tensor], dtype: torch.dtype, training: bool, form: str, device: str
) -> Results:
    """Returns results, running statistics and gradients."""
    x, gradient = (each.to(device) for each in tensors)
    channels = x.shape[1]
    has_weight, has_running = "weight" in form, "running" in form
    here = [drawn(channels, shift=2).abs().to(dtype).to(device) for _ in range(4)]
    weight, bias = here[:2] if has_weight else (None, None)
    mean, variance = here[2:] if has_running else (None, None)
    aten = torch.ops.aten
    out = aten.native_batch_norm(x, weight, bias, mean, variance, training, 0.25, 1e-5)
    wanted = [True, has_weight, has_weight]
    back = aten.native_batch_norm_backward(
        gradient, x, weight, mean, variance, out[1], out[2], training, 1e-5, wanted
    )
    return [*out, mean, variance, *(one for one, asked in zip(back, wanted, strict=True) if asked)]


def group_norm(tensors: list[Tensor], dtype: torch.dtype, groups: int, device: str) -> Results:
    """Returns results and gradients."""
    x, gradient = (each.to(device) for each in tensors)
    batch, channels = x.shape[:2]
    weight, bias = (drawn(channels, shift=each).to(dtype).to(device) for each in (1, 2))
    sizes = (batch, channels, x.numel() // batch // channels, groups)
    out = torch.ops.aten.native_group_norm(x, weight, bias, *sizes, 1e-5)
    back = torch.ops.aten.native_group_norm_backward(
        gradient, x, out[1], out[2], weight, *sizes, [True] * 3
    )
    return [*out, *back]


def check(
    run: Callable[[list[Tensor], torch.dtype, str], Results],
    tensors: list[Tensor],
    dtype: torch.dtype,
    device: torch.device,
) -> None:
    """`dtype` is the one of the parameters."""
    expected, seen = run(tensors, dtype, "cpu"), run(tensors, dtype, str(device))
    exact = run([each.double() for each in tensors], torch.float64, "cpu")
    limit = LIMITS[tensors[0].dtype]
    for one, like, value in zip(seen, expected, exact, strict=True):
        assert (one is None) == (like is None)
        if one is None or like is None or value is None:
            continue
        assert (one.dtype, one.shape, one.stride()) == (like.dtype, like.shape, like.stride())
        most = limit * (1 + value.abs()) + 2 * (like.double() - value).abs()
        assert bool(((one.cpu().double() - value).abs() <= most).all())


@pytest.mark.parametrize("form", ["plain", "weight", "running", "weight and running"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_batch_norm_gives_what_the_host_gives(
    name: str,
    dtypes: tuple[torch.dtype, torch.dtype],
    training: bool,
    form: str,
    backend: DeviceModule,
    device: torch.device,
) -> None:
    if not training and "running" not in form:
        pytest.skip("there is nothing to normalize by")
    tensors = [drawn(*SHAPES[name], shift=each).to(dtypes[0]) for each in (2, 0)]
    backend.reset_fallbacks()
    check(lambda *args: batch_norm(args[0], args[1], training, form, args[2]), tensors, dtypes[1],
          device)  # fmt: skip
    assert backend.fallbacks() == []


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_group_norm_gives_what_the_host_gives(
    name: str,
    dtypes: tuple[torch.dtype, torch.dtype],
    groups: int,
    backend: DeviceModule,
    device: torch.device,
) -> None:
    tensors = [drawn(*SHAPES[name], shift=each).to(dtypes[0]) for each in (2, 0)]
    backend.reset_fallbacks()
    check(lambda *args: group_norm(args[0], args[1], groups, args[2]), tensors, dtypes[1], device)
    assert backend.fallbacks() == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_change_nothing(layout: str, device: torch.device) -> None:
    tensors = [LAYOUTS[layout](drawn(2, 4, 3, 5, shift=each)) for each in (2, 0)]
    form = "weight and running"
    check(lambda *args: batch_norm(args[0], args[1], True, form, args[2]), tensors, torch.float32,
          device)  # fmt: skip
    # Of a gradient in another format than the input PyTorch's CPU makes something else.
    tensors = [each.contiguous(memory_format=torch.channels_last) for each in tensors]
    check(lambda *args: group_norm(args[0], args[1], 2, args[2]), tensors, torch.float32, device)


MODULES: dict[str, Callable[[], torch.nn.Module]] = {
    "batch norm": lambda: torch.nn.BatchNorm2d(4),
    "cumulative": lambda: torch.nn.BatchNorm2d(4, momentum=None),
    "without weights": lambda: torch.nn.BatchNorm2d(4, affine=False),
    "without statistics": lambda: torch.nn.BatchNorm2d(4, track_running_stats=False),
    "instance norm": lambda: torch.nn.InstanceNorm2d(4),
    "instance norm with all": lambda: torch.nn.InstanceNorm2d(
        4, affine=True, track_running_stats=True
    ),
    "group norm": lambda: torch.nn.GroupNorm(2, 4),
    "group norm without weights": lambda: torch.nn.GroupNorm(2, 4, affine=False),
}


def trained(make: Callable[[], torch.nn.Module], device: torch.device | str) -> list[Tensor]:
    """Returns what two steps and one of evaluation make of a module, gradients and state."""
    module = make().to(device)
    x = drawn(3, 4, 5, 2, shift=1).to(device).requires_grad_()
    for training in (True, True, False):
        out = module.train(training)(x)
        out.mul(torch.linspace(-1, 1, 120).reshape_as(x).to(device)).sum().backward()
    assert x.grad is not None
    grads = [each.grad for each in module.parameters() if each.grad is not None]
    return [out.detach(), x.grad, *grads, *(each.clone() for each in module.buffers())]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_learns_without_the_host(
    name: str, backend: DeviceModule, device: torch.device
) -> None:
    expected = trained(MODULES[name], "cpu")
    backend.reset_fallbacks()
    seen = trained(MODULES[name], device)
    assert backend.fallbacks() == []
    for one, like in zip(seen, expected, strict=True):
        torch.testing.assert_close(one.cpu(), like, rtol=1e-4, atol=1e-5)


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]]] = {
    "legit": lambda x, m, v: torch.ops.aten._native_batch_norm_legit(
        x, None, None, m, v, True, 0.5, 1e-5
    ),
    "legit without statistics": lambda x, m, v: torch.ops.aten._native_batch_norm_legit.no_stats(
        x, None, None, True, 0.5, 1e-5
    ),
    "no training": lambda x, m, v: torch.ops.aten._native_batch_norm_legit_no_training(
        x, None, None, m, v, 0.5, 1e-5
    ),
    "with update": lambda x, m, v: torch.ops.aten._batch_norm_with_update(
        x, None, None, m, v, 0.5, 1e-5
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_are_the_same(name: str, backend: DeviceModule, device: torch.device) -> None:
    def run(where: torch.device | str) -> list[Tensor]:
        mean, variance = torch.zeros(4).to(where), torch.ones(4).to(where)
        return [*FORMS[name](drawn(3, 4, 5).to(where), mean, variance), mean, variance]

    backend.reset_fallbacks()
    seen = run(device)
    assert backend.fallbacks() == []
    for one, like in zip(seen, run("cpu"), strict=True):
        torch.testing.assert_close(one.cpu(), like)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_in_its_part(value: float, device: torch.device) -> None:
    x = drawn(2, 4, 3)
    x[1, 2, 0] = value
    norms: list[Callable[[Tensor], Tensor]] = [
        lambda t: torch.nn.functional.batch_norm(t, None, None, training=True),
        lambda t: torch.nn.functional.group_norm(t, 2),
    ]
    for run in norms:
        torch.testing.assert_close(run(x.to(device)).cpu(), run(x), equal_nan=True)


def test_a_variance_of_one_element_is_not_a_number(device: torch.device) -> None:
    mean, variance = torch.zeros(4, device=device), torch.ones(4, device=device)
    torch.ops.aten.native_batch_norm(
        drawn(1, 4).to(device), None, None, mean, variance, True, 0.1, 1e-5
    )
    assert bool(variance.isnan().all())
    assert not bool(mean.isnan().any())


@pytest.mark.parametrize(
    "odd",
    [
        lambda x: torch.nn.functional.batch_norm(x.long(), None, None, training=True),
        lambda x: torch.nn.functional.batch_norm(x, None, None),
        lambda x: torch.nn.functional.batch_norm(
            x, torch.ones(3, device=x.device), torch.ones(3, device=x.device)
        ),
        lambda x: torch.nn.functional.batch_norm(
            x, None, None, torch.ones(5, device=x.device), training=True
        ),
        lambda x: torch.nn.functional.group_norm(x, 3),
        lambda x: torch.nn.functional.group_norm(x, 2, torch.ones(5, device=x.device)),
    ],
)
def test_what_pytorch_refuses_is_refused(
    odd: Callable[[Tensor], Tensor], device: torch.device
) -> None:
    with pytest.raises((RuntimeError, ValueError)) as on_host:
        odd(torch.ones(2, 4, 3))
    with pytest.raises(type(on_host.value)):
        odd(torch.ones(2, 4, 3, device=device))


def test_no_elements_fall_back(device: torch.device) -> None:
    mean, variance = torch.zeros(4), torch.ones(4)
    x = torch.empty(0, 4, 3)
    out = torch.nn.functional.batch_norm(x.to(device), mean.to(device), variance.to(device))
    assert out.shape == x.shape
    assert torch.nn.functional.group_norm(x.to(device), 2).shape == x.shape
