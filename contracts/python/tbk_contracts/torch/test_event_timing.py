# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Events that measure time. The host's clock gives bounds: nothing is too slow for them."""

from __future__ import annotations

import time
from functools import partial

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.cell import hand_over
from tbk_contracts.torch.extremes import place
from tbk_contracts.torch.pairs import Case, each_case, line

NEEDS = "accelerator stream event event_timing"
SPAN_S = 0.03
DRIFT = 0.02  # of two clocks
RESOLUTION_MS = 1.0


def timed(device: torch.device) -> torch.Event:
    return torch.Event(device, enable_timing=True)


def work_for(stream: torch.Stream, seconds: float) -> None:
    """Keep the stream and the host busy."""
    value = host.upload(host.values((64, 64)), stream.device)
    end = time.monotonic() + seconds
    with order.on(stream):
        while time.monotonic() < end:
            value.mul_(1)
            value.sum().item()


@clause("EVT-513", needs=NEEDS)
def test_elapsed_time_is_in_milliseconds(device: torch.device) -> None:
    stream, first, last = torch.Stream(device), timed(device), timed(device)
    outer_begin = time.monotonic()
    first.record(stream)
    first.synchronize()
    inner_begin = time.monotonic()
    work_for(stream, SPAN_S)
    inner_end = time.monotonic()
    last.record(stream)
    last.synchronize()
    outer_end = time.monotonic()
    seen = first.elapsed_time(last)
    least = (inner_end - inner_begin) * 1e3 * (1 - DRIFT) - RESOLUTION_MS
    most = (outer_end - outer_begin) * 1e3 * (1 + DRIFT) + RESOLUTION_MS
    check.that("elapsed_time", least <= seen <= most,
               expected=f"{least:.3f} to {most:.3f} ms by the host's clock", seen=seen)  # fmt: skip
    try:
        back = last.elapsed_time(first)
    except RuntimeError:
        check.note("elapsed_time of events in reverse raises")
    else:
        check.that("elapsed_time in reverse", -most <= back <= -least,
                   expected=f"{-most:.3f} to {-least:.3f} ms", seen=back)  # fmt: skip


@each_case({"milliseconds": ("0", "3", "60", "150", "400"), "stream": ("new", "default"),
            "device": ("first", "second"), "thread": ("main", "other"), "work": ("busy", "idle")},
           needs=lambda case: "two_devices" if case["device"] == "second" else "",
           slow=lambda case: case.get("milliseconds") == "400", quick=5)  # fmt: skip
@clause("EVT-514", needs=NEEDS)
def test_any_stretch(device: torch.device, case: Case) -> None:
    """However long it is, and whether the stream works: as long as by the host's clock."""
    device = place(case, device)
    stream = torch.Stream(device) if case["stream"] == "new" else host.in_thread(
        lambda: torch.accelerator.current_stream(device))  # fmt: skip
    seconds = int(case["milliseconds"]) / 1e3

    def stretch() -> tuple[float, float, float]:
        first, last = timed(device), timed(device)
        begin = time.monotonic()
        first.record(stream)
        first.synchronize()
        inner_begin = time.monotonic()
        if case["work"] == "busy":
            work_for(stream, seconds)
        else:
            time.sleep(seconds)
        inner_end = time.monotonic()
        last.record(stream)
        last.synchronize()
        return inner_end - inner_begin, first.elapsed_time(last), time.monotonic() - begin

    inner, seen, outer = host.in_thread(stretch) if case["thread"] == "other" else stretch()
    least = inner * 1e3 * (1 - DRIFT) - RESOLUTION_MS
    most = outer * 1e3 * (1 + DRIFT) + RESOLUTION_MS
    check.that(f"elapsed_time, {line(case)}", least <= seen <= most,
               expected=f"{least:.3f} to {most:.3f} ms by the host's clock", seen=seen)  # fmt: skip


@clause("EVT-514", needs=NEEDS)
def test_a_longer_stretch_takes_no_less(device: torch.device) -> None:
    stream = torch.Stream(device)
    events = [timed(device) for _ in range(6)]
    for event in events:
        event.record(stream)
        work_for(stream, SPAN_S / 10)
    stream.synchronize()
    since = [events[0].elapsed_time(event) for event in events[1:]]
    check.equal("times since the first event", since, sorted(since))
    until = [event.elapsed_time(events[-1]) for event in events[:-1]]
    check.equal("times until the last event", until, sorted(until, reverse=True))
    check.that("the time from the first to the last", since[-1] > 0,
               expected="more than 0 ms", seen=since[-1])  # fmt: skip


@clause("EVT-515", needs=NEEDS)
def test_events_that_cannot_be_compared_are_refused(device: torch.device) -> None:
    stream = torch.Stream(device)

    def complete(*, timing: bool) -> torch.Event:
        event = torch.Event(device, enable_timing=timing)
        event.record(stream)
        event.synchronize()
        return event

    def refused(what: str, first: torch.Event, last: torch.Event) -> None:
        for one, two in ((first, last), (last, first)):
            check.raises(what, ValueError, partial(one.elapsed_time, two))

    refused("an event without timing", complete(timing=False), complete(timing=True))
    refused("two events without timing", complete(timing=False), complete(timing=False))
    refused("an event that was not recorded", timed(device), complete(timing=True))

    def incomplete(load: order.Load) -> None:
        first, last = complete(timing=True), timed(device)
        load.hold()
        last.record(stream)
        held = load.pending()
        try:
            first.elapsed_time(last)
        except RuntimeError as error:
            held = True
            check.that("the error of an event that is incomplete", "complete" in str(error),
                       expected="a RuntimeError that says so", seen=str(error))  # fmt: skip
        else:
            check.equal("elapsed_time of an event that is incomplete", load.pending(), False)
            held = False
        load.held = held

    order.show(stream, incomplete)


@clause("EVT-516", needs=NEEDS)
def test_events_with_and_without_timing_order_work(device: torch.device) -> None:
    write, read = torch.Stream(device), torch.Stream(device)
    events: list[torch.Event] = []

    def edge(timing: bool) -> None:
        events.append(torch.Event(device, enable_timing=timing))
        events[-1].record(write)
        events[-1].wait(read)

    for timing in (False, True):
        what = f"what was written before an event {'with' if timing else 'without'} timing"
        hand_over(what, write, read, partial(edge, timing))
    end = timed(device)
    end.record(read)
    end.synchronize()
    check.that("the time since an event that also ordered work", events[-1].elapsed_time(end) >= 0,
               expected="0 or more", seen=events[-1].elapsed_time(end))  # fmt: skip
