# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What goes between tbk-litmus and a process that has PyTorch (harness/src/litmus/torch_wire.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from mmap import mmap
from typing import NamedTuple

CONTROL, PAGE = 3, 4  # descriptors
CHILD, ENDED = 1, 2  # words on the control socket
RUNNING, BAD_LIBRARY, NO_DEVICE, NOTHING_TO_ORDER = 1, 4, 5, 6  # hunt_state_t
RIGHT, REFUSED, MISCOUNTED, STUCK, NO_ROOM = 0, 2, 3, 4, 7  # litmus_outcome_t
GATE_FAILED = 100

STREAMS, EVENTS, CELLS, SLOTS, CALLS, THREADS = 4, 4, 8, 12, 56, 3
FIRST_OF_CELLS, FIRST_OF_SLOTS = 1, 16
ORDERED_CELLS = 2  # the last: they are allocated by the program
HOMES = (0, 0, 2, 1, 1, 0)  # of the others: the stream that a cell is allocated on
BEHIND = (1, 4)  # these lie in the memory of the one before
ALIGNED = 64  # bytes: what is apart so far is no device's to write in one
STEPS, CALL, RATE, IN_GATE, PAGE_WORDS = 0, 1, 2, 3, 4  # words of wire_page_t
ROOMS_AT, ROOM = 4096, 1 << 20
ROOM_OF_CELLS, ROOM_OF_SLOTS = CALLS, CALLS + CELLS
ROOMS = ROOM_OF_SLOTS + SLOTS
BYTES = ROOMS_AT + ROOMS * ROOM
MOST_BYTES = 4096  # of a request

WORD = struct.Struct("<ii")
_HEAD = struct.Struct("<IIQQ")
_CALL = struct.Struct("<BbbbbbbBBB?xIB7x")
_HELLO = struct.Struct("<iiiiiiiii476s")
_REPLY = struct.Struct("<iiQQQ200s")


class Call(NamedTuple):
    """litmus_call_t; PyTorch's are made in turns, once each, and of whole cells."""

    op: int
    stream: int
    event: int
    cell: int
    other: int
    slot: int
    device: int
    value: int
    mark: int
    id: int
    blocks: bool
    microseconds: int
    thread: int


@dataclass(frozen=True)
class Program:
    """A program, and how long something is asked again and again."""

    devices: int
    size: int
    patience_s: float
    calls: list[Call]


@dataclass
class Reply:
    """How a program ended, and what of the shared memory holds what was seen."""

    outcome: int = RIGHT
    call: int = -1
    answered: int = 0
    looked: int = 0
    cells: int = 0
    message: str = ""

    def pack(self) -> bytes:
        """Returns the bytes of wire_reply_t."""
        numbers = (self.outcome, self.call, self.answered, self.looked, self.cells)
        return _REPLY.pack(*numbers, _cut(self.message, 199))


@dataclass
class Hello:
    """What the device offers, or why it can't be used."""

    state: int = RUNNING
    devices: int = 0
    pinned: bool = False
    bytes_per_us: int = 0
    gate: bool = False
    autograd: bool = False
    cache: bool = False
    marks: bool = False
    gradients: bool = False
    reason: str = ""

    def pack(self) -> bytes:
        """Returns the bytes of wire_hello_t."""
        numbers = (self.state, self.devices, self.pinned, self.bytes_per_us, self.gate)
        more = (self.autograd, self.cache, self.marks, self.gradients)
        return _HELLO.pack(*numbers, *more, _cut(self.reason, 475))


def _cut(text: str, size: int) -> bytes:
    """Returns one line of at most so many bytes, of whole characters."""
    one = " ".join(text.split()).encode("utf-8", "replace")[:size]
    return one.decode("utf-8", "ignore").encode()


def page(memory: mmap) -> memoryview:
    """Returns the words of wire_page_t."""
    return memoryview(memory)[: 8 * PAGE_WORDS].cast("q")


def unpack(data: bytes) -> Program:
    """Returns the program that a request holds."""
    count, devices, size, patience_ns = _HEAD.unpack_from(data)
    end = _HEAD.size + count * _CALL.size
    calls = [Call(*one) for one in _CALL.iter_unpack(data[_HEAD.size : end])]
    return Program(devices, size, patience_ns / 1e9, calls)
