# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Streams as values: which one is current, what equals what, and what may be asked of them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import capability, cell, check, host, order
from tbk_contracts.torch.case import clause

current = torch.accelerator.current_stream


@pytest.fixture(autouse=True)
def back_to_the_streams_that_were_current() -> Iterator[None]:
    """Each test begins and ends on the default streams, and on device 0."""
    if not torch.accelerator.is_available():
        yield
        return
    streams = [current(index) for index in range(torch.accelerator.device_count())]
    yield
    for stream in streams:
        torch.accelerator.set_stream(stream)
    torch.accelerator.set_device_index(0)


def twin(stream: torch.Stream) -> torch.Stream:
    """Returns the same stream, made of its numbers."""
    return torch.Stream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )


def works(stream: torch.Stream) -> bool:
    """Values go there and back on this stream."""
    sent = host.values((9,))
    with order.on(stream):
        there = host.upload(sent, stream.device)
        return torch.equal(host.download(there + there), sent + sent)


@clause("STR-501", needs="accelerator")
def test_each_device_has_one_default_stream(devices: list[torch.device], module: Any) -> None:
    def defaults() -> list[torch.Stream]:
        return [current(device) for device in devices]

    seen = host.in_threads([defaults] * 4)
    for one in seen:
        check.equal("the default streams that threads see", one, seen[0])
    for stream, device in zip(seen[0], devices, strict=True):
        check.equal("the device of a default stream", stream.device, device)
        check.equal("values by way of the default stream", works(stream), True)
    check.equal("how many there are", len(set(seen[0])), len(devices))
    if hasattr(module, "default_stream"):
        said = [module.default_stream(device).stream_id for device in devices]
        check.equal("the ids of what the module calls default streams", said,
                    [stream.stream_id for stream in seen[0]])  # fmt: skip


@clause("STR-502", needs="accelerator stream")
def test_a_thread_that_set_no_stream_is_on_the_default_one(device: torch.device) -> None:
    default = host.in_thread(partial(current, device))
    torch.accelerator.set_stream(torch.Stream(device))
    check.equal("the current stream of another thread", host.in_thread(partial(current, device)),
                default)  # fmt: skip
    check.that("the current stream here", current(device) != default,
               expected="the one that was set", seen=current(device))  # fmt: skip


@clause("STR-503", needs="accelerator stream")
def test_the_current_stream_is_kept_by_thread_and_device(devices: list[torch.device]) -> None:
    step = threading.Barrier(2, timeout=host.JOIN_S)

    def set_and_see() -> bool:
        mine = [torch.Stream(device) for device in devices]
        for stream in mine:
            step.wait()
            torch.accelerator.set_stream(stream)
        step.wait()
        return [current(device) for device in devices] == mine

    before = [current(device) for device in devices]
    check.equal("threads that each set streams of all devices see their own",
                host.in_threads([set_and_see] * 2), [True, True])  # fmt: skip
    check.equal("the current streams here", [current(device) for device in devices], before)


@clause("STR-504", needs="accelerator stream")
def test_a_stream_is_current_until_it_is_replaced(device: torch.device) -> None:
    former, first, second = current(device), torch.Stream(device), torch.Stream(device)
    torch.accelerator.set_stream(first)
    check.equal("the current stream after set_stream", current(device), first)
    with second:
        check.equal("the current stream in a context", current(device), second)
        with former:
            check.equal("the current stream in a nested context", current(device), former)
        check.equal("the current stream behind the nested context", current(device), second)
    check.equal("the current stream behind the context", current(device), first)
    torch.accelerator.set_stream(former)
    check.equal("the current stream after the former one was set", current(device), former)


@clause("STR-505", needs="accelerator stream two_devices")
def test_setting_a_stream_leaves_those_of_other_devices(devices: list[torch.device]) -> None:
    seen = [current(device) for device in devices]
    for _ in range(2):
        for index, device in enumerate(devices):
            seen[index] = torch.Stream(device)
            torch.accelerator.set_stream(seen[index])
            check.equal("the current streams", [current(one) for one in devices], seen)


@clause("STR-515", needs="accelerator stream event")
def test_an_id_stays_valid(device: torch.device) -> None:
    first, other = torch.Stream(device), torch.Stream(device)
    numbers = twin(first)

    def dropped(load: order.Load) -> None:
        made = cell.Cell(device)
        load.hold()
        made.write(numbers)
        load.mark()
        many = [torch.Stream(device) for _ in range(64)]
        check.equal("how many more streams were made", len(many), 64)
        twin(numbers).synchronize()
        made.check_value("what a stream wrote whose objects are gone", other)

    del first
    order.show(numbers, dropped, cell.unordered(numbers, other))
    check.equal("values by way of such a stream", works(twin(numbers)), True)


