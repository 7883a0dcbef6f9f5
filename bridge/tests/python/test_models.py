# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whole models in training, step by step beside PyTorch's CPU.

The bound. Most operators fall back, run PyTorch's own CPU kernels on the same values and give the
same bits. Two things round otherwise: operators that the backend serves itself (mm and sum add up
in another order, which changes a float32 sum of n terms by about sqrt(n) * 2^-24 of its magnitudes,
n <= 128 here: 7e-7 at most), and attention: PyTorch's CPU has a fused kernel for it, a device
the composite formula. Measured over 20 steps, the losses differ by less than 3e-7 of their value,
from the first to the last. BOUND leaves room for what a step makes of the difference before it.
"""

from __future__ import annotations

import pytest
import torch
from models import FAMILIES, train

STEPS = 20
BOUND = 1e-5


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_training_follows_the_cpu(name: str, device: torch.device) -> None:
    expected, reference = train(FAMILIES[name], torch.device("cpu"), STEPS)
    losses, model = train(FAMILIES[name], device, STEPS)
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
    assert worst <= BOUND, f"step by step: {list(zip(losses, expected, strict=True))}"
    assert losses[-1] < losses[0]
    for (key, ours), theirs in zip(model.named_buffers(), reference.buffers(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=BOUND, atol=BOUND, msg=key)
    # Not the parameters one by one: AdamW divides a gradient by its own size, so that where the
    # true one is 0 (the bias of attention's keys) a parameter moves with the sign of noise.
    inputs, _ = FAMILIES[name].batch(99)
    with torch.no_grad():
        predicted = model.eval().cpu()(inputs)
        torch.testing.assert_close(predicted, reference.eval()(inputs), rtol=1e-4, atol=1e-4)


def test_a_trained_model_moves_to_the_cpu(device: torch.device) -> None:
    family = FAMILIES["resnet"]
    _, model = train(family, device, 2)
    model.eval()
    inputs, _ = family.batch(99)
    with torch.no_grad():
        on_device = model(inputs.to(device)).cpu()
        on_cpu = model.cpu()(inputs)
    torch.testing.assert_close(on_device, on_cpu, rtol=BOUND, atol=BOUND)
