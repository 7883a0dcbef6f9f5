# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies and the stream that they run on: blocking ones wait, others are in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause, needs

COST = 24

COUNT = 50_000
Read = Callable[[torch.Tensor], torch.Tensor]
SIZES = [10, 10_000, 1_000_000]  # small ones may be staged

READS: dict[str, Read] = {
    "cpu": lambda x: x.cpu(),
    "copy_": lambda x: torch.empty(x.shape).copy_(x),
    "a view": lambda x: x.view(2, -1).t().to("cpu"),
    "with steps": lambda x: x[::3].cpu(),
    "another dtype": lambda x: x.to("cpu", torch.float64),
    "numpy": lambda x: torch.tensor(x.cpu().numpy()),
    "tolist": lambda x: torch.tensor(x[:50].tolist()),
}
SCALARS: dict[str, Callable[[torch.Tensor], object]] = {
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x[:3].tolist(),
    "bool": lambda x: bool(x[0] > 0),
    "int": lambda x: int(x[1]),
    "float": lambda x: float(x[2]),
}


def pinned(values: torch.Tensor) -> torch.Tensor | None:
    """Returns a copy in pinned memory, for controls; None where there is none, so that nothing is
    late."""
    try:
        made = torch.empty(values.shape, pin_memory=True).copy_(values)
    except RuntimeError:
        return None
    return made if made.is_pinned() else None


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=needs("dtype:float64") if way == "another dtype" else ())
     for way in READS],
)  # fmt: skip
@clause("CPY-502", needs="stream")
def test_a_blocking_copy_sees_earlier_work(device: torch.device, way: str) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update = host.upload(new, device)

    def seen(load: order.Load, stream: torch.Stream) -> torch.Tensor:
        tensor = host.upload(old, device)
        load.hold()
        with late:
            tensor.copy_(update)
        load.mark()
        with stream:
            return READS[way](tensor)

    order.show(
        late,
        lambda load: check.tensor("what the host reads", seen(load, late), READS[way](new)),
        lambda load: not torch.equal(seen(load, other), READS[way](new)),
    )


