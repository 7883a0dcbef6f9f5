# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators on lists of tensors: one launch for all of them, with the values of PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensors = list[torch.Tensor]
SHAPES = [(3, 5), (7,), (), (0,), (4, 1, 2)]
# Of each way in which lists, numbers and single tensors come together one or two.
CALLS: dict[str, Callable[[Tensors, Tensors, Tensors], Any]] = {
    "add a number": lambda a, b, c: torch._foreach_add(a, 0.3),
    "add numbers": lambda a, b, c: torch._foreach_add(a, [0.1, 0.2, 0.3, 0.4, 0.5]),
    "add a list": lambda a, b, c: torch._foreach_add(a, b, alpha=0.3),
    "times a tensor": lambda a, b, c: torch._foreach_mul(a, b[2]),
    "times a number of the host": lambda a, b, c: torch._foreach_mul(a, torch.tensor(2.5)),
    "addcdiv": lambda a, b, c: torch._foreach_addcdiv(a, b, c, 0.3),
    "addcmul": lambda a, b, c: torch._foreach_addcmul(a, b, c, [0.1, 0.2, 0.3, 0.4, 0.5]),
    "lerp": lambda a, b, c: torch._foreach_lerp(a, b, 0.3),
    "lerp by a list": torch._foreach_lerp,
    "sqrt": lambda a, b, c: torch._foreach_sqrt(a),
    "pow": lambda a, b, c: torch._foreach_pow(a, 2.5),
    "maximum": lambda a, b, c: torch._foreach_maximum(a, 0.7),
}
NORMS = [1, 2, float("inf")]


def lists(device: torch.device | str, dtype: torch.dtype) -> list[Tensors]:
    random = torch.Generator().manual_seed(0)
    return [
        [(torch.rand(shape, generator=random) + 0.5).to(device, dtype) for shape in SHAPES]
        for _ in range(3)
    ]


def routes(backend: DeviceModule) -> dict[str, str]:
    return {row.operator: row.route for row in backend.routes()}


@pytest.fixture
def programs(backend: DeviceModule, device: torch.device) -> None:
    """Only on a backend that takes programs."""
    backend.reset_routes()
    torch.ones(2, device=device).exp()
    if "generic" not in routes(backend).values():
        pytest.skip("the backend takes no programs")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_lists_have_the_values_of_the_cpu(
    device: torch.device, name: str, dtype: torch.dtype
) -> None:
    expected = CALLS[name](*lists("cpu", dtype))
    for ours, theirs in zip(CALLS[name](*lists(device, dtype)), expected, strict=True):
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours.cpu(), theirs)


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("name", CALLS)
def test_a_list_is_one_call(device: torch.device, backend: DeviceModule, name: str) -> None:
    operands = lists(device, torch.float32)
    backend.reset_routes()
    CALLS[name](*operands)
    (row,) = backend.routes()
    assert row.operator.startswith("aten::_foreach_")
    assert (row.route, row.count) == ("generic", 1)


@pytest.mark.parametrize("order", NORMS)
def test_norms_are_those_of_the_cpu(device: torch.device, order: float) -> None:
    there, here = ([t for t in lists(d, torch.float32)[0] if t.numel()] for d in (device, "cpu"))
    for ours, theirs in zip(
        torch._foreach_norm(there, order), torch._foreach_norm(here, order), strict=True
    ):
        torch.testing.assert_close(ours.cpu(), theirs)


@pytest.mark.parametrize("parts", [[(0, 4), (4, 8)], [(0, 4), (2, 6)], [(0, 4), (0, 4)]])
def test_lists_in_place_are_done_in_order(
    device: torch.device, parts: list[tuple[int, int]]
) -> None:
    """Tensors side by side, on top of each other in part, and the same twice."""
    whole, expected = torch.ones(8, device=device), torch.ones(8)
    for line in (whole, expected):
        torch._foreach_mul_([line[start:end] for start, end in parts], 3.0)
        twice = [line] * 2
        torch._foreach_add_(twice, [line, line], alpha=0.5)
    assert whole.tolist() == expected.tolist()


def test_what_is_not_alike_is_computed_all_the_same(device: torch.device) -> None:
    for here in (torch.arange(6), torch.ones(3, 4).t()):
        there = here.to(device)
        for ours, theirs in (
            (torch._foreach_add([there], 2), torch._foreach_add([here], 2)),
            (
                torch._foreach_add([there], [there.contiguous()]),
                torch._foreach_add([here], [here.contiguous()]),
            ),
        ):
            assert ours[0].dtype == theirs[0].dtype
            assert ours[0].tolist() == theirs[0].tolist()


