# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Proofs of order on a device of which nothing is known but PyTorch's API.

A load is a chain of operators that keeps a stream busy: long enough, measured on the device, to be
still at work once a short program has been enqueued. `show` runs the program of a test behind a
load, and again behind a longer one where the load was over too soon; then its control, the same
program without what orders it, which must come out wrong. So a verdict never depends on time: what
was not seen is said by `check.evidence`, and fails nothing.

    def with_edge(load):
        value, seen = host.upload(old, device), host.poisoned(...)
        load.hold()                     # settles the device first, then holds a
        with a:
            value.copy_(new)
        b.wait_stream(a)                # what orders it; left out in the control
        with b:
            seen.copy_(value)
        load.mark()
        check.tensor("...", order.read(b, seen), new)

    order.show(a, with_edge, without_edge)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import torch

from tbk_contracts.torch import check, gate
from tbk_contracts.torch.patience import awake_s

ATTEMPTS = 4  # each with a load twice as long as the one before
FIRST_S = 0.06  # how long the first load is to last
STEP_S = 0.002  # an operator of the chain lasts at least this long, or is as large as may be
SIZES = (128, 256, 512, 1024, 2048, 4096)
PATIENCE_S = 10.0
MOST_STEPS = 512  # per load: queues of devices are bounded, and a full one makes the host wait

Step = Callable[[], object]
Program = Callable[["Load"], None]
Control = Callable[["Load"], bool]


def timings(device: torch.device) -> tuple[bool, ...]:
    """Returns what `enable_timing` may be for events of this device: one that does not measure
    time may refuse it."""
    return (False, True) if _holds("event_timing", device) else (False,)


@cache
def _holds(word: str, device: torch.device) -> bool:
    from tbk_contracts.torch import capability  # noqa: PLC0415  # which computes

    return capability.probe(word, device).held


class Load:
    """Work that holds a stream: what is enqueued there after `hold` cannot begin before its end."""

    def __init__(self, stream: torch.Stream, seconds: float) -> None:
        self.stream, self.seconds = stream, seconds
        self.held: bool | None = None
        """Whether each mark found the stream held; None before the first one."""
        self.lasts_s = 0.0
        """How long the load takes as measured: less than asked for where steps are short."""
        self._is_over: Callable[[], bool] | None = None  # what tells, from `hold` on
        self._step: Step | None = None  # whose tensors live as long as it works

    def hold(self) -> None:
        """Waits until all devices are idle, then enqueues the load. Current device and streams stay
        as they are."""
        settle(self.stream.device)
        if not _holds("event", self.stream.device):
            self._is_over = lambda: True  # nothing tells whether the stream is at work
            return
        end = torch.Event(self.stream.device)
        self._is_over = end.query
        if gate.shut(self.stream, self.seconds):
            self.lasts_s = self.seconds
            end.record(self.stream)
            return
        chain = _chain(self.stream.device)
        with on(self.stream):
            self._step = chain.make(self.stream.device, chain.size)
            _finish(self.stream)
            if chain.step_s > 0:
                steps = min(MOST_STEPS, 1 + int(self.seconds / chain.step_s))
                self.lasts_s = steps * chain.step_s
                for _ in range(steps):
                    self._step()
            end.record(self.stream)

    def pending(self) -> bool:
        """Returns True as long as the stream is held."""
        if self._is_over is None:
            raise RuntimeError("a program of order.show does not hold its stream")
        return not self._is_over()

    def mark(self) -> bool:
        """Calls it when all that the proof needs has been enqueued or asked: whether the load still
        holds the stream. If not, this attempt has shown nothing."""
        pending = self.pending()
        self.held = pending and self.held is not False
        return pending


@dataclass(frozen=True)
class _Chain:
    """How to keep a device busy; `step_s` is 0 where work is complete when its call returns."""

    make: Callable[[torch.device, int], Step]
    size: int
    step_s: float


