# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs litmus programs with PyTorch's calls and nothing else; the judge is tbk-litmus."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from mmap import mmap
from typing import Any, NamedTuple

import torch
from tbk_contracts.torch.gate import GateError

from tbk_harness.torch_worker import litmus_wire as wire
from tbk_harness.torch_worker.litmus_device import Device
from tbk_harness.torch_worker.litmus_wire import Call, Program, Reply
from tbk_harness.torch_worker.speech import told

# What may wait on the host, whether it must or not. What only some devices wait in ends with the
# deadline of the gate.
_WAITS = {
    "UPLOAD", "DOWNLOAD", "PEER_COPY", "EVENT_SYNCHRONIZE", "EVENT_SPIN", "STREAM_SYNCHRONIZE",
    "STREAM_SPIN", "DEVICE_SYNCHRONIZE", "AWAIT_MARK",
}  # fmt: skip


class _Stuck(Exception):  # noqa: N818  # a verdict, not an error of ours
    """Something that was asked again and again did not become complete."""


class Mark(NamedTuple):
    """A mark of the gate's: who put it there, what is seen once it was passed, and how often that
    was."""

    at: int
    value: int
    passed: Callable[[], int]


class Executor:
    """The device's streams and the host's memory, and the program that runs."""

    def __init__(self, device: Device, memory: mmap, operations: list[str]) -> None:
        self._device = device
        self._page = wire.page(memory)
        rooms = torch.frombuffer(memory, dtype=torch.uint8, offset=wire.ROOMS_AT)
        self._rooms: list[torch.Tensor] = list(rooms.split(wire.ROOM))[: wire.ROOMS]
        self._memory = [device.slot(number) for number in range(wire.SLOTS)]
        self._first = torch.empty(wire.ROOM, dtype=torch.uint8)
        self._acts = [getattr(self, f"_{name.lower()}", self._unknown) for name in operations]
        self._copies = [name in ("UPLOAD", "DOWNLOAD") for name in operations]
        self._waits = [name in _WAITS for name in operations]
        self._take_memory = (
            self._async_alloc, self._pinned_upload, self._loaded_upload, self._backward, self._meet,
        )  # fmt: skip
        self._threads = [ThreadPoolExecutor(1) for _ in range(wire.THREADS)]
        self._loader = ThreadPoolExecutor(1)
        self._size, self._until = 0, 0.0
        self._reply = Reply()
        self._slots: list[torch.Tensor] = []
        self._cells: list[Any] = []
        self._streams: list[torch.Stream] = []
        self._events: list[torch.Event] = []
        self._marks: dict[int, Mark] = {}

    def run(self, program: Program) -> Reply:
        """Runs a program that is defined; what it sees lies in the shared memory."""
        self._reply = Reply()
        self._size, self._patience = program.size, program.patience_s
        self._step(-1)
        if not self._guarded(lambda: self._begin(program), takes_memory=True):
            return self._reply
        for self._index, call in enumerate(program.calls):
            self._step(self._index)
            act = self._acts[call.op]
            made = partial(self._act, act, call)
            if call.thread and act != self._thread_renew:
                made = partial(self._in_thread, call.thread, made)
            if not self._guarded(made, takes_memory=act in self._take_memory):
                break
        self._step(-1)
        self._guarded(lambda: self._end(program))
        self._cells, self._events, self._marks = [], [], {}
        return self._reply

    def _in_thread(self, thread: int, act: Callable[[], None]) -> None:
        """Threads take turns: what one does has returned before the next call."""
        self._threads[thread].submit(act).result()

    def _act(self, act: Callable[[Call], None], call: Call) -> None:
        if not self._waits[call.op] or self._is_pinned(call):
            act(call)
            return
        with self._device.waiting():
            act(call)

    def _step(self, index: int) -> None:
        self._page[wire.CALL] = index
        self._page[wire.STEPS] += 1

    def _guarded(self, act: Callable[[], None], takes_memory: bool = False) -> bool:
        """Notes the first exception, which ends the program."""
        try:
            act()
        except Exception as error:  # whatever a device raises
            if self._reply.outcome == wire.RIGHT:
                self._note(error, takes_memory)
            return False
        return True

    def _note(self, error: Exception, takes_memory: bool) -> None:
        lacks = takes_memory and isinstance(error, torch.OutOfMemoryError)
        self._reply.outcome = wire.NO_ROOM if lacks else wire.REFUSED
        if isinstance(error, _Stuck):
            self._reply.outcome = wire.STUCK
        if isinstance(error, GateError):
            self._reply.outcome = wire.GATE_FAILED
        self._reply.call = self._page[wire.CALL]
        self._reply.message = told(error)

    # ---------------------------------------------------------------------- beginning and end --

    def _begin(self, program: Program) -> None:
        self._slots = [one[: self._size] for one in self._memory]
        for number, slot in enumerate(self._slots):
            slot.fill_(wire.FIRST_OF_SLOTS + number)
        self._streams = list(self._device.streams[program.devices])
        self._events = [self._new_event(number) for number in range(wire.EVENTS)]
        self._cells = [None] * wire.CELLS
        if any(self._acts[call.op] == self._empty_cache for call in program.calls):
            torch.accelerator.empty_cache()  # so that these cells are of new segments, too
        first = memory = self._first[: self._size]
        self._apart = -(-self._size // wire.ALIGNED) * wire.ALIGNED
        for number in range(wire.CELLS - wire.ORDERED_CELLS):
            on = self._device.of_cell(number, program.devices)
            begin = self._apart if number in wire.BEHIND else 0
            memory = memory if begin else self._new_memory(number, on)
            self._cells[number] = memory[begin : begin + self._size]
            first.fill_(wire.FIRST_OF_CELLS + number)
            self._cells[number].copy_(first)
        self._device.synchronize()  # the copies have read their source, and no more (CPY-503)

    def _new_memory(self, number: int, device: torch.device) -> torch.Tensor:
        """Returns memory for a cell, and for the next one where that lies behind it.

        It is of one of several streams, each of which has segments of its own; all that used it
        before has been waited for.
        """
        home = self._streams[wire.HOMES[number]]
        size = self._apart + self._size if number + 1 in wire.BEHIND else self._size
        with home if home.device == device else nullcontext():
            return torch.empty(size, dtype=torch.uint8, device=device)

    def _new_event(self, number: int) -> torch.Event:
        return torch.Event(self._device.first, enable_timing=number % 2 == 1)

    def _end(self, program: Program) -> None:
        self._device.finish(self._streams)
        if self._reply.outcome != wire.RIGHT or not self._counted():
            return
        for number, slot in enumerate(self._slots):
            self._room(wire.ROOM_OF_SLOTS + number).copy_(slot)
        for number, cell in enumerate(self._cells):
            if cell is not None:
                self._room(wire.ROOM_OF_CELLS + number).copy_(cell)
                self._reply.cells |= 1 << number

    def _counted(self) -> bool:
        """Notes the first mark that was not passed once, now that all is complete."""
        wrong = [mark for mark in self._marks.values() if mark.passed() != 1]
        if wrong:
            self._reply.outcome, self._reply.call = wire.MISCOUNTED, wrong[0].at
            self._reply.message = f"the callback ran {wrong[0].passed()} times"
        return not wrong

    def _is_pinned(self, call: Call) -> bool:
        """Returns whether it is a copy that only enqueues."""
        slot = call.slot < wire.SLOTS // 2 and self._device.pinned
        return slot and not call.blocks and self._copies[call.op]

    def _room(self, number: int) -> torch.Tensor:
        room: torch.Tensor = self._rooms[number]
        return room[: self._size]

    # ---------------------------------------------------------------------------------- calls --

    def _unknown(self, call: Call) -> None:
        raise AssertionError(f"operation {call.op} is none of PyTorch's")

    def _fill(self, call: Call) -> None:
        cell = self._cells[call.cell]
        with self._streams[call.stream]:
            cell.fill_(call.value) if call.value else cell.zero_()

    def _upload(self, call: Call) -> None:
        with self._streams[call.stream]:
            self._cells[call.cell].copy_(self._slots[call.slot], non_blocking=not call.blocks)

    def _pinned_upload(self, call: Call) -> None:
        with self._streams[call.stream]:
            pinned = self._slots[call.slot].pin_memory()
            self._cells[call.cell].copy_(pinned, non_blocking=True)

    def _loaded_upload(self, call: Call) -> None:
        """As a DataLoader's: its thread pins the batch, and whoever takes that drops it; nothing
        else holds it."""
        slot, batch = self._slots[call.slot], list[torch.Tensor]()
        self._loader.submit(lambda: batch.append(slot.pin_memory())).result()
        with self._streams[call.stream]:
            self._cells[call.cell].copy_(batch.pop(), non_blocking=True)

    def _backward(self, call: Call) -> None:
        to, source = self._cells[call.cell], self._cells[call.other]
        if self._device.backward is None:
            self._unknown(call)
        else:
            self._device.backward.run(self._streams[call.stream], lambda: to.copy_(source))

    def _meet(self, call: Call) -> None:
        to, source = self._cells[call.cell], self._cells[call.other]
        stream, other = self._streams[call.stream], self._streams[2 if call.stream == 1 else 1]
        if self._device.meeting is None:
            self._unknown(call)
        else:
            self._device.meeting.run(stream, other, source, to.copy_)

    def _download(self, call: Call) -> None:
        with self._streams[call.stream]:
            self._slots[call.slot].copy_(self._cells[call.cell], non_blocking=not call.blocks)

    def _copy(self, call: Call) -> None:
        with self._streams[call.stream]:
            self._cells[call.cell].copy_(self._cells[call.other])

    def _peer_copy(self, call: Call) -> None:
        with self._streams[-1], self._streams[call.stream]:
            self._cells[call.cell].copy_(self._cells[call.other])

    def _delay(self, call: Call) -> None:
        self._device.keep_busy(self._streams[call.stream], call.microseconds)

    def _callback_mark(self, call: Call) -> None:
        passed = self._device.mark(self._streams[call.stream])
        self._marks[call.mark] = Mark(self._index, call.value, passed)

    def _await_mark(self, call: Call) -> None:
        stream, mark = self._streams[call.stream], self._marks[call.mark]
        self._ask(lambda: bool(mark.passed()) or (stream.query(), bool(mark.passed()))[1])

    def _host_look(self, call: Call) -> None:
        mark = self._marks.get(call.mark)
        self._rooms[call.id][0] = mark.value if mark and mark.passed() else 0
        self._reply.looked |= 1 << call.id

    def _wait(self, call: Call) -> None:
        self._events[call.event].wait(self._streams[call.stream])

    def _async_alloc(self, call: Call) -> None:
        with self._streams[call.stream]:
            on = self._device.first
            self._cells[call.cell] = torch.empty(self._size, dtype=torch.uint8, device=on)

    def _async_free(self, call: Call) -> None:
        self._cells[call.cell] = None

    def _record_stream(self, call: Call) -> None:
        self._cells[call.cell].record_stream(self._streams[call.stream])

    def _empty_cache(self, call: Call) -> None:
        torch.accelerator.empty_cache()

    def _stream_renew(self, call: Call) -> None:
        self._streams[call.stream] = self._device.new_stream(call.stream)

    def _record(self, call: Call) -> None:
        self._events[call.event].record(self._streams[call.stream])

    def _thread_renew(self, call: Call) -> None:
        self._threads[call.thread].shutdown()
        self._threads[call.thread] = ThreadPoolExecutor(1)

    def _event_renew(self, call: Call) -> None:
        self._events[call.event] = self._new_event(call.event)

    def _event_synchronize(self, call: Call) -> None:
        self._events[call.event].synchronize()

    def _event_poll(self, call: Call) -> None:
        self._reply.answered |= bool(self._events[call.event].query()) << self._index

    def _stream_poll(self, call: Call) -> None:
        self._reply.answered |= bool(self._streams[call.stream].query()) << self._index

    def _event_spin(self, call: Call) -> None:
        self._ask(self._events[call.event].query)

    def _stream_spin(self, call: Call) -> None:
        self._ask(self._streams[call.stream].query)

    def _ask(self, query: Callable[[], bool]) -> None:
        until = time.monotonic() + self._patience
        while not query():
            if time.monotonic() > until:
                raise _Stuck

    def _stream_synchronize(self, call: Call) -> None:
        self._streams[call.stream].synchronize()

    def _device_synchronize(self, call: Call) -> None:
        self._device.synchronize_one(call.device)

    def _host_write(self, call: Call) -> None:
        self._slots[call.slot].fill_(call.value)

    def _host_read(self, call: Call) -> None:
        self._room(call.id).copy_(self._slots[call.slot])
        self._reply.looked |= 1 << call.id
