# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's older profiler measures the device by events of ours."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("use_kineto", [True, False])
def test_operators_have_device_time(
    device: torch.device, use_kineto: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    value = torch.rand(200, 200).to(device)
    expected = (value.cpu() @ value.cpu()).sum()
    with torch.autograd.profiler.profile(use_device=device.type, use_kineto=use_kineto) as seen:
        total = (value @ value).sum().item()
    assert total == pytest.approx(expected.item(), rel=1e-4)
    rows = {row.key: row for row in seen.key_averages()}
    # Of what Kineto makes of these events little is told.
    assert use_kineto or rows["aten::mm"].device_time_total > 0
    assert "Exception in RecordFunction" not in capfd.readouterr().err


def test_profiling_leaves_the_current_device(device: torch.device) -> None:
    last = torch.accelerator.device_count() - 1
    with torch.accelerator.device_index(last):
        with torch.autograd.profiler.profile(use_device=device.type):
            torch.ones(3, device=device)
            assert torch.accelerator.current_device_index() == last
        assert torch.accelerator.current_device_index() == last
