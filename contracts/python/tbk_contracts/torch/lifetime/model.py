# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What happens before what in a sequence, and which sequences are legal.

Each stream has a clock: for each stream how much of its work has happened before what it gets
next. The host has one, too. A sequence in which two streams race, or memory is freed that a stream
of which the allocator was not told still uses, is none that a device could be blamed for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tbk_contracts.torch.lifetime.calls import FREES, STREAMS, Call

Clock = list[int]
MOST_READ = 16 << 20  # bytes, together, of a sequence that is not told less


@dataclass(frozen=True)
class Use:
    """The `number`th piece of work of a stream."""

    stream: int
    number: int


@dataclass
class Slot:
    """A tensor that lives."""

    bytes: int
    home: int
    """The stream that it was allocated for."""
    written: Use
    read: list[Use] = field(default_factory=list)
    recorded: set[int] = field(default_factory=set)


class Model:
    """The state behind the calls that were taken."""

    def __init__(self, calls: Sequence[Call] = (), most_read: int = MOST_READ) -> None:
        self.most_read = most_read
        self.slots: dict[str, Slot] = {}
        self.clocks: list[Clock] = [[0] * STREAMS for _ in range(STREAMS)]
        self.host: Clock = [0] * STREAMS
        self.held: set[int] = set()
        self.read_bytes = 0
        for call in calls:
            self.take(call)

    def known(self, stream: int, use: Use) -> bool:
        """Returns whether what the stream gets next is behind that use."""
        return max(self.clocks[stream][use.stream], self.host[use.stream]) >= use.number

    def racing(self, slot: Slot, stream: int, *, write: bool) -> list[Use]:
        """Returns the uses that the stream would race with, were it to use the tensor now."""
        against = [slot.written, *(slot.read if write else ())]
        return [use for use in against if not self.known(stream, use)]

    def unsafe(self, slot: Slot) -> list[Use]:
        """Returns the uses that keep the tensor from being freed: of other streams than its own, of
        which the allocator does not know, and that nothing waits for."""
        return [
            use for use in (slot.written, *slot.read)
            if use.stream not in (slot.home, *slot.recorded) and not self.known(slot.home, use)
        ]  # fmt: skip

    def why_not(self, call: Call) -> str:
        """Returns why the call may not be made; empty if it may."""
        if call.name == "alloc":
            return f"{call.slot} lives" if call.slot in self.slots else ""
        slot = self.slots.get(call.slot)
        if slot is None:
            return f"{call.slot} does not live" if call.slot else ""
        return self._why_no_use(call, slot)

    def _why_no_use(self, call: Call, slot: Slot) -> str:
        if call.name in ("read", "write") and self.racing(
            slot, call.stream, write=call.name == "write"
        ):
            return f"s{call.stream} would race for {call.slot}"
        if call.name == "read" and self.read_bytes + slot.bytes > self.most_read:
            return "more is read than a sequence may"
        if call.name in FREES and self.unsafe(slot):
            return f"{call.slot} is in use by a stream that it is not recorded on"
        return ""

    def take(self, call: Call, *, checked: bool = True) -> None:
        """Makes the call. Raises ValueError where it may not be made, if that is `checked`."""
        reason = self.why_not(call) if checked else ""
        if reason:
            raise ValueError(f"{call.name}: {reason}")
        if call.name in FREES:
            del self.slots[call.slot]
        elif call.name in ("alloc", "read", "write"):
            self._use(call)
        elif call.name == "record":
            self.slots[call.slot].recorded.add(call.stream)
        else:
            self._order(call)

    def _use(self, call: Call) -> None:
        clock = self.clocks[call.stream]
        clock[:] = map(max, clock, self.host)
        clock[call.stream] += 1
        use = Use(call.stream, clock[call.stream])
        if call.name == "alloc":
            self.slots[call.slot] = Slot(call.bytes, call.stream, use)
        elif call.name == "write":
            slot = self.slots[call.slot]
            slot.written, slot.read = use, []
        else:
            self.slots[call.slot].read.append(use)
            self.read_bytes += self.slots[call.slot].bytes

    def _order(self, call: Call) -> None:
        if call.name == "hold":
            self.held.add(call.stream)
        elif call.name == "wait":
            clock = self.clocks[call.stream]
            clock[:] = map(max, clock, self.clocks[call.other], self.host)
        elif call.name == "synchronize":
            self.host = list(map(max, self.host, self.clocks[call.stream]))
            self.held.discard(call.stream)
        elif call.name == "settle":
            self.host = [max(clock[s] for clock in self.clocks) for s in range(STREAMS)]
            self.held.clear()


def legal(calls: Sequence[Call]) -> bool:
    """Returns whether all calls may be made, one after the other."""
    model = Model()
    for call in calls:
        if model.why_not(call):
            return False
        model.take(call)
    return True