FUSED: dict[str, tuple[Callable[..., torch.optim.Optimizer], dict[str, Any]]] = {
    "Adam": (torch.optim.Adam, {"lr": 0.1}),
    "Adam with all": (
        torch.optim.Adam,
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True},
    ),
    "Adam with a tensor": (torch.optim.Adam, {"lr": torch.tensor(0.1)}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.1}),
    "Adagrad": (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.1}),
    "SGD": (torch.optim.SGD, {"lr": 0.1}),
    "SGD with all": (
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ),
    "SGD with dampening": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
}


class Stepper:
    """Parameters, their optimizer, and a scaler that multiplies gradients by 4."""

    def __init__(self, name: str, device: torch.device | str, *, fused: bool) -> None:
        cls, options = FUSED[name]
        self.parameters = [tensor.requires_grad_() for tensor in lists(device, torch.float32)[0]]
        self.optimizer = cls(self.parameters, fused=fused, **options)
        self.scaler = torch.amp.GradScaler(
            torch.device(device).type, init_scale=4.0, growth_interval=2, backoff_factor=0.5
        )

    def step(self, gradients: Tensors) -> Tensors:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient.to(parameter.device)
        self.optimizer.step()
        return [parameter.detach().cpu() for parameter in self.parameters]

    def scaled_step(self, gradients: Tensors) -> tuple[float, Tensors]:
        """Returns the scale before the step too."""
        scale = self.scaler.get_scale()
        self.scaler.scale(torch.zeros((), device=self.parameters[0].device))
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = (gradient * scale).to(parameter.device)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return scale, [parameter.detach().cpu() for parameter in self.parameters]


@pytest.mark.parametrize("name", FUSED)
def test_fused_steps_are_those_of_the_loop(device: torch.device, name: str) -> None:
    """The bound: a step is some twenty roundings, and Adam's corrections do not cancel here."""
    ours, theirs = Stepper(name, device, fused=True), Stepper(name, "cpu", fused=False)
    for n in range(5):
        gradients = [torch.sin(tensor + n) for tensor in lists("cpu", torch.float32)[1]]
        for a, b in zip(ours.step(gradients), theirs.step(gradients), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FUSED)
def test_an_infinity_changes_nothing(device: torch.device, name: str) -> None:
    """Steps 1 and 3 hold one: the scale shrinks, and parameters stay."""
    ours, theirs = Stepper(name, device, fused=True), Stepper(name, "cpu", fused=True)
    scales = []
    for n in range(6):
        gradients = [torch.sin(tensor + n) for tensor in lists("cpu", torch.float32)[1]]
        if n in {1, 3}:
            gradients[0][0, 0] = float("inf") if n == 1 else float("nan")
        scale, found = ours.scaled_step(gradients)
        expected_scale, expected = theirs.scaled_step(gradients)
        assert scale == expected_scale
        scales.append(scale)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    assert scales == [4, 4, 2, 2, 1, 1]


@pytest.mark.usefixtures("programs")
def test_steps_and_scaling_stay_on_the_device(device: torch.device, backend: DeviceModule) -> None:
    stepper = Stepper("AdamW", device, fused=True)
    gradients = lists("cpu", torch.float32)[1]
    stepper.scaled_step(gradients)
    backend.reset_routes()
    stepper.scaled_step(gradients)
    found = routes(backend)
    assert found["aten::_fused_adamw_"] == "generic"
    assert found["aten::_amp_foreach_non_finite_check_and_unscale_"] == "composed"
    assert found["aten::_amp_update_scale_"] == "generic"
    assert "fallback" not in found.values()


def concatenations(device: torch.device | str) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    a = torch.rand(2, 3, 4, 5, generator=random).to(device)
    b = torch.rand(2, 3, 1, 5, generator=random).to(device)
    last = torch.channels_last
    out = torch.empty(2, 3, 5, 5, device=device)
    return [
        torch.cat([a, b], 2),
        torch.cat([a, b.expand(2, 3, 4, 5), a], -4),
        torch.cat([a.contiguous(memory_format=last), b.contiguous(memory_format=last)], 2),
        torch.cat([a.transpose(2, 3), a[:, :0].transpose(2, 3)], 1),
        torch.cat([a > 0.5, b > 0.5], 2),
        torch.cat([a, b.bfloat16()], 2),
        torch.cat([a, torch.empty(0, device=device)], 2),
        torch.cat([a, b], 2, out=out),
        torch.cat([a, b], 2, out=torch.empty(0, device=device)),
        torch.stack([a[0], a[1]], 1),
    ]


def test_concatenations_are_those_of_the_cpu(device: torch.device) -> None:
    for ours, theirs in zip(concatenations(device), concatenations("cpu"), strict=True):
        assert (ours.dtype, ours.stride()) == (theirs.dtype, theirs.stride())
        assert torch.equal(ours.cpu(), theirs)
