# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Every optimizer of torch.optim, in each implementation, step by step beside PyTorch's CPU."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import Optimizer

STEPS = 5
# What the optimizers can't do with these parameters, and what a closure is needed for.
NEEDS_CLOSURE = {"LBFGS"}
ONLY_SPARSE = {"SparseAdam"}
ONLY_MATRICES = {"Muon"}


def _optimizers() -> dict[str, type[Optimizer]]:
    return {
        name: cls
        for name, cls in vars(torch.optim).items()
        if inspect.isclass(cls) and issubclass(cls, Optimizer) and cls is not Optimizer
    }


def _variants(cls: type[Optimizer]) -> list[dict[str, Any]]:
    known = inspect.signature(cls).parameters
    found: list[dict[str, Any]] = [{}]
    found += [{name: True} for name in ("foreach", "fused", "maximize") if name in known]
    if "amsgrad" in known:
        found.append({"amsgrad": True})
    if "weight_decay" in known:
        found.append({"weight_decay": 0.1})
    if "momentum" in known and "nesterov" in known:
        found.append({"momentum": 0.9, "nesterov": True})
    return found


CASES = [
    pytest.param(cls, options, id="-".join([name, *options]))
    for name, cls in _optimizers().items()
    if name not in ONLY_SPARSE
    for options in _variants(cls)
]


def _train(
    cls: type[Optimizer], options: dict[str, Any], device: torch.device
) -> list[torch.Tensor]:
    """Returns all parameters after each step."""
    torch.manual_seed(0)
    shapes = [(4, 3), (3, 5)] if cls.__name__ in ONLY_MATRICES else [(4, 3), (3,)]
    parameters = [torch.randn(shape).to(device).requires_grad_() for shape in shapes]
    targets = [torch.randn(shape).to(device) for shape in shapes]
    optimizer = cls(parameters, **options)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        pairs = zip(parameters, targets, strict=True)
        loss = sum((each - target).pow(2).sum() for each, target in pairs)
        assert isinstance(loss, torch.Tensor)
        loss.backward()
        return loss

    seen = []
    for _ in range(STEPS):
        step: Callable[..., object] = optimizer.step
        if cls.__name__ in NEEDS_CLOSURE:
            step(closure)
        else:
            closure()
            step()
        seen += [each.detach().cpu().clone() for each in parameters]
    return seen


@pytest.mark.parametrize(("cls", "options"), CASES)
def test_steps_are_those_of_the_cpu(
    device: torch.device, cls: type[Optimizer], options: dict[str, Any]
) -> None:
    try:
        expected = _train(cls, options, torch.device("cpu"))
    except (RuntimeError, ValueError) as refused:
        with pytest.raises(type(refused)):
            _train(cls, options, device)
        return
    if options.get("fused"):
        _fused_or_refused(cls, options, device, expected)
        return
    for ours, theirs in zip(_train(cls, options, device), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def _fused_or_refused(
    cls: type[Optimizer],
    options: dict[str, Any],
    device: torch.device,
    expected: list[torch.Tensor],
) -> None:
    """PyTorch itself names the devices that have fused kernels; elsewhere it must say so."""
    supported = torch.utils._foreach_utils._get_fused_kernels_supported_devices()
    if device.type not in supported:
        with pytest.raises(RuntimeError, match="fused"):
            _train(cls, options, device)
        return
    for ours, theirs in zip(_train(cls, options, device), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
