# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.<name>: mixed precision, and what runs on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def test_autocast_computes_in_the_dtype(backend: DeviceModule, device: torch.device) -> None:
    a = torch.ones(4, 4, device=device)
    for dtype in backend.get_amp_supported_dtype():
        with backend.amp.autocast(dtype=dtype):
            assert (a @ a).dtype == dtype
    assert (a @ a).dtype == torch.float32
    native = torch.bfloat16 in backend.get_device_properties().dtypes
    assert backend.is_bf16_supported()
    assert backend.is_bf16_supported(including_emulation=False) == native


def test_grad_scaler_skips_a_step_that_overflows(
    backend: DeviceModule, device: torch.device
) -> None:
    weight = torch.ones(3, device=device, requires_grad=True)
    scaler = backend.amp.GradScaler(init_scale=8.0)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    for loss, left in ((weight.sum() * float("inf"), 1.0), (weight.sum(), 0.0)):
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [left] * 3
    assert scaler.get_scale() == 4.0


def test_fallbacks_are_counted_by_operator_and_device(
    backend: DeviceModule, device: torch.device
) -> None:
    x = torch.arange(4.0, device=device)
    backend.reset_fallbacks()
    for _ in range(3):
        torch.special.airy_ai(x)
    (row,) = (row for row in backend.fallbacks() if "airy_ai" in row.operator)
    assert (row.device, row.count) == (device.index, 3)
    backend.reset_fallbacks()
    assert backend.fallbacks() == []


def test_a_fallback_can_be_refused_or_warned_about(
    backend: DeviceModule, device: torch.device
) -> None:
    x = torch.arange(4.0, device=device)
    with backend.fallback_mode("error"):
        assert backend.get_fallback_mode() == "error"
        with pytest.raises(NotImplementedError, match="ndtri"):
            torch.special.ndtri(x)
    with backend.fallback_mode("warn"), pytest.warns(UserWarning, match="zeta"):
        torch.special.zeta(x, x)
    with pytest.raises(ValueError, match="no fallback mode 'loud'"):
        backend.set_fallback_mode("loud")  # type: ignore[arg-type]
