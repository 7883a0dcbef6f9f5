# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What of a device a litmus program uses, and how long it works for how many bytes."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from tbk_contracts.torch.gate import Gate, GateError

from tbk_harness import locate
from tbk_harness.torch_worker import litmus_wire as wire
from tbk_harness.torch_worker.litmus_wire import Hello
from tbk_harness.torch_worker.speech import told_with_cause
from tbk_harness.torch_worker.subject import Subject

PRIORITIES = (0, -1, 0, -1)
LONGEST_US = 1280  # of what a program asks for
MOST_BUSY = 64 << 20  # bytes
TRIAL = 1 << 20
MOST_SHUT_S = 0.02  # where a call waits of which that is not known
LEAST_SHUT_S = 0.003  # from when the host waits


class Unusable(Exception):  # noqa: N818  # a verdict, not an error of ours
    """The device can't run programs: the state, and why."""

    def __init__(self, state: int, reason: str) -> None:
        super().__init__(reason)
        self.state = state


class Backward:
    """A graph of one node, whose backward does what is asked for."""

    def __init__(self, device: torch.device) -> None:
        self._leaf = torch.ones(1, device=device, requires_grad=True)
        self._one = torch.ones(1, device=device)

    @classmethod
    def of(cls, device: torch.device) -> Backward | None:
        """Returns one that works; None for a device without the kernels that it takes."""
        ran: list[bool] = []
        try:
            made = cls(device)
            made.run(torch.accelerator.current_stream(device), lambda: ran.append(True))
        except RuntimeError:
            return None
        return made if ran else None

    def run(self, stream: torch.Stream, act: Callable[[], object]) -> None:
        """Runs forward on the stream, and `act` in backward, which the caller's stream goes on
        behind."""

        def hook(_: torch.Tensor) -> None:
            act()

        self._leaf.grad = None
        with stream:
            made = self._leaf.clone()
        made.register_hook(hook)
        made.backward(self._one)


class Meeting:
    """A graph whose gradients come from two streams and are added up."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    @classmethod
    def of(cls, device: torch.device) -> Meeting | None:
        """Returns one; None for a device without the kernels that it takes.

        Programs find out whether the sum is right.
        """
        cell = torch.empty(1, dtype=torch.uint8, device=device)
        stream = torch.accelerator.current_stream(device)
        ran: list[torch.Tensor] = []
        try:
            made = cls(device)
            made.run(stream, stream, cell, ran.append)
        except RuntimeError:
            return None
        return made if ran else None

    def run(
        self,
        stream: torch.Stream,
        other: torch.Stream,
        source: torch.Tensor,
        take: Callable[[torch.Tensor], object],
    ) -> None:
        """Gives the sum to `take`, in backward on `stream`: there zeros are computed, and what the
        source holds on the other one. Views compute nothing."""
        leaf = torch.empty(source.shape, device=self._device, requires_grad=True)
        with stream:
            joined = leaf.view_as(leaf)
            zeros = joined.view_as(joined)
        with other:
            values = joined.view_as(joined)

        def hook(gradient: torch.Tensor) -> None:
            take(gradient)

        values.register_hook(lambda _: source.float())
        zeros.register_hook(torch.zeros_like)
        joined.register_hook(hook)
        torch.autograd.backward([values, zeros], [torch.empty_like(leaf)] * 2)


def _can_empty_cache() -> bool:
    """Returns whether PyTorch knows the device's allocator as one with a cache."""
    try:
        torch.accelerator.empty_cache()
    except (AttributeError, RuntimeError):
        return False
    return True


