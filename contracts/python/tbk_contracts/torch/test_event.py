# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Events as objects: before a record, after it, on other devices, and at their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.cell import Cell, hand_over, unordered

NEEDS = "accelerator stream event"


@pytest.fixture(autouse=True)
def back_on_the_first_device() -> Iterator[None]:
    """Each test begins and ends on device 0, where there is an accelerator."""
    if not torch.accelerator.is_available():
        yield
        return
    torch.accelerator.set_device_index(0)
    yield
    torch.accelerator.set_device_index(0)


@clause("EVT-501", needs=NEEDS)
def test_an_event_never_recorded_is_complete(device: torch.device) -> None:
    stream, other = torch.Stream(device), torch.Stream(device)

    timings = order.timings(device)

    def waited(load: order.Load) -> None:
        cell = Cell(device)
        load.hold()
        for timing in timings:
            event = torch.Event(device, enable_timing=timing)
            check.equal("query before any record", event.query(), True)
            event.synchronize()
            event.wait(other)
            other.wait_event(event)
            check.equal("query after a wait", event.query(), True)
        load.mark()
        with order.on(other):
            cell.seen.copy_(cell.source)
        cell.check_seen("work behind a wait for an event never recorded", other)

    order.show(stream, waited)


@clause("EVT-502", needs=NEEDS)
def test_recording_makes_the_event(devices: list[torch.device]) -> None:
    for device in devices:
        for timing in order.timings(device):
            event = torch.Event(device, enable_timing=timing)
            event.record(torch.Stream(device))
            check.that("the handle after a record", event.event_id != 0,
                       expected="not null", seen=event.event_id)  # fmt: skip
            check.equal("the device of the event", event.device, device)
            event.synchronize()
            check.equal("query after synchronize", event.query(), True)


@clause("EVT-512", needs=NEEDS + " two_devices")
def test_an_event_stays_on_the_device_of_its_first_record(devices: list[torch.device]) -> None:
    for first, other in (devices[:2], devices[1::-1]):
        event = torch.Event(first)
        event.record(torch.Stream(first))
        elsewhere = torch.Stream(other)
        check.raises("record on a stream of another device", (RuntimeError, ValueError),
                     partial(event.record, elsewhere))  # fmt: skip
        event.synchronize()
        event.record(torch.Stream(first))
        event.synchronize()
        check.equal("query after a record on its own device", event.query(), True)


@clause("EVT-518", needs=NEEDS)
def test_an_event_may_end_in_any_thread_on_any_device(devices: list[torch.device]) -> None:
    stream, other = torch.Stream(devices[0]), torch.Stream(devices[0])

    def end(events: list[torch.Event]) -> int:
        """Drops the events, half of them on each of two devices."""
        for index in (0, -1):
            with torch.accelerator.device_index(devices[index].index):
                del events[: len(events) // 2 if index == 0 else None]
        return len(events)

    timings = order.timings(devices[0])

    def ended(load: order.Load) -> None:
        cell = Cell(devices[0])
        never = [torch.Event(devices[0]) for _ in range(4)]
        load.hold()
        events = [torch.Event(devices[0], enable_timing=timings[count % len(timings)])
                  for count in range(16)]  # fmt: skip
        for event in events:
            event.record(stream)
        del event
        cell.write(stream)
        check.equal("events left", host.in_thread(partial(end, events)), 0)
        check.equal("events left that were never recorded", host.in_thread(partial(end, never)), 0)
        load.mark()
        order.until(stream.query, devices[0])
        cell.check_value("what was enqueued behind events that are gone", other)

    order.show(stream, ended, unordered(stream, other))


@clause("EVT-519", needs=NEEDS)
def test_the_end_of_a_pending_event_cancels_no_wait(device: torch.device) -> None:
    stream, other = torch.Stream(device), torch.Stream(device)

    def wait_and_end() -> None:
        event = torch.Event(device)
        event.record(stream)
        event.wait(other)
        del event
        # Whoever has its handle now may record it at will.
        spare = torch.Stream(device)
        for _ in range(8):
            torch.Event(device).record(spare)

    hand_over("what was written before an event that is gone", stream, other, wait_and_end)


def on_events(device: torch.device) -> dict[str, Callable[[], object]]:
    stream, other = torch.Stream(device), torch.Stream(device)
    event, shared = torch.Event(device), torch.Event(device)
    shared.record(stream)

    def make_and_end() -> None:
        short = torch.Event(device)
        short.record(other)

    return {
        "the first record": lambda: event.record(stream),
        "another record": lambda: event.record(other),
        "wait": lambda: event.wait(stream),
        "Stream.wait_event": lambda: stream.wait_event(event),
        "query": event.query,
        "synchronize": event.synchronize,
        "making, recording and dropping one": make_and_end,
        "dropping one": lambda: torch.Event(device) and None,
    }


@clause("EVT-520", needs=NEEDS + " two_devices")
def test_operations_on_events_leave_the_current_device(devices: list[torch.device]) -> None:
    for device in devices[:2]:
        for what, call in on_events(device).items():
            for index in (0, 1):
                torch.accelerator.set_device_index(index)
                call()
                seen = torch.accelerator.current_device_index()
                check.equal(f"the current device after {what}", seen, index)


@clause("EVT-524", needs=NEEDS)
def test_a_query_before_any_record_makes_no_handle(devices: list[torch.device]) -> None:
    for device in devices:
        event = torch.Event(device)
        check.equal("the handle of a new event", event.event_id, 0)
        event.query()
        event.synchronize()
        event.wait(torch.accelerator.current_stream(device))
        check.equal("the handle after query, synchronize and wait", event.event_id, 0)