def _multiply_matrices(device: torch.device, size: int) -> Step:
    left, right = (torch.ones((size, size)).to(device) for _ in range(2))
    product = torch.empty((size, size), device=device)
    return lambda: torch.mm(left, right, out=product)


def _multiply(device: torch.device, size: int) -> Step:
    left, right = (torch.ones(size * size).to(device) for _ in range(2))
    return lambda: left.mul_(right)


def _copy(device: torch.device, size: int) -> Step:
    left, right = (torch.ones(size * size).to(device) for _ in range(2))
    return lambda: left.copy_(right)


_chains: dict[torch.device, _Chain] = {}


def asynchronous(device: torch.device) -> bool:
    """Returns whether some operator of this device is still at work when its call has returned, or
    a gate holds it; of a device without events nothing tells."""
    if not _holds("event", device):
        return False
    return gate.of(device) is not None or _chain(device).step_s > 0


def _chain(device: torch.device) -> _Chain:
    if device not in _chains:
        _chains[device] = _find_chain(device)
    return _chains[device]


def _find_chain(device: torch.device) -> _Chain:
    """Asked twice: where others take the processor, the host may come too late to see it."""
    for make in 2 * (_multiply_matrices, _multiply, _copy):
        found = _largest_needed(make, device)
        if found is not None:
            return found
    return _Chain(_copy, SIZES[0], 0)


def _largest_needed(
    make: Callable[[torch.device, int], Step], device: torch.device
) -> _Chain | None:
    found = None
    stream = torch.Stream(device)
    for size in SIZES:
        try:
            with stream:
                step = make(device, size)
            step_s = _measure(stream, step)
        except Exception:  # no such operator, or no memory for more of it
            return found
        if step_s > 0:
            found = _Chain(make, size, step_s)
        if step_s >= STEP_S or (step_s < 0 and -step_s >= STEP_S):
            return found
    return found


def _finish(stream: torch.Stream) -> None:
    """Waits in every way there is: one of them may be what a test finds broken."""
    event = torch.Event(stream.device)
    event.record(stream)
    event.synchronize()
    stream.synchronize()
    torch.accelerator.synchronize(stream.device)


def _measure(stream: torch.Stream, step: Step) -> float:
    """Returns seconds that one step takes; less than 0 if it was complete when the call
    returned."""
    seconds, pending = [], 0
    with stream:
        for _ in range(3):
            _finish(stream)
            event = torch.Event(stream.device)
            begin = time.perf_counter()
            for _ in range(4):
                step()
            event.record(stream)
            enqueued = time.perf_counter()
            done = event.query()
            _finish(stream)
            end = time.perf_counter()
            # An event that claims to be complete too early must not make the device synchronous.
            pending += not done or end - begin > 4 * (enqueued - begin)
            seconds.append((end - begin) / 4)
    return min(seconds) if pending >= 2 else -min(seconds)


@contextmanager
def on(stream: torch.Stream) -> Iterator[None]:
    """`stream` is current inside; current device and streams are as before behind it."""
    device = torch.accelerator.current_device_index()
    former = torch.accelerator.current_stream(stream.device)
    try:
        torch.accelerator.set_stream(stream)
        yield
    finally:
        torch.accelerator.set_stream(former)
        torch.accelerator.set_device_index(device)


def holder(stream: torch.Stream, seconds: float) -> Callable[[], torch.Event]:
    """Returns a function that keeps `stream` at work for about so long, where a device can be held,
    and an event behind it. It allocates nothing, and may be called again and again."""
    chain = _chain(stream.device)
    with on(stream):
        step = chain.make(stream.device, chain.size)
        step()
    _finish(stream)
    steps = min(MOST_STEPS, 1 + int(seconds / chain.step_s)) if chain.step_s > 0 else 0

    def hold() -> torch.Event:
        with on(stream):
            for _ in range(0 if gate.shut(stream, seconds) else steps):
                step()
            end = torch.Event(stream.device)
            end.record(stream)
        return end

    return hold


