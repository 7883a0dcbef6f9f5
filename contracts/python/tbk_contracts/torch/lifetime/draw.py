# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sequences at random. Few sizes in each, and new tensors behind each free, so that memory is used
again."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from tbk_contracts.torch.lifetime.calls import FREES, SLOTS, STREAMS, Call
from tbk_contracts.torch.lifetime.model import MOST_READ, Model, Slot

SIZES = (1, 100, 511, 512, 513, 4096, 5000, 16_384, 70_001, 262_144, 1 << 20, (1 << 20) + 1,
         3_000_000)  # fmt: skip
LARGE = 40 << 20
SHARE = 64  # of its memory a tensor is at most so small a part, but for a large one
LARGE_ENOUGH = 5 * LARGE  # bytes that a device has, where large tensors are drawn
UNTOLD = 128 << 20  # bytes that a device is taken to have that does not tell
LENGTHS = (8, 40)
MOST_HELD = 2  # streams at a time

# How often, and the word that a device must have for it.
WEIGHTS: dict[str, tuple[float, str]] = {
    "allocate": (4, ""),
    "use": (5, ""),
    "release": (3, ""),
    "overtake": (4, ""),
    "hold": (3, ""),
    "wait": (1, ""),
    "synchronize": (0.7, ""),
    "settle": (0.5, ""),
    "empty_cache": (0.8, "memory_stats"),
    "too_much": (0.3, "oom"),
    "statistics": (0.8, "memory_stats"),
    "reset_peak": (0.3, "memory_stats"),
    "reset_sums": (0.3, "memory_stats"),
}


def most_read(total: int) -> int:
    """Returns how much a sequence may read: it needs as much memory."""
    return min(MOST_READ, total // 16)


class Drawing:
    """A sequence that grows; `words`: what the device has, `total`: how much memory."""

    def __init__(self, seed: str, words: Collection[str], total: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.model, self.calls = Model(most_read=most_read(total)), list[Call]()
        self.names = [name for name, (_, word) in WEIGHTS.items() if not word or word in words]
        sizes = [size for size in SIZES if size <= max(SIZES[0], total // SHARE)]
        self.sizes = self.random.choices(sizes, k=self.random.choice((1, 2, 3)))
        if total >= LARGE_ENOUGH and self.random.random() < 0.06:
            self.sizes.append(LARGE)

    def whole(self) -> list[Call]:
        """Returns the calls."""
        length = self.random.randint(*LENGTHS)
        steps: dict[str, Callable[[], None]] = {
            "allocate": self._allocate, "use": self._use, "release": self._release,
            "hold": self._hold, "wait": self._wait, "overtake": self._overtake,
        }  # fmt: skip
        weights = [WEIGHTS[name][0] for name in self.names]
        while len(self.calls) < length:
            name = self.random.choices(self.names, weights)[0]
            step = steps.get(name)
            if step is not None:
                step()
            elif name == "synchronize":
                self._add(Call(name, stream=self._stream()))
            else:
                if name.startswith("reset") and self.random.random() < 0.5:
                    self._add(Call("settle"))  # figures are exact there
                self._add(Call(name))
        return self.calls

    def _add(self, call: Call) -> None:
        if not self.model.why_not(call):
            self.model.take(call)
            self.calls.append(call)

    def _stream(self, *beside: int) -> int:
        return self.random.choice([one for one in range(STREAMS) if one not in beside])

    def _allocate(self, size: int = 0, stream: int = -1) -> None:
        unused = [name for name in SLOTS if name not in self.model.slots]
        size = size or self.random.choice(self.sizes)
        large = [slot for slot in self.model.slots.values() if slot.bytes == LARGE]
        if unused and not (size == LARGE and large):
            stream = self._stream() if stream < 0 else stream
            self._add(Call("alloc", unused[0], size, stream))

    def _hold(self) -> None:
        if len(self.model.held) < MOST_HELD:
            self._add(Call("hold", stream=self._stream()))

    def _wait(self) -> None:
        stream = self._stream()
        self._add(Call("wait", stream=stream, other=self._stream(stream)))

    def _use(self) -> None:
        """Reads or writes a tensor on some stream, often a held one, behind what it races with."""
        if not self.model.slots:
            return
        name = self.random.choice(list(self.model.slots))
        slot = self.model.slots[name]
        held = [one for one in self.model.held if one != slot.home]
        stream = self.random.choice(held) if held and self.random.random() < 0.6 else self._stream()
        self._use_on(name, stream, self.random.choice(("read", "read", "read", "write")))

    def _use_on(self, name: str, stream: int, kind: str) -> None:
        slot = self.model.slots[name]
        if stream != slot.home and self.random.random() < 0.3:
            self._add(Call("record", name, stream=stream))
        for use in self.model.racing(slot, stream, write=kind == "write"):
            if not self.model.known(stream, use):
                self._add(Call("wait", stream=stream, other=use.stream))
        self._add(Call(kind, name, stream=stream))

    def _overtake(self) -> None:
        """Frees a tensor that a held stream reads, and makes others in its place at once."""
        late = self.random.choice([*self.model.held] or [self._stream()])
        home = late if self.random.random() < 0.25 else self._stream(late, *self.model.held)
        mine = [name for name, slot in self.model.slots.items() if slot.home == home]
        if not mine or self.random.random() < 0.5:
            self._allocate(stream=home)
            mine = [name for name, slot in self.model.slots.items() if slot.home == home]
        if not mine:
            return
        if late not in self.model.held:
            if late != home and self.random.random() < 0.3:
                self._add(Call("record", mine[-1], stream=late))  # before it has work
            self._add(Call("hold", stream=late))
        self._use_on(mine[-1], late, "read")
        if self.random.random() < 0.4:
            self._use_on(mine[-1], self._stream(late), "read")
        self._free(mine[-1])

    def _release(self) -> None:
        """Frees a tensor, mostly while work uses it."""
        if self.model.slots:
            used = [name for name, slot in self.model.slots.items() if self._busy(slot)]
            self._free(self.random.choice(used or list(self.model.slots)))

    def _free(self, name: str) -> None:
        """Frees a tensor, and mostly makes others in its place."""
        slot = self.model.slots[name]
        self._make_safe(name, slot)
        self._add(Call(self.random.choice((FREES[0], *FREES)), name))
        between = [one for one in ("empty_cache", "too_much", "statistics") if one in self.names]
        if between and self.random.random() < 0.3:
            self._add(Call(self.random.choice(between)))
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            away = self.random.random() < (0.8 if slot.home in self.model.held else 0.2)
            self._allocate(slot.bytes, self._stream(*self.model.held) if away else slot.home)

    def _busy(self, slot: Slot) -> bool:
        return any(use.stream in self.model.held for use in (slot.written, *slot.read))

    def _make_safe(self, name: str, slot: Slot) -> None:
        for use in self.model.unsafe(slot):
            if use not in self.model.unsafe(slot):
                continue
            how = self.random.random()
            if how < 0.75:
                self._add(Call("record", name, stream=use.stream))
            elif how < 0.95:
                self._add(Call("wait", stream=slot.home, other=use.stream))
            else:
                self._add(Call("synchronize", stream=use.stream))


def draw(seed: int, number: int, words: Collection[str], total: int) -> list[Call]:
    """Returns sequence `number` of a seed: the same each time for devices that have the same."""
    return Drawing(f"{seed}/{number}", words, total).whole()
