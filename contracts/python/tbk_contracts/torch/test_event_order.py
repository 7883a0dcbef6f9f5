# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The order that events give, and when they are complete."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.cell import Cell, does_not_wait, hand_over, host_sees, unordered
from tbk_contracts.torch.patience import awake_s

COST = 20

NEEDS = "accelerator stream event"
ARRIVAL_S = 5.0


def streams(device: torch.device, count: int) -> list[torch.Stream]:
    return [torch.Stream(device) for _ in range(count)]


def record_and_wait(
    write: torch.Stream, read: torch.Stream, *, timing: bool = False
) -> Callable[[], None]:
    """Returns an edge: an event is recorded on `write`, and `read` waits for it."""

    def edge() -> None:
        event = torch.Event(write.device, enable_timing=timing)
        event.record(write)
        event.wait(read)

    return edge


@clause("EVT-503", needs=NEEDS)
def test_query_is_true_only_once_the_stream_is_there(device: torch.device) -> None:
    stream, other = streams(device, 2)

    def asked(load: order.Load) -> None:
        cell, event = Cell(device), torch.Event(device)
        load.hold()
        cell.write(stream)
        event.record(stream)
        if event.query():
            cell.check_value("what was recorded, where query is true at once", other)
        load.mark()
        order.until(event.query, device)
        cell.check_value("what was recorded, once query is true", other)

    order.show(stream, asked, unordered(stream, other))


@clause("EVT-504", needs=NEEDS)
def test_a_wait_is_for_what_was_recorded_before_it(device: torch.device) -> None:
    stream, other = streams(device, 2)

    def passes(load: order.Load, *, with_wait: bool) -> bool:
        """Returns whether `other` comes through while `stream` is held by what is recorded
        later.
        """
        cell, event, end = Cell(device), torch.Event(device), torch.Event(device)
        event.record(stream)
        if with_wait:
            event.wait(other)
        load.hold()
        event.record(stream)
        cell.read(other)
        end.record(other)
        held = load.pending()
        order.until(end.query, device)
        return held and load.pending()

    if not order.asynchronous(device):
        check.evidence(check.TRIVIAL, "work is complete when the call returns")
    elif not order.ever(stream, partial(passes, with_wait=False)):
        check.evidence(check.NOT_SHOWN, "a stream that waits for nothing waits as well")
    seen = check.totals().evidence is not None
    passed = seen or order.ever(stream, partial(passes, with_wait=True))
    check.that("a stream that waits for a record that is complete", passed,
               expected="it goes on, although the event is recorded again",
               seen="it goes on when the later record is complete, each time")  # fmt: skip
    # The other way round: what was recorded before the wait still counts after a later record.
    hand_over("what the wait was for", stream, other, wait_and_record_again(stream, other))


def wait_and_record_again(write: torch.Stream, read: torch.Stream) -> Callable[[], None]:
    idle = torch.Stream(write.device)

    def edge() -> None:
        event = torch.Event(write.device)
        event.record(write)
        event.wait(read)
        event.record(idle)

    return edge


@clause("EVT-505", needs=NEEDS)
def test_a_second_record_moves_the_event(device: torch.device) -> None:
    stream, other, idle = streams(device, 3)

    def moved(load: order.Load) -> None:
        cell, event, twin = Cell(device), torch.Event(device), torch.Event(device)
        for each in (event, twin):
            each.record(idle)  # complete, until it is recorded again
            each.synchronize()
        load.hold()
        cell.write(stream)
        for each in (event, twin):  # one of them, where every second call does nothing
            each.record(stream)
        for each in (event, twin):
            if each.query():
                cell.check_value("what the second record was for, where query is true", other)
        event.wait(other)
        cell.read(other)
        event.record(idle)
        load.mark()
        cell.check_seen("what the wait was for, after a third record", other)
        order.until(event.query, device)

    order.show(stream, moved, unordered(stream, other))


@clause("EVT-506", needs=NEEDS)
def test_a_wait_does_not_block_the_host(device: torch.device) -> None:
    stream, other = streams(device, 2)
    does_not_wait("Event.wait", stream, record_and_wait(stream, other),
                  legal="a wait may be made by the host")  # fmt: skip


@clause("EVT-507", needs=NEEDS)
def test_an_event_orders_streams(devices: list[torch.device]) -> None:
    stream, other = streams(devices[0], 2)
    hand_over("what another stream wrote", stream, other, record_and_wait(stream, other))
    hand_over("what another stream wrote", stream, other, lambda: other.wait_stream(stream))
    default = torch.accelerator.current_stream(devices[0])
    hand_over("what the default stream wrote", default, other, record_and_wait(default, other))
    hand_over("what was written, seen by the default stream", stream, default,
              record_and_wait(stream, default))  # fmt: skip
    for first, second in (devices[:2], devices[1::-1]) if len(devices) > 1 else ():
        between_devices(torch.Stream(first), torch.Stream(second))


