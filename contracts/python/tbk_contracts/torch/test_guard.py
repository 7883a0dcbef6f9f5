# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is done on another device: the current device and stream come back."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host, process
from tbk_contracts.torch.case import clause

current = torch.accelerator.current_device_index


@pytest.fixture(autouse=True)
def back_on_the_first_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test begins and ends on device 0, and on the stream that was current there."""
    # That one forks before anything is asked: to be asked for its devices may start a driver.
    if request.node.name.startswith("test_guards_work") or not torch.accelerator.is_available():
        yield
        return
    torch.accelerator.set_device_index(0)
    streams = [torch.accelerator.current_stream(i) for i in range(torch.accelerator.device_count())]
    yield
    for stream in streams:
        torch.accelerator.set_stream(stream)
    torch.accelerator.set_device_index(0)


def stays(what: str, call: Callable[[], object]) -> None:
    """`call` leaves the current device as it is, from wherever it is made."""
    for index in (0, 1):
        torch.accelerator.set_device_index(index)
        call()
        check.equal(f"the current device after {what}", current(), index)


class Inside(Exception):  # noqa: N818  # not an error: leaves a block
    pass


@clause("GRD-501", needs="accelerator two_devices")
def test_leaving_a_guard_brings_the_former_device_back() -> None:
    guard = torch.accelerator.device_index
    for outer, middle, inner in ((0, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 0)):
        torch.accelerator.set_device_index(outer)
        with guard(middle):
            check.equal("the current device inside", current(), middle)
            with guard(inner):
                check.equal("the current device inside of a nested one", current(), inner)
            check.equal("the current device behind the nested one", current(), middle)
            torch.accelerator.set_device_index(inner)  # the guard puts back what it found
        check.equal("the current device behind it", current(), outer)
        try:
            with guard(middle):
                raise Inside
        except Inside:
            check.equal("the current device after an exception", current(), outer)


@clause("GRD-502", needs="accelerator")
def test_a_guard_for_no_device_changes_nothing(devices: list[torch.device]) -> None:
    for device in devices:
        torch.accelerator.set_device_index(device)
        with torch.accelerator.device_index(None):
            check.equal("the current device inside", current(), device.index)
        check.equal("the current device behind it", current(), device.index)


def on_streams_and_events(device: torch.device) -> dict[str, Callable[[], object]]:
    stream, other, event = torch.Stream(device), torch.Stream(device), torch.Event(device)
    return {
        "torch.Stream()": lambda: torch.Stream(device),
        "current_stream": lambda: torch.accelerator.current_stream(device),
        "Stream.query": stream.query,
        "Stream.synchronize": stream.synchronize,
        "Stream.record_event, and the end of the event": lambda: stream.record_event() and None,
        "Stream.wait_stream": lambda: stream.wait_stream(other),
        "Event.record": lambda: event.record(stream),
        "Event.wait": lambda: event.wait(other),
        "Stream.wait_event": lambda: other.wait_event(event),
        "Event.query": event.query,
        "Event.synchronize": event.synchronize,
        "synchronize": lambda: torch.accelerator.synchronize(device),
    }


@clause("GRD-503", needs="accelerator two_devices stream event")
def test_operations_on_streams_and_events_leave_the_current_device(
    devices: list[torch.device],
) -> None:
    for device in devices[:2]:
        for what, call in on_streams_and_events(device).items():
            stays(what, call)


def failing(device: torch.device) -> dict[str, Callable[[], object]]:
    left, right = (host.upload(host.values((2, 3)), device) for _ in range(2))
    singular = host.upload(torch.zeros(3, 3), device)
    return {
        "an allocation that fails": lambda: torch.empty(1 << 60, device=device),
        "a negative size": lambda: torch.empty(-1, device=device),
        "shapes that do not fit": lambda: torch.mm(left, right),
        "sizes that do not broadcast": lambda: left + left[:, :2],
        "a view that does not fit": lambda: left.view(7),
        "a matrix without a factorisation": lambda: torch.linalg.cholesky(singular),
    }


@clause("GRD-504", needs="accelerator two_devices")
def test_the_device_comes_back_where_the_operation_fails(devices: list[torch.device]) -> None:
    for device in devices[:2]:
        for what, call in failing(device).items():
            stays(what, partial(check.raises, what, Exception, call))


def working(device: torch.device, elsewhere: torch.device) -> dict[str, Callable[[], object]]:
    sent = host.values((4, 4))
    there, far = host.upload(sent, device), host.upload(sent, elsewhere)
    return {
        "empty": lambda: torch.empty(3, device=device),
        "zeros": lambda: torch.zeros(3, device=device),
        "an upload": lambda: sent.to(device),
        "a download": lambda: there.to("cpu"),
        "a copy between devices": lambda: there.copy_(far),
        "a copy to another device": lambda: there.to(elsewhere),
        "add": lambda: there + there,
        "mul_": lambda: there.mul_(1),
        "mm": lambda: there @ there,
        "sum": there.sum,
        "item": there[0, 0].item,
        "sort": there.sort,
        "nonzero": there.nonzero,
        "clone of a view": lambda: there.t().clone(),
        "resize_": lambda: torch.empty(2, device=device).resize_(64),
        "repr": lambda: repr(there),
        "backward": lambda: there.detach().requires_grad_().backward(there),
    }


@clause("GRD-505", needs="accelerator two_devices")
def test_factories_and_operators_leave_the_current_device(devices: list[torch.device]) -> None:
    for device, elsewhere in (devices[:2], devices[1::-1]):
        for what, call in working(device, elsewhere).items():
            stays(what, call)


@clause("GRD-507", needs="accelerator two_devices stream")
def test_leaving_a_streams_context_brings_stream_and_device_back(
    devices: list[torch.device],
) -> None:
    def seen() -> tuple[int, list[torch.Stream]]:
        return current(), [torch.accelerator.current_stream(one) for one in devices[:2]]

    former = seen()
    first, second, third = (
        torch.Stream(devices[1]),
        torch.Stream(devices[1]),
        torch.Stream(devices[0]),
    )
    with first:
        check.equal("inside of a stream of device 1", seen(), (1, [former[1][0], first]))
        with second:
            check.equal("inside of another one", seen(), (1, [former[1][0], second]))
            with third:
                check.equal("inside of a stream of device 0", seen(), (0, [third, second]))
            check.equal("behind the stream of device 0", seen(), (1, [former[1][0], second]))
        check.equal("behind the other one", seen(), (1, [former[1][0], first]))
    check.equal("behind the first one", seen(), former)
    try:
        with first, third:
            raise Inside
    except Inside:
        check.equal("after an exception", seen(), former)


@clause("GRD-509", needs="accelerator two_devices stream")
def test_threads_share_the_guard(devices: list[torch.device]) -> None:
    streams = [torch.Stream(device) for device in devices[:2]]
    start = threading.Barrier(8, timeout=host.JOIN_S)

    def switch(index: int) -> int:
        wrong = 0
        torch.accelerator.set_stream(streams[index])
        start.wait()
        for _ in range(100):
            with torch.accelerator.device_index(1 - index):
                wrong += current() != 1 - index
                wrong += torch.accelerator.current_stream() == streams[1 - index]
            wrong += current() != index
            wrong += torch.accelerator.current_stream() != streams[index]
        return wrong

    calls = [partial(switch, count % 2) for count in range(8)]
    check.equal("wrong answers in eight threads", host.in_threads(calls), [0] * 8)
    check.equal("the current device of the main thread", current(), 0)


Context = AbstractContextManager[object]


def at_its_end(context: Context, seen: Callable[[], object]) -> object:
    with context:
        return seen()


def by_an_exception(context: Context, seen: Callable[[], object]) -> object:
    found: object = None
    with contextlib.suppress(Inside), context:
        found = seen()
        raise Inside
    return found


def in_a_generator(context: Context, seen: Callable[[], object]) -> object:
    def inside() -> Iterator[object]:
        with context:
            yield seen()

    left = inside()
    found = next(left)
    left.close()  # type: ignore[attr-defined]  # which raises inside
    return found


def in_a_stack(context: Context, seen: Callable[[], object]) -> object:
    """Leaves it behind others, while what was raised inside goes on."""
    found: object = None
    with contextlib.suppress(Inside), contextlib.ExitStack() as stack:
        stack.enter_context(torch.accelerator.device_index(0))
        stack.enter_context(context)
        found = seen()
        raise Inside
    return found


WAYS_OUT = (at_its_end, by_an_exception, in_a_generator, in_a_stack)
each_way_out = pytest.mark.parametrize("out", WAYS_OUT, ids=lambda out: out.__name__)


def offered(module: Any, attribute: str) -> Callable[[object], Context] | None:
    """Returns the function of the module, which a device need not have."""
    found: Callable[[object], Context] | None = getattr(module, attribute, None)
    if found is None:
        check.evidence(check.NOT_SHOWN, f"the module has no {attribute}")
    return found


def leaves_all(out: Callable[..., object], make: Callable[[int], Context]) -> None:
    """Whatever is current on any device is the same behind the context, from both devices."""

    def seen() -> tuple[int, list[torch.Stream]]:
        return current(), [torch.accelerator.current_stream(one) for one in (0, 1)]

    for former, inner in ((0, 1), (1, 0), (1, 1)):
        torch.accelerator.set_device_index(former)
        before = seen()
        check.equal("the current device inside", out(make(inner), current), inner)
        check.equal("what is current behind it", seen(), before)


@each_way_out
@pytest.mark.parametrize("form", ["torch.accelerator.device_index", "device", "device_of"])
@clause("GRD-501", needs="accelerator module two_devices")
def test_a_device_context_is_left_in_any_way(
    devices: list[torch.device], module: Any, form: str, out: Callable[..., object]
) -> None:
    if form == "torch.accelerator.device_index":
        leaves_all(out, torch.accelerator.device_index)
    elif (enter := offered(module, form)) is not None:
        held = [torch.empty(1, device=one) for one in devices]
        leaves_all(out, lambda index: enter(held[index] if form == "device_of" else index))


@each_way_out
@pytest.mark.parametrize("form", ["torch.Stream", "stream"])
@clause("GRD-507", needs="accelerator module two_devices stream")
def test_a_streams_context_is_left_in_any_way(
    devices: list[torch.device], module: Any, form: str, out: Callable[..., object]
) -> None:
    kind = torch.Stream if form == "torch.Stream" else getattr(module, "Stream", torch.Stream)
    streams: list[Any] = [kind(device) for device in devices]
    if form == "torch.Stream":
        leaves_all(out, lambda index: streams[index])
    elif (enter := offered(module, form)) is not None:
        leaves_all(out, lambda index: enter(streams[index]))


class Last:
    """Uses the guard when the interpreter drops it, at the very end, and reports that.

    Only functions of C are left then.
    """

    def __init__(self, device: torch.device, sink: int) -> None:
        self.index, self.sink, self.write = device.index, sink, os.write
        self.exchange = torch._C._accelerator_exchangeDevice
        self.current = torch._C._accelerator_getDeviceIndex
        self.event, self.stream = torch.Event(device), torch.Stream(device)
        self.tensor = host.upload(host.values((16,)), device)

    def __del__(self) -> None:
        before = self.exchange(self.index)
        inside = self.current()
        self.event.record(self.stream)
        self.event.synchronize()
        self.exchange(before)
        right = inside == self.index and self.current() == before
        self.write(self.sink, b"back" if right else b"lost")


@clause("GRD-508", needs="accelerator stream event fork", fresh=True)
def test_guards_work_while_the_interpreter_shuts_down(device: torch.device, module: Any) -> None:
    def keep(sink: int) -> None:
        last = torch.device(device.type, module.device_count() - 1)
        sys.last_of_all = Last(last, sink)  # type: ignore[attr-defined]

    ended = process.ended_in_fork(keep, 7)
    check.equal("what is raised before the interpreter ends", ended.error, "")
    check.equal("the current device at the end of the interpreter", ended.value, "back")
    check.equal("how the process ends", ended.exit_code, 7)
