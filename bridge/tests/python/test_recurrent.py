# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""LSTM, GRU and plain recurrent nets: PyTorch's cells, made of operators of the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

FORMS: dict[str, dict[str, Any]] = {
    "one layer": {},
    "two layers": {"num_layers": 2},
    "without bias": {"bias": False},
    "both directions": {"bidirectional": True},
    "batch first": {"batch_first": True},
}
KINDS: dict[str, Callable[..., nn.Module]] = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}


def run(kind: str, form: str, device: torch.device | str) -> list[torch.Tensor]:
    """Returns the output and all gradients."""
    torch.manual_seed(0)
    net = KINDS[kind](5, 6, **FORMS[form]).to(device)
    inputs = torch.randn(4, 3, 5).to(device).requires_grad_()
    out, state = net(inputs)
    last = torch.cat([each.flatten() for each in state]) if kind == "LSTM" else state
    (out.sin().sum() + last.cos().sum()).backward()
    return [
        out.detach(),
        *(each.grad for each in (inputs, *net.parameters()) if each.grad is not None),
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_nets_are_those_of_the_cpu(device: torch.device, kind: str, form: str) -> None:
    expected = run(kind, form, "cpu")
    for ours, theirs in zip(run(kind, form, device), expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_nets_stay_on_the_device(device: torch.device, backend: DeviceModule, kind: str) -> None:
    """Where the backend takes programs and computes products."""
    backend.reset_fallbacks()
    torch.mm(torch.ones(2, 2, device=device), torch.ones(2, 2, device=device).exp())
    if backend.fallbacks():
        pytest.skip("products or programs fall back")
    run(kind, "two layers", device)
    assert [row.operator for row in backend.fallbacks()] == []