@clause("STR-516", needs="accelerator stream")
def test_any_priority_is_accepted(device: torch.device) -> None:
    for priority in (-1000, -2, -1, 0):
        stream = torch.Stream(device, priority=priority)
        check.equal("the device of a stream with a priority", stream.device, device)
        check.equal("values by way of it", works(stream), True)


@clause("STR-516", needs="accelerator stream module")
def test_a_priority_stays_however_many_streams_there_are(
    devices: list[torch.device], module: Any
) -> None:
    """Streams may be shared: whoever gets one again gets it with what was asked for."""
    make = getattr(module, "Stream", None)
    if make is None or not hasattr(make(device=devices[0]), "priority"):
        check.evidence(check.NOT_SHOWN, "the module's streams do not tell their priority")
        return
    told: dict[object, int] = {}
    for device, priority in [*itertools.product(devices, (0, -1, -2))] * 70:
        stream = make(device=device, priority=priority)
        asked, numbers = (device, priority), (device, "id", stream.stream_id)
        check.equal(f"the device of a stream of priority {priority}", stream.device, device)
        check.equal(f"the priority of stream {stream.stream_id}", stream.priority,
                    told.get(numbers, stream.priority))  # fmt: skip
        if asked not in told and numbers in told:
            continue  # so few streams that this priority has none of its own
        check.equal(f"the priority of a stream that was made with {priority}", stream.priority,
                    told.setdefault(asked, stream.priority))  # fmt: skip
        told[numbers] = stream.priority


@clause("STR-518", needs="accelerator stream")
def test_a_new_stream_is_on_its_device_and_not_the_default_one(
    devices: list[torch.device],
) -> None:
    for device in devices:
        default = host.in_thread(partial(current, device))
        for stream in [torch.Stream(device) for _ in range(40)]:
            check.equal("the device of a new stream", stream.device, device)
            check.that("a new stream", stream != default, expected="not the default one",
                       seen=stream)  # fmt: skip
        torch.accelerator.set_device_index(device)
        check.equal("the device of a stream made without one", torch.Stream().device, device)


@clause("STR-519", needs="accelerator stream")
def test_thousands_of_streams_can_be_had(device: torch.device) -> None:
    streams = [torch.Stream(device) for _ in range(3000)]
    for stream in streams:
        stream.query()
    check.equal("values by way of the last one", works(streams[-1]), True)
    check.equal("values by way of the first one", works(streams[0]), True)


@clause("STR-520", needs="accelerator stream native_handle")
def test_the_native_handle_is_that_of_the_stream(device: torch.device) -> None:
    for stream in (current(device), torch.Stream(device), torch.Stream(device)):
        handle = capability.native_handle(stream)
        check.equal("the handle asked for again", capability.native_handle(stream), handle)
        check.equal("the handle of an equal stream", capability.native_handle(twin(stream)), handle)
        seen = host.in_thread(partial(capability.native_handle, twin(stream)))
        check.equal("the handle in a thread", seen, handle)
        check.equal("values by way of the stream after that", works(stream), True)


@clause("STR-521", needs="accelerator stream capture")
def test_outside_of_a_capture_a_stream_is_not_capturing(devices: list[torch.device]) -> None:
    for device in devices:
        for stream in (current(device), torch.Stream(device)):
            check.equal("is_capturing", stream.is_capturing(), False)


@clause("STR-522", needs="accelerator")
def test_the_current_stream_of_no_device_is_refused(devices: list[torch.device]) -> None:
    for index in (len(devices), 100):
        check.raises("current_stream beyond the count", (RuntimeError, ValueError),
                     partial(current, index))  # fmt: skip


@clause("STR-523", needs="accelerator stream")
def test_a_stream_of_another_type_is_refused(device: torch.device) -> None:
    former = current(device)
    check.raises("set_stream of a stream of the CPU", (RuntimeError, ValueError),
                 lambda: torch.accelerator.set_stream(torch.Stream("cpu")))  # fmt: skip
    check.equal("the current stream after that", current(device), former)


@clause("STR-524", needs="accelerator stream two_devices")
def test_after_set_stream_its_device_is_current(devices: list[torch.device]) -> None:
    streams = [torch.Stream(device) for device in devices]
    for index in (1, 0, 1, 1):
        torch.accelerator.set_stream(streams[index])
        check.equal("the current device", torch.accelerator.current_device_index(), index)
        check.equal("the current stream", current(), streams[index])


@clause("STR-526", needs="accelerator stream")
def test_the_current_stream_can_be_asked_for_however_often(device: torch.device) -> None:
    def ask() -> int:
        mine = torch.Stream(device)
        torch.accelerator.set_stream(mine)
        return sum(current(device) != mine for _ in range(20_000))

    check.equal("wrong answers of 20,000, in four threads", host.in_threads([ask] * 4), [0] * 4)
