# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The order that streams give, and what waits for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import capability, check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.cell import Cell, does_not_wait, hand_over, host_sees, unordered

COST = 26

NEEDS = "accelerator stream event"


def two_streams(device: torch.device) -> tuple[torch.Stream, torch.Stream]:
    return torch.Stream(device), torch.Stream(device)


@clause("STR-506", needs=NEEDS)
def test_work_of_one_stream_runs_in_order(device: torch.device) -> None:
    stream, other = two_streams(device)

    def in_order(load: order.Load) -> None:
        steps = [host.values((32,)) for _ in range(16)]
        sources = [host.upload(step, device) for step in steps]
        value = host.poisoned((32,), torch.float32, device)
        seen = [host.poisoned((32,), torch.float32, device) for _ in steps]
        load.hold()
        with order.on(stream):
            for source, target in zip(sources, seen, strict=True):
                value.copy_(source)
                target.copy_(value)
                value.add_(1)
        load.mark()
        for step, target in zip(steps, seen, strict=True):
            check.tensor("what was written last before it was read",
                         order.read(stream, target), step)  # fmt: skip

    order.show(stream, in_order, unordered(stream, other))


@clause("STR-508", needs=NEEDS)
def test_query_is_true_only_when_all_is_complete(device: torch.device) -> None:
    stream, other = two_streams(device)

    def asked(load: order.Load) -> None:
        cell = Cell(device)
        load.hold()
        cell.write(stream)
        if stream.query():
            cell.check_value("what was enqueued before a query that is true", other)
        load.mark()
        order.until(stream.query, device)
        cell.check_value("what was enqueued, once the query is true", other)

    does_not_wait("Stream.query", stream, stream.query)
    order.show(stream, asked, unordered(stream, other))


@clause("STR-509", needs=NEEDS)
def test_after_synchronize_the_host_sees_what_the_stream_wrote(device: torch.device) -> None:
    stream, other = two_streams(device)
    pinned = capability.probe("pinned", device).held

    def to_the_host(load: order.Load) -> None:
        cell = Cell(device)
        there = torch.zeros(cell.new.shape, pin_memory=pinned)
        load.hold()
        cell.write(stream)
        with order.on(stream):
            there.copy_(cell.value, non_blocking=pinned)
        if pinned:
            load.mark()
        else:
            load.held = True  # such a copy waits itself
        stream.synchronize()
        check.tensor("what a stream has copied to the host", there, cell.new)
        check.equal("query after synchronize", stream.query(), True)

    order.show(stream, to_the_host)
    host_sees("after Stream.synchronize", stream, other, stream.synchronize)


@clause("STR-510", needs=NEEDS)
def test_synchronize_does_not_wait_for_other_streams(device: torch.device) -> None:
    stream, other = two_streams(device)
    does_not_wait("Stream.synchronize of an idle stream", other, stream.synchronize,
                  legal="one queue may serve all streams")  # fmt: skip


@clause("STR-511", needs=NEEDS)
def test_synchronizing_a_device_waits_for_all_its_streams(devices: list[torch.device]) -> None:
    device = devices[0]
    default = torch.accelerator.current_stream(device)
    busy, other = two_streams(device)
    for current in (busy, other, default):
        for stream in (busy, default):
            reader = other if stream is busy else busy

            def wait(current: torch.Stream = current) -> None:
                with order.on(current), torch.accelerator.device_index(devices[-1].index):
                    torch.accelerator.synchronize(device)

            host_sees("after synchronize of the device", stream, reader, wait)


def _takes_a_device(synchronize: Callable[..., object]) -> bool:
    try:
        return len(inspect.signature(synchronize).parameters) > 0
    except ValueError:  # it is written in C, and does not say
        return True


@pytest.mark.parametrize("named", ["index", "device"])
@pytest.mark.parametrize("through", ["module", "accelerator"])
@clause("STR-511", needs="accelerator stream event module two_devices")
def test_the_device_named_is_the_one_that_is_awaited(
    devices: list[torch.device], module: Any, through: str, named: str
) -> None:
    owner = torch.accelerator if through == "accelerator" else module
    synchronize: Callable[..., object] = getattr(owner, "synchronize", lambda: None)
    if not _takes_a_device(synchronize):
        check.evidence(check.NOT_SHOWN, "the module has no synchronize that takes a device")
        return
    busy, idle = devices[1], devices[0]
    stream, other = two_streams(busy)

    def wait() -> None:
        with torch.accelerator.device_index(idle.index):
            synchronize(busy.index if named == "index" else busy)

    host_sees(f"after synchronize of the {through}", stream, other, wait)


@clause("STR-512", needs=NEEDS)
def test_a_thread_that_never_used_the_device_can_synchronize_it(device: torch.device) -> None:
    stream, other = two_streams(device)
    wait = partial(host.in_thread, partial(torch.accelerator.synchronize, device))
    host_sees("after synchronize in another thread", stream, other, wait)


@clause("STR-513", needs="accelerator lazy", fresh=True)
def test_synchronizing_a_device_never_used_starts_nothing(module: Any) -> None:
    for index in range(module.device_count()):
        torch.accelerator.synchronize(index)
        check.equal("is_initialized after it", module.is_initialized(), False)


@clause("STR-514", needs=NEEDS)
def test_a_stream_made_of_its_numbers_is_the_same(device: torch.device) -> None:
    stream, other = two_streams(device)

    def twin() -> torch.Stream:
        return torch.Stream(
            stream_id=stream.stream_id,
            device_index=stream.device_index,
            device_type=stream.device_type,
        )

    for same in (twin(), host.in_thread(twin)):
        check.equal("a stream made of the numbers of another", same, stream)
        check.equal("its hash", hash(same), hash(stream))
        check.equal("its device", same.device, device)
        hand_over("the same queue, without anything between", stream, same, None, control=False)
    # A device may have but one beside the default stream.
    first = host.in_thread(lambda: torch.accelerator.current_stream(device))
    apart = first if stream.stream_id == other.stream_id else other
    check.that("two streams", stream != apart, expected="not equal", seen=(stream, apart))

    def elsewhere(load: order.Load) -> None:
        cell = Cell(device)
        load.hold()
        cell.write(stream)
        host.in_thread(lambda: cell.read(twin()))
        load.mark()
        cell.check_seen("the same queue, by another thread", stream)

    order.show(stream, elsewhere, unordered(stream, other))


@clause("STR-525", needs=NEEDS)
def test_making_a_stream_does_not_wait(device: torch.device) -> None:
    stream = torch.Stream(device)
    does_not_wait("torch.Stream()", stream, lambda: torch.Stream(device),
                  legal="a runtime may have no other way")  # fmt: skip