@contextmanager
def busy(stream: torch.Stream, seconds: float = FIRST_S) -> Iterator[Load]:
    """Holds `stream` for about `seconds`, where the device can be held. All is idle behind it."""
    load = Load(stream, seconds)
    load.hold()
    try:
        yield load
    finally:
        settle(stream.device)


def show(stream: torch.Stream, program: Program, control: Control | None = None) -> None:
    """Runs `program` with a load for `stream`. It makes its tensors, calls `load.hold()`, enqueues,
    calls `load.mark()` when the stream must still be held for it to show something, and checks.

    `control` runs likewise; true if it came out wrong, as it may without what orders it.
    """
    if not asynchronous(stream.device):
        _attempt(stream, program, 0)
        if _holds("event", stream.device):
            check.evidence(check.TRIVIAL, "work is complete when the call returns")
        else:
            check.evidence(check.NOT_SHOWN, "the device has no events to see its work by")
    elif not any(_attempt(stream, program, FIRST_S * 2**count) for count in range(ATTEMPTS)):
        check.evidence(check.NOT_SHOWN, "the stream was not held until the program was enqueued")
    elif control is not None and not ever(stream, control):
        check.evidence(
            check.NOT_SHOWN,
            "without what orders it the outcome is the same; one queue may serve all streams",
        )


def _attempt(stream: torch.Stream, program: Program, seconds: float) -> bool:
    load = Load(stream, seconds)
    try:
        program(load)
    finally:
        settle(stream.device)
    if load.held is None:
        raise RuntimeError("a program of order.show does not mark when its stream must be held")
    return load.held


def ever(stream: torch.Stream, control: Control) -> bool:
    """Returns whether `control` is true at least once, with ever longer loads."""
    for count in range(ATTEMPTS):
        try:
            if control(Load(stream, FIRST_S * 2**count)):
                return True
        finally:
            settle(stream.device)
    return False


def waits(
    stream: torch.Stream, call: Callable[[], object], *, by_event: bool = True
) -> bool | None:
    """Returns whether `call` waits on the host for what `stream` does: each time, however long
    that takes.

    `by_event`: an event tells whether the stream is at work, not the stream itself. None: it was
    over before the call, or soon behind a quick one, each time.
    """
    answer = None
    for count in range(ATTEMPTS if asynchronous(stream.device) else 0):
        with busy(stream, FIRST_S * 2**count) as load:

            def works(load: Load = load) -> bool:
                return load.pending() if by_event else not stream.query()

            if not works():
                continue
            begun = time.monotonic()
            call()
            took_s = time.monotonic() - begun
            if works() and _works_on(works, load):
                return False
            # A load that ends behind a quick call was shorter than it was measured to be.
            if took_s >= load.lasts_s / 4:
                answer = True
    return answer


def _works_on(works: Callable[[], bool], load: Load) -> bool:
    """Returns whether the stream is at work a part of the load later. Who was woken by the last
    operation may ask before the device has noted that it was the last."""
    time.sleep(load.lasts_s / 4)
    return works()


def settle(device: torch.device) -> None:
    """Waits for all work of all devices; what a gate holds goes on."""
    gate.let_go()
    for index in range(torch.accelerator.device_count()):
        torch.accelerator.synchronize(torch.device(device.type, index))


def read(stream: torch.Stream, tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy on the host, made on `stream`: behind what is enqueued there, and nothing
    else."""
    with on(stream):
        return tensor.detach().to("cpu", copy=True)


def until(query: Callable[[], bool], device: torch.device) -> None:
    """Asks until it is true; it must be once `device` has been synchronised."""
    deadline = awake_s() + PATIENCE_S
    while not query():
        if awake_s() > deadline:
            settle(device)
            check.equal("a query behind synchronize", query(), True)
            return
        os.sched_yield()
