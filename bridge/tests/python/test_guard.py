# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a guard changes, it puts back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def current() -> int:
    return int(torch.accelerator.current_device_index())


def test_a_guard_restores_when_nested_and_after_an_exception(
    backend: DeviceModule, other_device: torch.device
) -> None:
    with contextlib.suppress(KeyError), torch.accelerator.device_index(other_device.index):
        with torch.accelerator.device_index(0):
            assert current() == 0
        assert current() == other_device.index
        raise KeyError
    assert current() == 0


def test_a_guard_of_no_device_changes_nothing(
    backend: DeviceModule, other_device: torch.device
) -> None:
    with torch.accelerator.device_index(other_device.index):
        with torch.accelerator.device_index(None):
            assert current() == other_device.index
        assert current() == other_device.index


def test_a_guard_of_a_device_that_is_not_there_changes_nothing(backend: DeviceModule) -> None:
    with (
        pytest.raises(RuntimeError, match="invalid device index"),
        torch.accelerator.device_index(backend.device_count()),
    ):
        pytest.fail("the guard was entered")
    assert current() == 0


def test_a_stream_context_restores_both(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    here, there = torch.Stream(device), torch.Stream(other_device)
    with contextlib.suppress(KeyError), here, there:
        assert current() == other_device.index
        assert torch.accelerator.current_stream(device) == here
        assert torch.accelerator.current_stream(other_device) == there
        raise KeyError
    assert current() == 0
    for index in (device, other_device):
        assert torch.accelerator.current_stream(index).stream_id == 0


def test_set_stream_makes_its_device_current(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    there = torch.Stream(other_device)
    torch.accelerator.set_stream(there)
    try:
        assert current() == other_device.index
        assert torch.accelerator.current_stream() == there
        assert torch.accelerator.current_stream(device).stream_id == 0
    finally:
        torch.accelerator.set_stream(backend.default_stream(other_device))
        torch.accelerator.set_device_index(0)


def test_streams_and_events_leave_the_current_device(
    backend: DeviceModule, other_device: torch.device
) -> None:
    stream = torch.Stream(other_device)
    event = torch.Event(other_device, enable_timing=True)
    event.record(stream)
    event.wait(stream)
    event.synchronize()
    stream.synchronize()
    torch.accelerator.synchronize(other_device.index)
    assert event.query()
    assert stream.query()
    assert current() == 0


def test_a_failed_record_leaves_the_current_device(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    event = torch.Event(device)
    event.record(torch.Stream(device))
    with pytest.raises(RuntimeError, match="can't be recorded on a stream of"):
        event.record(torch.Stream(other_device))
    assert current() == 0
    event.synchronize()
