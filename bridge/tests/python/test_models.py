# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whole models in training, step by step beside PyTorch's CPU.

The bounds. Most operators fall back, run PyTorch's own CPU kernels on the same values and give the
same bits. Two things round otherwise: operators that the backend serves itself (mm and sum add up
in another order), and attention, for which PyTorch's CPU has a fused kernel and a device the
composite formula. What training makes of a difference in the last bit was measured on PyTorch's CPU
alone, over these 20 steps: with one thread against two, and with weights changed by up to 2^-24 of
their value. The losses of the transformer then differ by up to 3.5e-7 of their value, and those of
the residual network by 1e-7 or by 4.6e-5: there a maximum or a ReLU falls on the other side. A
model's bound is ten times the worst of that, rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest
import torch
from models import FAMILIES, train
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

STEPS = 20


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_training_follows_the_cpu(name: str, device: torch.device) -> None:
    family = FAMILIES[name]
    expected, reference = train(family, torch.device("cpu"), STEPS)
    losses, model = train(family, device, STEPS)
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
    assert worst <= family.bound, f"step by step: {list(zip(losses, expected, strict=True))}"
    assert losses[-1] < losses[0]
    for (key, ours), theirs in zip(model.named_buffers(), reference.buffers(), strict=True):
        torch.testing.assert_close(
            ours.cpu(), theirs, rtol=family.bound, atol=family.bound, msg=key
        )
    # Not the parameters one by one: AdamW divides a gradient by its own size, so that where the
    # true one is 0 (the bias of attention's keys) a parameter moves with the sign of noise.
    inputs, _ = family.batch(99)
    with torch.no_grad():
        predicted = model.eval().cpu()(inputs)
        torch.testing.assert_close(
            predicted, reference.eval()(inputs), rtol=10 * family.bound, atol=10 * family.bound
        )


class Dispatched(TorchDispatchMode):
    """Counts the operators that reach a device."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_the_share_of_fallbacks_is_told(
    device: torch.device,
    backend: DeviceModule,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    backend.reset_fallbacks()
    with Dispatched() as dispatched:
        train(FAMILIES["transformer of three layers"], device, 2)
    fell_back = sum(row.count for row in backend.fallbacks())
    share = fell_back / dispatched.count
    record_property("fallback_share", round(share, 4))
    with capsys.disabled():
        print(f"\n{fell_back} of {dispatched.count} operators fell back: {share:.1%}")
    assert dispatched.count > 0
    assert share < 1


def test_a_trained_model_moves_to_the_cpu(device: torch.device) -> None:
    family = FAMILIES["resnet"]
    _, model = train(family, device, 2)
    model.eval()
    inputs, _ = family.batch(99)
    with torch.no_grad():
        on_device = model(inputs.to(device)).cpu()
        on_cpu = model.cpu()(inputs)
    torch.testing.assert_close(on_device, on_cpu, rtol=1e-5, atol=1e-5)
