# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.<name>: streams and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def test_streams_are_pytorchs_own(backend: DeviceModule, device: torch.device) -> None:
    for stream in (backend.Stream(), torch.Stream(device), backend.current_stream()):
        assert isinstance(stream, torch.Stream)
        assert isinstance(stream, backend.Stream)
        assert not isinstance(stream, backend.ExternalStream)
        assert stream.device == device
    assert not isinstance(device, backend.Stream)
    assert backend.default_stream() == backend.current_stream()
    assert backend.Stream(stream_id=0, device_index=0, device_type=20) == backend.default_stream()


def test_events_are_pytorchs_own(backend: DeviceModule, device: torch.device) -> None:
    for event in (backend.Event(), torch.Event(device)):
        assert isinstance(event, torch.Event)
        assert isinstance(event, backend.Event)
        assert event.query(), "nothing was recorded"
    with pytest.raises(NotImplementedError, match="between processes"):
        backend.Event(interprocess=True)


def test_events_measure_time(backend: DeviceModule) -> None:
    start, end = backend.Event(enable_timing=True), backend.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    stream = backend.Stream()
    stream.wait_event(stream.record_event(end))
    stream.wait_stream(backend.current_stream())
    start.record(stream)
    start.wait(backend.Stream())
    stream.synchronize()
    assert start.query()


def test_a_stream_context_restores_stream_and_device(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    here, there = backend.Stream(), backend.Stream(other_device)
    context = backend.stream(there)
    with backend.stream(here), context as entered:
        assert entered is there
        assert backend.current_device() == 1
        assert backend.current_stream() == there
        assert backend.current_stream(device) == here
        with context:
            assert backend.current_stream() == there
        assert backend.current_device() == 1
    assert backend.current_device() == 0
    assert backend.current_stream(other_device) == backend.default_stream(other_device)
    assert backend.current_stream(device) == backend.default_stream(device)


def test_a_stream_context_switches_the_device_for_a_stream_that_is_current_already(
    backend: DeviceModule, other_device: torch.device
) -> None:
    with backend.stream(backend.default_stream(other_device)):
        assert backend.current_device() == other_device.index
    assert backend.current_device() == 0


def test_no_stream_is_no_change(backend: DeviceModule) -> None:
    before = backend.current_stream()
    backend.set_stream(None)
    with backend.stream(None):
        assert backend.current_stream() == before


def test_priorities_out_of_range_are_clamped(backend: DeviceModule) -> None:
    least, greatest = backend.Stream.priority_range()
    for priority in (greatest - 100, greatest, 0, least, least + 100):
        backend.Stream(priority=priority).synchronize()


def test_an_external_stream_stands_for_the_queue_it_wraps(backend: DeviceModule) -> None:
    can = backend.capabilities()
    stream = backend.Stream()
    if can["stream to native handle"].source == "none":
        with pytest.raises(NotImplementedError):
            stream.native_handle  # noqa: B018
        with pytest.raises(NotImplementedError):
            backend.ExternalStream(1)
        return
    external = backend.ExternalStream(stream.native_handle)
    assert isinstance(external, backend.ExternalStream)
    assert external.native_handle == stream.native_handle
    with external:
        x = torch.arange(8.0, device=external.device) * 2
    external.synchronize()
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
