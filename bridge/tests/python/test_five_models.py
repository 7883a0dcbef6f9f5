# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Five models in training, beside PyTorch's CPU: their losses, and who computed what.

The bounds. A device adds up in another order than PyTorch's CPU, and composes what that has fused
kernels for. What training makes of a difference in the last bit was measured on PyTorch's CPU, over
20 steps of the published depth: with one thread against two, and with weights changed by up to
2^-24 of their value. The losses then differ by up to 2.5e-7 of their value (transformers, LSTM),
2.5e-6 (UNet) and 4.2e-5 (ResNet, where a maximum or a ReLU falls on the other side, and a norm over
few elements makes much of it). A model's bound is ten times that or more. Half precision has 11
bits, of which a loss in mixed precision keeps about 7.

`--tbk-models published` has the depth of the papers and a quarter of the width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from five.training import FAMILIES, OPTIMIZERS, PUBLISHED, SMALL, Size, Trainer

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

CPU = torch.device("cpu")
HALF = 2.0**-7
LONG = "GPT"


@pytest.fixture(scope="session")
def size(pytestconfig: pytest.Config) -> Size:
    return PUBLISHED if pytestconfig.getoption("--tbk-models") == "published" else SMALL


def _worst(losses: list[float], expected: list[float]) -> float:
    assert len(losses) == len(expected)
    return max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_losses_are_those_of_the_cpu(
    device: torch.device, size: Size, name: str, optimizer: str
) -> None:
    family, steps = FAMILIES[name], 20 if name == LONG else 3
    expected = Trainer(family, CPU, size, optimizer="loop", masked=True).train(steps)
    losses = Trainer(family, device, size, optimizer=optimizer, masked=True).train(steps)
    assert _worst(losses, expected) <= family.bound, list(zip(losses, expected, strict=True))


@pytest.mark.parametrize("name", FAMILIES)
def test_mixed_precision_stays_near(device: torch.device, size: Size, name: str) -> None:
    family = FAMILIES[name]
    expected = Trainer(family, CPU, size, masked=True).train(3)
    losses = Trainer(family, device, size, optimizer="fused", masked=True, mixed=True).train(3)
    assert _worst(losses, expected) <= HALF, list(zip(losses, expected, strict=True))


@pytest.mark.parametrize("name", FAMILIES)
def test_who_computed_is_told(
    device: torch.device,
    backend: DeviceModule,
    size: Size,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With dropout of the device's own; the second step, which has all that is made once."""
    trainer = Trainer(FAMILIES[name], device, size, optimizer="fused")
    trainer.train(1)
    backend.reset_fallbacks()
    backend.reset_routes()
    trainer.train(1)
    calls = sum(row.count for row in backend.routes())
    fell_back = {row.operator: row.count for row in backend.fallbacks()}
    with capsys.disabled():
        print(f"\n{name}: {sum(fell_back.values())} of {calls} calls fell back: {fell_back}")
    assert calls > 0
    # Without generic kernels PyTorch's CPU computes what has no kernel of its name.
    if {row.route for row in backend.routes()} & {"generic", "composed"}:
        assert fell_back == {}
