# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.Stream on the backend's devices."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def rebuilt(stream: torch.Stream) -> Any:
    return torch.Stream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )


def test_the_default_stream_is_current_in_every_thread(
    backend: DeviceModule, device: torch.device
) -> None:
    seen = []

    def elsewhere() -> None:
        seen.append(torch.accelerator.current_stream(device))
        torch.accelerator.set_stream(torch.Stream(device))
        seen.append(torch.accelerator.current_stream(device))

    default = torch.accelerator.current_stream(device)
    with torch.Stream(device) as side:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert torch.accelerator.current_stream(device) == side
    assert default.stream_id == 0
    assert seen[0] == default
    assert seen[1] not in (default, side)


def test_a_stream_is_found_again_by_its_numbers(
    backend: DeviceModule, device: torch.device
) -> None:
    stream = torch.Stream(device)
    results: list[torch.Tensor] = []

    def elsewhere() -> None:
        with rebuilt(stream):
            results.append(torch.arange(5, device=device) + 1)
        rebuilt(stream).synchronize()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert rebuilt(stream) == stream
    assert hash(rebuilt(stream)) == hash(stream)
    with stream:
        assert results.pop().tolist() == [1, 2, 3, 4, 5]


def test_numbers_of_no_stream_are_refused(backend: DeviceModule, device: torch.device) -> None:
    kind = torch.Stream(device).device_type
    stream = torch.Stream(stream_id=4000, device_index=0, device_type=kind)
    for use in (stream.synchronize, stream.query, stream.__enter__):
        with pytest.raises(RuntimeError, match="no stream with the id 4000"):
            use()
    assert torch.accelerator.current_stream(device).stream_id == 0


def test_any_number_of_streams_may_be_asked_for(
    backend: DeviceModule, device: torch.device
) -> None:
    streams = [torch.Stream(device) for _ in range(1100)]
    assert {stream.device for stream in streams} == {device}
    assert 0 not in {stream.stream_id for stream in streams}
    assert 1 < len(set(streams)) <= 32


def test_work_of_a_stream_is_complete_after_synchronize(
    backend: DeviceModule, device: torch.device
) -> None:
    stream = torch.Stream(device)
    with stream:
        x = torch.zeros(1000, device=device)
        for _ in range(50):
            x += 1
    stream.synchronize()
    assert stream.query()
    with stream:
        assert x.sum().item() == 50 * 1000


def test_a_stream_waits_for_another(backend: DeviceModule, device: torch.device) -> None:
    first, second = torch.Stream(device), torch.Stream(device)
    x = torch.zeros(1 << 16, device=device)
    first.wait_stream(torch.accelerator.current_stream(device))
    with first:
        for _ in range(20):
            x += 1
    second.wait_stream(first)
    with second:
        y = x * 2
        x.record_stream(second)
        assert y.eq(40).all().item()


def test_a_stream_waits_for_one_of_another_device(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    here, there = torch.Stream(device), torch.Stream(other_device)
    with here:
        x = torch.full((1 << 16,), 3.0, device=device)
    there.wait_stream(here)
    with there, here:
        assert x.to(other_device).eq(3).all().item()


def test_the_device_is_synchronised_whatever_is_current(
    backend: DeviceModule, other_device: torch.device
) -> None:
    side = torch.Stream(other_device)
    with side:
        x = torch.ones(1 << 16, device=other_device) * 2
    torch.accelerator.synchronize(other_device.index)
    assert side.query()
    assert x.eq(2).all().item()


def test_a_stream_of_another_device_type_is_refused(
    backend: DeviceModule, device: torch.device
) -> None:
    kind = torch._C._autograd.DeviceType.CPU.value
    stream = torch.Stream(stream_id=0, device_index=0, device_type=kind)
    with pytest.raises(RuntimeError, match=r"(?i)cpu"):
        torch.accelerator.set_stream(stream)
    with pytest.raises(RuntimeError, match=r"(?i)cpu"):
        torch.ones(1, device=device).record_stream(stream)
    assert torch.accelerator.current_stream(device).stream_id == 0


def test_equal_streams_have_one_native_handle(backend: DeviceModule, device: torch.device) -> None:
    stream: Any = torch.Stream(device)
    if backend.capabilities()["stream to native handle"].source == "none":
        with pytest.raises(NotImplementedError, match="offers no native handles"):
            stream.native_handle  # noqa: B018
        return
    assert stream.native_handle == rebuilt(stream).native_handle != 0


def test_no_stream_is_being_captured(backend: DeviceModule, device: torch.device) -> None:
    is_capturing = getattr(torch.Stream(device), "is_capturing", lambda: False)
    assert is_capturing() is False