def between_devices(write: torch.Stream, read: torch.Stream) -> None:
    """Work of `read` is complete only after that of `write`, on another device."""

    def finished_early(load: order.Load, *, with_wait: bool) -> bool:
        cell, recorded, end = Cell(read.device), torch.Event(write.device), torch.Event(read.device)
        load.hold()
        recorded.record(write)
        if with_wait:
            recorded.wait(read)
        cell.write(read)
        end.record(read)
        load.held = load.held is not False and (with_wait or load.pending())
        order.until(end.query, read.device)
        return not recorded.query()

    def ordered(load: order.Load) -> None:
        early = finished_early(load, with_wait=True)
        check.equal("work of one device is done before what it waits for", early, False)

    order.show(write, ordered, partial(finished_early, with_wait=False))


@clause("EVT-508", needs=NEEDS)
def test_any_number_of_streams_wait_for_one_event(device: torch.device) -> None:
    stream, *others = streams(device, 17)

    def waited(load: order.Load) -> None:
        cells = [Cell(device) for _ in others]
        event = torch.Event(device)
        load.hold()
        for cell in cells:
            cell.write(stream)
        event.record(stream)
        for cell, other in zip(cells, others, strict=True):
            event.wait(other)
            cell.read(other)
        load.mark()
        for cell, other in zip(cells, others, strict=True):
            cell.check_seen("what each of the streams that wait sees", other)

    order.show(stream, waited, unordered(stream, others[0]))


@clause("EVT-509", needs=NEEDS)
def test_after_synchronize_the_recorded_work_is_complete(device: torch.device) -> None:
    stream, other = streams(device, 2)
    events: list[torch.Event] = []

    def wait() -> None:
        events.append(torch.Event(device))
        events[-1].record(stream)
        events[-1].synchronize()
        check.equal("query after synchronize", events[-1].query(), True)

    host_sees("after Event.synchronize", stream, other, wait)


@clause("EVT-510", needs=NEEDS)
def test_query_never_blocks(device: torch.device) -> None:
    stream = torch.Stream(device)

    def ask() -> None:
        event = torch.Event(device)
        event.record(stream)
        for _ in range(4):
            event.query()

    does_not_wait("Event.query", stream, ask, by_event=False)


@clause("EVT-521", needs=NEEDS + " pinned")
def test_work_completes_without_further_calls(device: torch.device) -> None:
    stream, event = torch.Stream(device), torch.Event(device)
    sent = torch.full((16,), 3.0)
    there, back = host.upload(sent, device), torch.zeros(16, pin_memory=True)
    torch.accelerator.synchronize(device)
    with order.on(stream):
        back.copy_(there, non_blocking=True)
    event.record(stream)
    deadline = awake_s() + ARRIVAL_S
    while back[-1].item() != 3 and awake_s() < deadline:  # looks at memory, asks nobody
        os.sched_yield()
    if back[-1].item() != 3:
        check.evidence(check.NOT_SHOWN, f"nothing had arrived after {ARRIVAL_S:g} s")
    order.until(event.query, device)
    check.tensor("what a stream has copied to the host", back, sent)


@clause("EVT-522", needs=NEEDS)
def test_what_was_written_before_the_record_is_seen_after_the_wait(device: torch.device) -> None:
    stream, other = streams(device, 2)
    writes: dict[str, Callable[[Cell], object]] = {
        "copy_": lambda cell: cell.value.copy_(cell.source),
        "an operator in place": lambda cell: cell.value.zero_().add_(cell.source),
        "an operator's out": lambda cell: torch.mul(cell.source, 1, out=cell.value),
        "a copy into a view": lambda cell: cell.value.view(8, 8).copy_(cell.source.view(8, 8)),
    }
    reads: dict[str, Callable[[Cell], object]] = {
        "copy_": lambda cell: cell.seen.copy_(cell.value),
        "an operator": lambda cell: torch.mul(cell.value, 1, out=cell.seen),
        "a copy of a view": lambda cell: cell.seen.view(8, 8).copy_(cell.value.view(8, 8)),
    }

    def seen(load: order.Load) -> None:
        cells = {(one, two): Cell(device) for one in writes for two in reads}
        load.hold()
        with order.on(stream):
            for (write, _), cell in cells.items():
                writes[write](cell)
        record_and_wait(stream, other)()
        with order.on(other):
            for (_, read), cell in cells.items():
                reads[read](cell)
        load.mark()
        for (write, read), cell in cells.items():
            cell.check_seen(f"{write}, then {read} behind a wait", other)

    order.show(stream, seen, unordered(stream, other))


@clause("EVT-523", needs=NEEDS)
def test_one_thread_waits_for_what_another_recorded(device: torch.device) -> None:
    stream, other = streams(device, 2)

    def handed_over(load: order.Load) -> None:
        cell, event = Cell(device), torch.Event(device)
        load.hold()

        def write() -> None:
            cell.write(stream)
            event.record(stream)

        def wait() -> None:
            event.wait(other)
            cell.read(other)

        host.in_thread(write)
        host.in_thread(wait)
        load.mark()
        host.in_thread(event.synchronize)
        cell.check_value("what is seen after synchronize in a third thread",
                         torch.Stream(device))  # fmt: skip
        cell.check_seen("what one thread wrote and another one waited for", other)

    order.show(stream, handed_over, unordered(stream, other))