@pytest.mark.parametrize("name", SCALARS)
@clause("CPY-512", needs="stream")
def test_a_number_waits_for_the_stream(device: torch.device, name: str) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    old, new = torch.full((COUNT,), -3.5), torch.full((COUNT,), 7.25)
    update = host.upload(new, device)

    def seen(load: order.Load, stream: torch.Stream) -> object:
        tensor = host.upload(old, device)
        load.hold()
        with late:
            tensor.copy_(update)
        load.mark()
        with stream:
            return SCALARS[name](tensor)

    order.show(
        late,
        lambda load: check.equal("the number", seen(load, late), SCALARS[name](new)),
        lambda load: seen(load, other) != SCALARS[name](new),
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("memory", ["ordinary", pytest.param("pinned", marks=needs("pinned"))])
@clause("CPY-503", needs="stream")
def test_the_source_of_a_blocking_copy_may_change(
    device: torch.device, memory: str, size: int
) -> None:
    late = torch.Stream(device)
    values, others = host.values((size,)), host.values((size,))

    def arrived(load: order.Load, source: torch.Tensor, non_blocking: bool) -> torch.Tensor:
        target = host.poisoned((size,), torch.float32, device)
        load.hold()
        load.mark()
        with late:
            target.copy_(source, non_blocking=non_blocking)
        source.copy_(others)
        return order.read(late, target)

    def program(load: order.Load) -> None:
        source = values.pin_memory() if memory == "pinned" else values.clone()
        check.tensor("what arrived", arrived(load, source, non_blocking=False), values)

    def control(load: order.Load) -> bool:
        source = pinned(values)
        return source is None or not torch.equal(arrived(load, source, non_blocking=True), values)

    order.show(late, program, control)


@pytest.mark.parametrize("size", SIZES)
@clause("CPY-505", needs="stream")
def test_the_ordinary_source_of_any_copy_may_change(device: torch.device, size: int) -> None:
    late = torch.Stream(device)
    values, others = host.values((size,)), host.values((size,))

    def arrived(load: order.Load, source: torch.Tensor) -> torch.Tensor:
        target = host.poisoned((size,), torch.float32, device)
        load.hold()
        load.mark()
        with late:
            target.copy_(source, non_blocking=True)
        source.copy_(others)
        return order.read(late, target)

    def control(load: order.Load) -> bool:
        source = pinned(values)
        return source is None or not torch.equal(arrived(load, source), values)

    order.show(
        late,
        lambda load: check.tensor("what arrived", arrived(load, values.clone()), values),
        control,
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wait", ["stream", "device"])
@clause("CPY-506", needs="stream")
def test_an_ordinary_destination_is_right_after_waiting(
    device: torch.device, wait: str, size: int
) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    old, new = host.values((size,)), host.values((size,))
    update = host.upload(new, device)

    def arrived(load: order.Load, stream: torch.Stream) -> torch.Tensor:
        tensor, target = host.upload(old, device), torch.zeros(size)
        load.hold()
        with late:
            tensor.copy_(update)
        load.mark()
        with stream:
            target.copy_(tensor, non_blocking=True)
        if wait == "stream" or stream is other:
            stream.synchronize()
        else:
            torch.accelerator.synchronize(device)
        return target

    order.show(
        late,
        lambda load: check.tensor("what arrived", arrived(load, late), new),
        lambda load: not torch.equal(arrived(load, other), new),
    )


@clause("CPY-504", needs="stream event pinned")
def test_a_copy_from_pinned_memory_is_in_order(device: torch.device) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    new = host.values((COUNT,))

    def arrived(load: order.Load, stream: torch.Stream) -> torch.Tensor:
        source, tensor = new.pin_memory(), host.poisoned((COUNT,), torch.float32, device)
        target = host.poisoned((COUNT,), torch.float32, device)
        load.hold()
        with late:
            tensor.copy_(source, non_blocking=True)
        with stream:
            target.copy_(tensor)
        load.mark()
        return order.read(stream, target)

    order.show(
        late,
        lambda load: check.tensor("what a later operator reads", arrived(load, late), new),
        lambda load: not torch.equal(arrived(load, other), new),
    )


@pytest.mark.parametrize("way", ["upload", "download"])
@clause("CPY-504", needs="stream event pinned")
def test_an_event_marks_the_end_of_a_copy(device: torch.device, way: str) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    new = host.values((COUNT,))

    def arrived(load: order.Load, wait: bool) -> torch.Tensor:
        memory = (new if way == "upload" else torch.zeros(COUNT)).pin_memory()
        there = host.upload(torch.zeros(COUNT) if way == "upload" else new, device)
        event = torch.Event(device)
        load.hold()
        with late:
            if way == "upload":
                there.copy_(memory, non_blocking=True)
            else:
                memory.copy_(there, non_blocking=True)
            event.record(late)
        early = event.query()
        if load.mark():
            check.equal("the event, while the stream is held", early, False)
        if wait:
            event.synchronize()
        return order.read(other, there) if way == "upload" else memory.clone()

    order.show(
        late,
        lambda load: check.tensor("values after the event", arrived(load, wait=True), new),
        lambda load: not torch.equal(arrived(load, wait=False), new),
    )


@pytest.mark.parametrize("way", ["within", "upload"])
@clause("CPY-515", needs="stream")
def test_a_copy_runs_on_the_stream_of_the_context(device: torch.device, way: str) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    new, before = host.values((COUNT,)), torch.zeros(COUNT)

    def program(load: order.Load) -> None:
        memory = pinned(new) if way == "upload" else None
        source = host.upload(new, device) if memory is None else memory
        target = host.upload(before, device)
        load.hold()
        with late:
            target.copy_(source, non_blocking=True)
        torch.accelerator.current_stream(device).synchronize()  # a copy there by mistake is over
        early = order.read(other, target)
        if load.mark():
            check.tensor("the target, while the stream is held", early, before)
        check.tensor("the target in the end", order.read(late, target), new)

    order.show(late, program)