class Device:
    """One device or two, with the streams that programs name."""

    def __init__(self, subject: Subject, known: memoryview, gate: str | None = None) -> None:
        self._subject = subject
        self._known = known
        self._gate: Gate | None = None
        self._marks: Gate | None = None  # the same one, also where there is nothing to hold
        self._shut_s = 0.0
        self._held: torch.Stream | None = None
        self.pinned = False
        self.bytes_per_us = 0
        self.backward: Backward | None = None
        self.meeting: Meeting | None = None
        self.cache = False
        self._open()
        if gate is not None:
            self._take_gate(gate)

    def _open(self) -> None:
        try:
            self._subject.introduce()
        except BaseException as error:  # also one that ends the process
            raise Unusable(wire.BAD_LIBRARY, told_with_cause(error)) from error
        try:
            self.first = torch.device(self._subject.name, 0)
            self.count = min(self._subject.count(), 2)
        except Exception as error:
            raise Unusable(wire.NO_DEVICE, told_with_cause(error)) from error
        if self.count < 1:
            raise Unusable(wire.NO_DEVICE, f"PyTorch counts no device '{self._subject.name}'")
        self._all = [torch.device(self._subject.name, number) for number in range(self.count)]
        self._make_streams()
        try:
            self.pinned = bool(self.slot(0).is_pinned())
            self._calibrate()
            self.backward = Backward.of(self.first)
            self.meeting = Meeting.of(self.first) if self.backward else None
            self.cache = _can_empty_cache()
        except Exception as error:
            raise Unusable(wire.NO_DEVICE, told_with_cause(error)) from error

    def _needs_memory(self) -> None:
        """A device that another process holds has no memory either, and streams all the same."""
        try:
            for device in self._all:
                torch.empty(1, device=device)
        except Exception as error:
            reason = f"the device has no memory, streams or events: {told_with_cause(error)}"
            raise Unusable(wire.NO_DEVICE, reason) from error

    def _make_streams(self) -> None:
        """The first is the default one; of two devices the last is the second one's."""
        try:
            torch.Event(self.first, enable_timing=True)
            first = torch.accelerator.current_stream(self.first)
            more = [self.new_stream(number) for number in range(1, wire.STREAMS)]
            last = torch.Stream(self._all[-1], priority=PRIORITIES[-1])
        except Exception as error:
            self._needs_memory()
            name = self._subject.name
            reason = f"PyTorch has no streams or no events of '{name}': {told_with_cause(error)}"
            raise Unusable(wire.NOTHING_TO_ORDER, reason) from error
        self.streams = {1: [first, *more], 2: [first, *more[:-1], last]}

    def new_stream(self, number: int) -> torch.Stream:
        """Returns another one of the first device, as the stream with that number is made."""
        return torch.Stream(self.first, priority=PRIORITIES[number])

    def hello(self) -> Hello:
        """Returns what it offers."""
        return Hello(
            devices=self.count,
            pinned=self.pinned,
            bytes_per_us=self.bytes_per_us,
            gate=self._gate is not None,
            autograd=self.backward is not None,
            cache=self.cache,
            marks=self._marks is not None,
            gradients=self.meeting is not None,
        )

    def of_cell(self, number: int, devices: int) -> torch.device:
        """Returns where a cell lies: the last of those that are always there is device 1's."""
        return self._all[1] if devices > 1 and number == wire.CELLS - 3 else self.first

    def slot(self, number: int) -> torch.Tensor:
        """Returns host memory; the first half is pinned where that can be had."""
        if number < wire.SLOTS // 2:
            try:
                return torch.empty(wire.ROOM, dtype=torch.uint8, pin_memory=True)
            except RuntimeError:
                pass  # PIN-513
        return torch.empty(wire.ROOM, dtype=torch.uint8)

    def synchronize(self) -> None:
        """Waits for all of them."""
        for number in range(self.count):
            self.synchronize_one(number)

    def synchronize_one(self, number: int) -> None:
        """Waits for one."""
        torch.accelerator.synchronize(self._all[number])

    # -------------------------------------------------------------------------------- delays --

    def _calibrate(self) -> None:
        """Finds out how long a fill takes, once for all processes of a run. That there are delays
        depends on nothing measured: the same seed gives the same programs each time."""
        if not self._known[wire.RATE]:
            self._known[wire.RATE] = self._measured()
        self.bytes_per_us = self._known[wire.RATE]
        size = LONGEST_US * self.bytes_per_us
        self._busy = {one: torch.empty(size, dtype=torch.uint8, device=one) for one in self._all}
        self.synchronize()

    def _measured(self) -> int:
        trial = torch.empty(TRIAL, dtype=torch.uint8, device=self.first)
        self.synchronize()
        least = 1.0
        for number in range(4):  # what is done at first use takes longer
            began = time.perf_counter()
            trial.fill_(number)
            torch.accelerator.current_stream(self.first).synchronize()
            self.synchronize()  # either may be what is broken
            least = min(least, time.perf_counter() - began)
        return max(64, min(int(TRIAL / least / 1e6), MOST_BUSY // LONGEST_US))

    def _take_gate(self, library: str) -> None:
        """A device that is synchronous has nothing to hold, and goes on without."""
        keeper = locate.library("gate_keeper")
        if keeper is None:
            raise Unusable(wire.BAD_LIBRARY, "libtbk_gate_keeper.so was not found: build it")
        inside = ctypes.addressof(ctypes.c_int64.from_buffer(self._known, 8 * wire.IN_GATE))
        try:
            gate = Gate(library, str(keeper), inside)
            self._gate = gate if gate.holds(self.streams[1][1]) else None
            self._marks = gate if gate.has_marks else None
        except GateError as error:
            raise Unusable(wire.BAD_LIBRARY, str(error)) from error

    def keep_busy(self, stream: torch.Stream, microseconds: int) -> None:
        """Holds the stream until the host waits, and so long from there on; where there is no gate,
        or it is shut, enqueues work for about so long. Raises GateError."""
        if self._gate is not None and not self._gate.is_shut:
            self._shut_s = max(LEAST_SHUT_S, microseconds / 1e6)
            self._held = stream
            self._gate.close(stream, MOST_SHUT_S)
            return
        with stream:
            self._busy[stream.device][: microseconds * self.bytes_per_us].fill_(0)

    def mark(self, stream: torch.Stream) -> Callable[[], int]:
        """Puts a mark on the stream; what is returned tells how often it was passed. Raises
        GateError."""
        if self._marks is None:
            raise AssertionError("no program has marks where the gate has none")
        return self._marks.mark(stream)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The host may wait inside. If it has to, what is shut opens some time later: other streams
        get so long to be wrong."""
        if self._gate is None:
            yield
            return
        self._gate.let_go(self._shut_s)
        yield
        self._gate.stay(MOST_SHUT_S)

    def finish(self, streams: list[torch.Stream]) -> None:
        """Waits for the streams, last for the one that is held. Raises GateError."""
        if self._gate is not None:
            for stream in streams:
                if stream != self._held:
                    with self.waiting():
                        stream.synchronize()
            self._gate.let_go()
            self._gate.settle()
        for stream in streams:
            stream.synchronize()
        self.synchronize()
