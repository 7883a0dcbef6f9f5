# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients: values, graphs over several devices, modes and hooks, and what a graph keeps alive.

The values are small whole numbers or powers of two, so that every gradient is exact in float32.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.autograd import grad
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype, needs

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def numbers(*shape: int) -> torch.Tensor:
    """Returns small whole numbers in no order."""
    return host.values(shape, torch.int64).remainder(7).sub(3).to(torch.float32)


COMPOSED: dict[str, Loss] = {
    "sum": lambda x, w: (x * 2 + w).sum(),
    "broadcast": lambda x, w: (x * w[0] - w[1:2, :1] * x).sum(),
    "products_of_matrices": lambda x, w: ((x @ w.t()) @ (w @ x.t())).sum(),
    "linear_and_relu": lambda x, w: (functional.relu(functional.linear(x, w)) * w).sum(),
    "where": lambda x, w: torch.where(x > 0, x * w, x * x).sum(),
    "views": lambda x, w: (x.t()[1:3].reshape(-1) * w[:2].reshape(-1)[:8].repeat(1)).sum(),
    "cat_and_index": lambda x, w: (torch.cat([x, w])[[0, 3, 0, 5]] * 3).square().sum(),
    "max": lambda x, w: (x * 8 + w).amax(1).sum() + (w * x).max(0)[0].sum(),
    "copies_of_dtypes": lambda x, w: (x.to(torch.float64) * w.to(torch.float64)).float().sum(),
    "in_place": lambda x, w: (x * 1).mul_(w).add_(x, alpha=2).square().sum(),
    "a_number": lambda x, w: x[0, 1] * w[2, 3] + x[0, 1] ** 2,
    "mean": lambda x, w: (x * w).mean(1).sum() + x.mean(),
}


def same(what: str, seen: torch.Tensor, expected: torch.Tensor) -> None:
    """Whatever the sign of a zero is: sums of gradients may begin with either."""
    check.tensor(what, seen + 0, expected + 0)


def gradients(loss: Loss, to: torch.device, *leaves: torch.Tensor) -> list[torch.Tensor]:
    there = [host.upload(leaf, to).requires_grad_() for leaf in leaves]
    loss(*there).backward()
    for leaf in there:
        check.equal("device of a gradient", device_of_gradient(leaf), to)
    return [host.gradient(leaf) for leaf in there]


def device_of_gradient(leaf: torch.Tensor) -> torch.device | None:
    return None if leaf.grad is None else leaf.grad.device


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=needs("dtype:float64") if name == "copies_of_dtypes" else ())
     for name in COMPOSED],
)  # fmt: skip
@clause("AGD-501")
def test_gradients_are_those_of_the_host(device: torch.device, name: str) -> None:
    leaves = numbers(4, 4), numbers(4, 4)
    if name == "max":  # one place for each maximum
        leaves = torch.randperm(16, generator=host.seed()).reshape(4, 4).float(), torch.ones(4, 4)
    expected = gradients(COMPOSED[name], torch.device("cpu"), *leaves)
    seen = gradients(COMPOSED[name], device, *leaves)
    for index, (one, other) in enumerate(zip(seen, expected, strict=True)):
        same(f"gradient of operand {index}", one, other)


@each_dtype("float64", "float32", "float16", "bfloat16", "complex64")
@clause("AGD-501")
def test_gradients_of_each_dtype(device: torch.device, dtype: torch.dtype) -> None:
    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        total = (x * w + x * 2).sum()
        return total.real if total.is_complex() else total

    leaves = [numbers(3, 3).to(dtype) for _ in range(2)]
    expected = gradients(loss, torch.device("cpu"), *leaves)
    for one, other in zip(gradients(loss, device, *leaves), expected, strict=True):
        same("gradient", one, other)


@clause("AGD-501")
def test_a_step_of_training_is_that_of_the_host(device: torch.device) -> None:
    """The host computes it in float64; float32 has 24 bits, and a few go with each layer."""
    torch.manual_seed(5)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)
    )
    wide = [one.detach().double().requires_grad_() for one in model.parameters()]
    data, labels = host.values((10, 6)), host.values((10,), torch.int64).remainder(3)
    names = [name for name, _ in model.named_parameters()]
    result = torch.func.functional_call(model, dict(zip(names, wide, strict=True)), data.double())
    functional.cross_entropy(result, labels).backward()
    model.to(device)
    functional.cross_entropy(model(data.to(device)), labels.to(device)).backward()
    for name, one, exact in zip(names, model.parameters(), wide, strict=True):
        expected = host.gradient(exact)
        far = float((host.gradient(one).double() - expected).abs().max())
        most = 2.0**-16 * max(float(expected.abs().max()), 2.0**-10)
        check.that(f"gradient of {name}", far <= most, expected=f"<= {most:g} away", seen=far)


@clause("AGD-506")
def test_a_graph_over_host_and_device(device: torch.device) -> None:
    values, factor = numbers(4), numbers(4)
    x = values.clone().requires_grad_()
    w = host.upload(factor, device).requires_grad_()
    there = x.to(device) * 2
    back = (there * w).to("cpu") * 3
    again = (back.to(device) + there).to("cpu")
    again.sum().backward()
    same("gradient on the host", host.gradient(x), factor * 6 + 2)
    same("gradient on the device", host.gradient(w), values * 6)


