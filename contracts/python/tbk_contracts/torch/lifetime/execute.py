# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sequences through PyTorch. What is written has a place of its own in random bytes, so what a read
saw tells whose it was."""

from __future__ import annotations

import contextlib
import gc
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import torch

from tbk_contracts.torch import check, host, missing, order
from tbk_contracts.torch.lifetime.calls import STREAMS, Call
from tbk_contracts.torch.lifetime.draw import LARGE, LARGE_ENOUGH, SHARE, SIZES, UNTOLD, most_read
from tbk_contracts.torch.lifetime.figures import Figures
from tbk_contracts.torch.lifetime.finding import NoRoom, Shown, Wrong
from tbk_contracts.torch.lifetime.model import Model, Slot

HOLD_S = 0.006
PLACES = 1 << 16  # where in the bytes a write may begin
MOST_SHOWN = 8  # a longer part that two patterns have in common is no chance


@dataclass
class Tensor:
    """A tensor that lives, and from where in the bytes it was written last."""

    tensor: torch.Tensor
    place: int
    bytes: int
    freed_pending: bool = False


@dataclass
class Read:
    """A read, where in the sink it went, and what it is to see."""

    call: int
    slot: str
    stream: int
    place: int
    begin: int
    bytes: int
    home: int
    freed_at: int = -1
    recorded: bool = False
    emptied: bool = False


class Device:
    """One device, its streams, and memory of the suite that outlives all sequences."""

    def __init__(self, device: torch.device, words: Collection[str], *, figures: bool) -> None:
        self.device, self.words = device, words
        first = torch.accelerator.current_stream(device)
        self.asynchronous = order.asynchronous(device)
        self.streams = [first, *(torch.Stream(device) for _ in range(STREAMS - 1))]
        self.shown = Shown()
        self.total = self._total()
        largest = LARGE if self.total >= LARGE_ENOUGH else min(SIZES[-1], self.total // SHARE)
        self.bytes = host.values((largest + PLACES,), torch.uint8)
        self._take()
        self.settle()
        self.figures = None
        if figures and "memory_stats" in words:
            self.figures = Figures(device, self.shown)

    def _total(self) -> int:
        """Returns how much memory there is, as far as the device tells."""
        if "memory_info" not in self.words:
            return UNTOLD
        return int(torch.accelerator.get_memory_info(self.device)[1])

    def _take(self) -> None:
        try:
            self.source = host.upload(self.bytes, self.device)
            room = most_read(self.total)
            self.sink = torch.empty(room, dtype=torch.uint8, device=self.device)
            self.holds = [order.holder(stream, HOLD_S) for stream in self.streams]
        except torch.OutOfMemoryError as error:
            raise NoRoom from error

    def settle(self) -> None:
        """Waits for all work, and empties the cache where there is one to be told of."""
        order.settle(self.device)
        if "memory_stats" in self.words:
            torch.accelerator.empty_cache()

    def run(self, calls: Sequence[Call], seed: str, *, checked: bool = True) -> None:
        """Makes the calls, and compares what is seen; where it is not `checked` they need not be
        legal. Raises Wrong, and NoRoom."""
        with _no_garbage():
            self.settle()
            if self.figures is not None:
                self.figures.begin()
            sequence = Execution(self, seed)
            try:
                sequence.run(calls, checked=checked)
                self._check_idle()
            finally:
                sequence.tensors.clear()
                if self.figures is not None:
                    self.figures.live.clear()
            self._check_idle()
            if self.figures is not None:
                self.figures.check_given_back()

    def _check_idle(self) -> None:
        self.settle()
        if self.figures is not None:
            self.figures.check_idle()


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Garbage of others is not freed while a sequence counts."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Execution:
    """One run of a sequence."""

    def __init__(self, device: Device, seed: str) -> None:
        self.on, self.model = device, Model(most_read=most_read(device.total))
        self.random = random.Random(seed)  # noqa: S311
        self.tensors: dict[str, Tensor] = {}
        self.reads: list[Read] = []
        self.used = 0
        """Bytes of the sink."""
        self.ends: dict[int, torch.Event] = {}
        self.writes: list[tuple[int, int, int, str]] = []
        """Of each write the call, its place and size in the bytes, and the tensor."""
        self.number = 0
        """Of the call that is made."""

    def run(self, calls: Sequence[Call], *, checked: bool) -> None:
        """Makes the calls and looks at all that was read."""
        for number, call in enumerate(calls):
            self.number = number
            self.model.take(call, checked=checked)
            self._make(call)
            if self.on.figures is not None and call.name not in ("settle", "statistics"):
                self.on.figures.idle &= call.name in ("alloc", "reset_peak", "reset_sums")
        order.settle(self.on.device)
        self._look()

    def _make(self, call: Call) -> None:
        """Makes the call. What a device lacks is for the test to say; nothing else is raised."""
        try:
            getattr(self, f"_{call.name}")(call)
        except torch.OutOfMemoryError as error:
            raise NoRoom from error
        except RuntimeError as error:
            if missing.lacking(error):
                raise
            raise Wrong("MEM-538", f"call {self.number + 1}, {call.name}", "no exception",
                        check.shown(str(error))) from error  # fmt: skip

    # ------------------------------------------------------------------------------- memory --

    def _alloc(self, call: Call) -> None:
        figures = self.on.figures
        before = figures.in_use() if figures is not None else 0
        with order.on(self.on.streams[call.stream]):
            tensor = self._taken(call.bytes)
        self._check_place(call, tensor)
        self.tensors[call.slot] = Tensor(tensor, 0, call.bytes)
        if figures is not None:
            figures.allocated(call.slot, call.bytes, before)
        self._write(call)

    def _taken(self, size: int) -> torch.Tensor:
        try:
            return torch.empty(size, dtype=torch.uint8, device=self.on.device)
        except torch.OutOfMemoryError:
            self.on.settle()  # an allocator should do so itself
        try:
            return torch.empty(size, dtype=torch.uint8, device=self.on.device)
        except torch.OutOfMemoryError as error:
            raise NoRoom from error

    def _check_place(self, call: Call, tensor: torch.Tensor) -> None:
        if "addresses" not in self.on.words:
            return
        begin = tensor.data_ptr()
        others = {name: (one.tensor.data_ptr(), one.bytes) for name, one in self.tensors.items()}
        others["the suite's"] = self.on.source.data_ptr(), len(self.on.source)
        for name, (other, size) in others.items():
            if begin < other + size and other < begin + call.bytes:
                raise Wrong("MEM-503", f"call {self.number + 1}, where {call.slot} lies",
                            f"outside of {name}, {size} bytes at {other:#x}",
                            f"{call.bytes} bytes at {begin:#x}")  # fmt: skip

    def _record(self, call: Call) -> None:
        self.tensors[call.slot].tensor.record_stream(self.on.streams[call.stream])

    def _free(self, call: Call) -> None:
        self._forget(call, lambda _: None)

    def _free_in_thread(self, call: Call) -> None:
        self._forget(call, lambda held: host.in_thread(held.clear))

    def _resize_to_0(self, call: Call) -> None:
        self._forget(call, lambda held: held[0].untyped_storage().resize_(0))

    def _forget(self, call: Call, free: Callable[[list[torch.Tensor]], object]) -> None:
        held = [self.tensors.pop(call.slot).tensor]
        pending = {stream for stream, end in self.ends.items() if not end.query()}
        free(held)
        del held
        mine = [read for read in self.reads if read.slot == call.slot and read.freed_at < 0]
        for read in mine:
            read.freed_at = self.number
        self.on.shown.pending_frees += any(read.stream in pending for read in mine)
        if self.on.figures is not None:
            self.on.figures.freed(call.slot)

    def _empty_cache(self, _: Call) -> None:
        torch.accelerator.empty_cache()
        for read in self.reads:
            read.emptied |= read.freed_at >= 0

    def _too_much(self, _: Call) -> None:
        try:
            torch.empty(2 * self.on.total, dtype=torch.uint8, device=self.on.device)
        except torch.OutOfMemoryError:
            self.on.shown.refusals += 1
            return
        except RuntimeError as error:
            seen = check.shown(f"{type(error).__name__}: {error}")
        else:
            seen = "no exception"
        raise Wrong("MEM-515", f"call {self.number + 1}, twice of what the device has",
                    "OutOfMemoryError", seen)  # fmt: skip

    # --------------------------------------------------------------------------------- work --

    def _write(self, call: Call) -> None:
        one = self.tensors[call.slot]
        one.place = self.random.randrange(PLACES)
        self.writes.append((self.number, one.place, one.bytes, call.slot))
        with order.on(self.on.streams[call.stream]):
            one.tensor.copy_(self.on.source[one.place : one.place + one.bytes])

    def _read(self, call: Call) -> None:
        one = self.tensors[call.slot]
        begin, self.used = self.used, self.used + one.bytes
        slot: Slot = self.model.slots[call.slot]
        self.reads.append(Read(self.number, call.slot, call.stream, one.place, begin, one.bytes,
                               slot.home, recorded=call.stream in slot.recorded))  # fmt: skip
        with order.on(self.on.streams[call.stream]):
            self.on.sink[begin : self.used].copy_(one.tensor)

    def _hold(self, call: Call) -> None:
        self.ends[call.stream] = self.on.holds[call.stream]()

    def _wait(self, call: Call) -> None:
        self.on.streams[call.stream].wait_stream(self.on.streams[call.other])

    def _synchronize(self, call: Call) -> None:
        self.on.streams[call.stream].synchronize()

    def _settle(self, _: Call) -> None:
        self.on.settle()
        if self.on.figures is not None:
            self.on.figures.idle = True
            self.on.figures.check_idle()

    # -------------------------------------------------------------------------- statistics --

    def _statistics(self, _: Call) -> None:
        if self.on.figures is not None:
            self.on.figures.check()

    def _reset_peak(self, _: Call) -> None:
        if self.on.figures is not None:
            self.on.figures.reset_peak()

    def _reset_sums(self, _: Call) -> None:
        if self.on.figures is not None:
            self.on.figures.reset_sums()

    # ------------------------------------------------------------------------- what was read --

    def _look(self) -> None:
        seen = host.download(self.on.sink[: self.used]) if self.used else torch.empty(0)
        self.on.shown.reads += len(self.reads)
        for read in self.reads:
            self._compare(read, seen[read.begin : read.begin + read.bytes])
        for name, one in self.tensors.items():
            lives = Read(self.number, name, -1, one.place, 0, one.bytes, -1)
            self._compare(lives, host.download(one.tensor))

    def _compare(self, read: Read, seen: torch.Tensor) -> None:
        expected = self.on.bytes[read.place : read.place + read.bytes]
        if torch.equal(seen, expected):
            return
        wrong = (seen != expected).nonzero().flatten()
        where = (
            "at the end" if read.stream < 0 else f"read by s{read.stream} in call {read.call + 1}"
        )
        raise Wrong(self._clause(read), f"what tensor {read.slot} holds, {where}",
                    "the bytes that were written to it last",
                    f"others in {len(wrong)} of {read.bytes} bytes, the first one at"
                    f" {int(wrong[0])}: {self._owner(seen, int(wrong[0]))}")  # fmt: skip

    def _clause(self, read: Read) -> str:
        """Returns the clause that speaks of the memory of this read."""
        if read.freed_at < 0:
            return "MEM-503"
        if read.emptied:
            return "MEM-518"
        return "MEM-514" if read.stream != read.home else "MEM-509"

    def _owner(self, seen: torch.Tensor, at: int) -> str:
        """Returns whose bytes were seen there."""
        part = seen[at : at + MOST_SHOWN]
        for made_in, place, size, slot in reversed(self.writes):
            written = self.on.bytes[place + at : place + size][: len(part)]
            if torch.equal(part, written):
                return f"those of {slot}, written in call {made_in + 1}"
        return f"{part.tolist()}, which no call has written there"
