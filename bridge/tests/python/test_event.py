# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.Event on the backend's devices."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
import torch_tbk

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def test_an_event_that_was_not_recorded_is_complete(
    backend: DeviceModule, device: torch.device
) -> None:
    event = torch.Event(device)
    event.synchronize()
    event.wait(torch.Stream(device))
    assert event.query()
    assert event.event_id == 0, "asking made an event"


def test_an_event_marks_what_came_before(backend: DeviceModule, device: torch.device) -> None:
    stream = torch.Stream(device)
    with stream:
        x = torch.ones(1 << 16, device=device)
        for _ in range(20):
            x += 1
        event = stream.record_event()
    event.synchronize()
    assert event.query()
    assert event.event_id != 0
    with stream:
        assert x.eq(21).all().item()


def test_any_number_of_streams_wait_for_one_event(
    backend: DeviceModule, device: torch.device
) -> None:
    source = torch.Stream(device)
    with source:
        x = torch.full((1 << 16,), 5.0, device=device)
        ready = source.record_event()
    for stream in [torch.Stream(device) for _ in range(6)]:
        stream.wait_event(ready)
        with stream:
            x.record_stream(stream)
            assert (x + 1).eq(6).all().item()


def test_a_second_record_moves_the_event(backend: DeviceModule, device: torch.device) -> None:
    stream = torch.Stream(device)
    event = torch.Event(device)
    with stream:
        x = torch.zeros(1 << 16, device=device)
        event.record(stream)
        identity = event.event_id
        x += 1
        event.record(stream)
    event.synchronize()
    assert event.event_id == identity
    with stream:
        assert x.eq(1).all().item()


def test_an_event_of_one_thread_serves_another(backend: DeviceModule, device: torch.device) -> None:
    stream = torch.Stream(device)
    event = torch.Event(device)
    tensors = []

    def produce() -> None:
        with stream:
            tensors.append(torch.full((1 << 16,), 7.0, device=device))
            event.record(stream)

    thread = threading.Thread(target=produce)
    thread.start()
    thread.join()
    consumer = torch.Stream(device)
    event.wait(consumer)
    with consumer:
        x = tensors.pop()
        x.record_stream(consumer)
        assert x.eq(7).all().item()


def test_an_event_stays_on_its_first_device(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    event = torch.Event(device)
    event.record(torch.Stream(device))
    with pytest.raises(RuntimeError, match="can't be recorded on a stream of"):
        event.record(torch.Stream(other_device))
    event.synchronize()
    assert event.query()


def test_time_is_in_milliseconds_and_grows(backend: DeviceModule, device: torch.device) -> None:
    stream = torch.Stream(device)
    start, middle, end = (torch.Event(device, enable_timing=True) for _ in range(3))
    with stream:
        start.record(stream)
        x = torch.ones(1 << 16, device=device)
        middle.record(stream)
        for _ in range(100):
            x += 1
        end.record(stream)
    end.synchronize()
    assert 0 <= start.elapsed_time(middle) <= start.elapsed_time(end) < 60_000


def test_time_is_refused_where_there_is_none(backend: DeviceModule, device: torch.device) -> None:
    stream = torch.accelerator.current_stream(device)
    timed, untimed, unrecorded = (
        torch.Event(device, enable_timing=True),
        torch.Event(device),
        torch.Event(device, enable_timing=True),
    )
    timed.record(stream)
    untimed.record(stream)
    stream.synchronize()
    with pytest.raises(ValueError, match="timing"):
        timed.elapsed_time(untimed)
    with pytest.raises(ValueError, match="record"):
        timed.elapsed_time(unrecorded)


def test_events_may_go_while_they_are_pending(backend: DeviceModule, device: torch.device) -> None:
    first, second = torch.Stream(device), torch.Stream(device)
    x = torch.zeros(1 << 12, device=device)
    first.wait_stream(torch.accelerator.current_stream(device))
    for _ in range(300):
        with first:
            x += 1
        second.wait_event(first.record_event())
        with second:
            x += 1
        first.wait_event(second.record_event())
    gc.collect()
    with first:
        assert x.eq(600).all().item()


def test_other_threads_run_while_the_host_waits(child: Callable[..., str]) -> None:
    """The device has one event, so that the host waits for the stream where another is recorded."""
    program = """
import sys, threading, torch, torch_tbk
name = torch_tbk.load(sys.argv[1], options="events=1,delay_us=1000000").backend_name
held = torch.Event(name)
held.record(torch.accelerator.current_stream(name))
sys.setswitchinterval(1000)  # a thread that has the GIL keeps it unless it lets go of it
go, back, runs = threading.Lock(), threading.Lock(), []
go.acquire(), back.acquire()
def other():
    for turn in range(5):
        go.acquire()
        runs.append(turn)
        back.release()
thread = threading.Thread(target=other)
thread.start()
seen = []
for turn in range(5):
    x = torch.ones(1, device=name)
    event = torch.Event(name)
    go.release()
    event.record()
    seen.append(turn in runs)
    back.acquire()
thread.join()
print(any(seen))
"""
    assert child(program, torch_tbk.reference("cpu")) == "True\n"
