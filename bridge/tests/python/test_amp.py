# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Automatic mixed precision: PyTorch's own lists apply, and GradScaler finds what overflows."""

from __future__ import annotations

import pytest
import torch

HALF = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_what_runs_in_the_lower_precision(device: torch.device, dtype: torch.dtype) -> None:
    x, w = torch.rand(3, 3, device=device), torch.rand(3, 3, device=device)
    with torch.autocast(device.type, dtype=dtype):
        assert torch.mm(x, w).dtype == dtype
        assert torch.nn.functional.linear(x, w).dtype == dtype
        assert torch.nn.functional.conv1d(x[None], w[:, :, None]).dtype == dtype
        assert (x + w).dtype == torch.float32
        with torch.autocast(device.type, enabled=False):
            assert torch.mm(x, w).dtype == torch.float32
    assert torch.mm(x, w).dtype == torch.float32


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_what_runs_in_float32(device: torch.device, dtype: torch.dtype) -> None:
    x = torch.rand(3, 3, device=device).to(dtype)
    with torch.autocast(device.type, dtype=dtype):
        assert x.exp().dtype == torch.float32
        assert torch.nn.functional.mse_loss(x, x).dtype == torch.float32
        assert x.sum().dtype == torch.float32
        assert x.softmax(0).dtype == torch.float32
        assert x.norm().dtype == torch.float32


def test_what_takes_the_widest(device: torch.device) -> None:
    half, single = torch.rand(3, device=device).half(), torch.rand(3, device=device)
    with torch.autocast(device.type, dtype=torch.float16):
        assert torch.addcmul(single, half, half).dtype == torch.float32
        assert torch.dot(half, single).dtype == torch.float32


def test_what_is_unsafe_is_refused(device: torch.device) -> None:
    half = torch.rand(3, device=device).half()
    with torch.autocast(device.type, dtype=torch.float16):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(half, half)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(half, half)
    assert loss.dtype == torch.float32


def test_other_devices_are_left_alone(device: torch.device) -> None:
    host = torch.rand(3, 3)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        assert torch.mm(host, host).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        there = host.to(device)
        assert torch.mm(there, there).dtype == torch.float32


def test_a_dtype_that_is_not_supported_warns(device: torch.device) -> None:
    x = torch.rand(3, 3, device=device)
    with (
        pytest.warns(UserWarning, match="not support"),
        torch.autocast(device.type, dtype=torch.float64),
    ):
        assert torch.mm(x, x).dtype == torch.float32


def trained(device: torch.device | str, *, mixed: bool) -> list[float]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    data, wanted = torch.randn(32, 8), torch.randn(32, 1)
    model, data, wanted = model.to(device), data.to(device), wanted.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    kind = torch.device(device).type
    scaler = torch.amp.GradScaler(kind, init_scale=256.0, enabled=mixed)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        with torch.autocast(kind, dtype=torch.float16, enabled=mixed):
            loss = torch.nn.functional.mse_loss(model(data), wanted)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def test_training_in_mixed_precision(device: torch.device) -> None:
    assert trained(device, mixed=False) == pytest.approx(trained("cpu", mixed=False), rel=1e-5)
    # Half precision has 11 bits.
    assert trained(device, mixed=True) == pytest.approx(trained("cpu", mixed=False), rel=1e-2)


def test_a_step_that_overflows_is_left_out(device: torch.device) -> None:
    weight = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler(device.type, init_scale=8.0)
    scaler.scale((weight * torch.tensor([1.0, float("inf"), 1.0]).to(device)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.detach().tolist() == [1, 1, 1]
    assert scaler.get_scale() == 4.0
    optimizer.zero_grad()
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad is not None
    assert weight.grad.tolist() == [1, 1, 1]
    scaler.step(optimizer)
    scaler.update()
    assert weight.detach().tolist() == [0, 0, 0]