@clause("AGD-506", needs="two_devices")
def test_a_graph_over_two_devices(device: torch.device, other_device: torch.device) -> None:
    values, factor = numbers(5), numbers(5)
    x = host.upload(values, device).requires_grad_()
    w = host.upload(factor, other_device).requires_grad_()
    there = (x * 2).to(other_device) * w
    loss = (there.to(device) * x).sum() + there.to("cpu").sum().to(device)
    loss.backward()
    check.equal(
        "devices of the gradients",
        [device_of_gradient(x), device_of_gradient(w)],
        [device, other_device],
    )
    same("gradient on the first", host.gradient(x), values * factor * 4 + factor * 2)
    same("gradient on the second", host.gradient(w), values * values * 2 + values * 2)


@clause("AGD-507")
def test_a_retained_graph_runs_twice(device: torch.device) -> None:
    values = numbers(4)
    x = host.upload(values, device).requires_grad_()
    loss = (x * x * x).sum()
    loss.backward(retain_graph=True)
    same("once", host.gradient(x), values**2 * 3)
    loss.backward()
    same("twice adds up", host.gradient(x), values**2 * 6)
    check.raises("a third time", RuntimeError, loss.backward, "second time")


@clause("AGD-507")
def test_gradients_of_gradients(device: torch.device) -> None:
    values = numbers(4)
    x = host.upload(values, device).requires_grad_()
    (first,) = grad((x**3).sum(), x, create_graph=True)
    same("first", host.download(first), values**2 * 3)
    (second,) = grad(first.sum(), x, create_graph=True)
    same("second", host.download(second), values * 6)
    second.sum().backward()
    same("third", host.gradient(x), torch.full((4,), 6.0))


@clause("AGD-507")
def test_hooks_see_gradients_and_change_them(device: torch.device) -> None:
    seen: list[torch.Tensor] = []
    x = host.upload(torch.ones(3), device).requires_grad_()
    y = x * 2

    def double(gradient: torch.Tensor) -> torch.Tensor:
        seen.append(gradient)
        return gradient * 2

    y.register_hook(double)
    x.register_post_accumulate_grad_hook(seen.append)
    y.retain_grad()
    y.sum().backward()
    check.equal("devices in hooks", [one.device for one in seen], [device, device])
    same("the hook's argument", host.download(seen[0]), torch.ones(3))
    same("gradient behind the hook", host.gradient(x), torch.full((3,), 4.0))
    same("gradient that was retained", host.gradient(y), torch.full((3,), 2.0))


@clause("AGD-507")
def test_an_error_in_a_hook_is_raised(device: torch.device) -> None:
    x = host.upload(torch.ones(3), device).requires_grad_()
    y = x * 2

    def fail(gradient: torch.Tensor) -> None:
        raise ValueError("from the hook")

    y.register_hook(fail)
    check.raises("backward", ValueError, lambda: y.sum().backward(), "from the hook")
    (x * 5).sum().backward()
    same("the next gradient", host.gradient(x), torch.full((3,), 5.0))


@pytest.mark.parametrize("reentrant", [False, True])
@clause("AGD-507")
def test_a_checkpoint_computes_again(device: torch.device, reentrant: bool) -> None:
    calls: list[torch.device] = []
    values = numbers(4)
    x = host.upload(values, device).requires_grad_()

    def part(y: torch.Tensor) -> torch.Tensor:
        calls.append(y.device)
        return y * y * 2

    checkpoint(part, x * 3, use_reentrant=reentrant).sum().backward()
    check.equal("where it was computed", calls, [device, device])
    same("gradient", host.gradient(x), values * 36)


@clause("AGD-507", needs="generator")
def test_a_checkpoint_draws_the_same_numbers_again(device: torch.device) -> None:
    x = host.upload(torch.ones(256), device).requires_grad_()
    drawn: list[torch.Tensor] = []

    def part(y: torch.Tensor) -> torch.Tensor:
        mask = (torch.rand(256, device=y.device) > 0.5).float()
        drawn.append(host.download(mask))
        return y * y * mask

    checkpoint(part, x * 2, use_reentrant=False).sum().backward()
    check.equal("times that it was computed", len(drawn), 2)
    same("the mask again", drawn[1], drawn[0])
    same("gradient", host.gradient(x), drawn[0] * 8)


@clause("AGD-507")
def test_modes_turn_it_off(device: torch.device) -> None:
    x = host.upload(torch.ones(3), device).requires_grad_()
    with torch.no_grad():
        check.equal("requires_grad under no_grad", (x * 2).requires_grad, False)
        with torch.enable_grad():
            check.equal("under enable_grad in it", (x * 2).requires_grad, True)
    with torch.inference_mode():
        inferred = x * 2
    check.equal("is_inference", inferred.is_inference(), True)
    same("values under inference_mode", host.download(inferred), torch.full((3,), 2.0))
    check.raises("saved for backward", RuntimeError, lambda: x * inferred, "inference tensor")
    check.raises("changed in place", RuntimeError, lambda: inferred.add_(1), "inference")
    detached = (x * 2).detach()
    check.equal("requires_grad of a detached one", detached.requires_grad, False)
    (x * detached).sum().backward()
    same("gradient beside a detached one", host.gradient(x), torch.full((3,), 2.0))
