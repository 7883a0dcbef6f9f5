# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The allocator's statistics beside the model's.

How an allocator rounds is its own matter: what one allocation adds while the device is idle is what
it must take away again. Work that is pending may hold memory besides, and what waits for recorded
streams may still be counted, so figures are exact only behind `settle` and `empty_cache`.
"""

from __future__ import annotations

import torch

from tbk_contracts.torch.lifetime.finding import Shown, Wrong

IN_USE, RESERVED = "allocated_bytes.all", "reserved_bytes.all"
KINDS = (".current", ".peak", ".allocated", ".freed")
GIVEN_BACK = 32 << 20  # so much unused memory goes back by all means

Stats = dict[str, int]


class Figures:
    """The statistics of one device over sequences."""

    def __init__(self, device: torch.device, shown: Shown) -> None:
        self.device, self.shown = device, shown
        self.live: dict[str, tuple[int, int | None]] = {}
        """Of each tensor what was asked for, and what was counted of it, if that is known."""
        self.idle = False
        self.base = self.read()
        self.most = 0
        """The most that was in use since peaks were reset, for certain."""
        self.offset = 0
        """In use, less what the sums since their reset come to."""
        self.begin()

    def read(self) -> Stats:
        """Returns them as PyTorch has them."""
        return dict(torch.accelerator.memory_stats(self.device))

    def begin(self) -> None:
        """Takes the device as it is now, idle and with its cache emptied."""
        self.live.clear()
        self.idle = True
        self.base = self.read()
        self.most = self.base[f"{IN_USE}.current"]
        self.offset = self._offset(self.base)

    @staticmethod
    def _offset(stats: Stats) -> int:
        grown = stats[f"{IN_USE}.allocated"] - stats[f"{IN_USE}.freed"]
        return stats[f"{IN_USE}.current"] - grown

    def in_use(self) -> int:
        """Returns what memory_allocated says."""
        return int(torch.accelerator.memory_allocated(self.device))

    def allocated(self, slot: str, size: int, before: int) -> None:
        """A tensor of `size` bytes was made; `before` it so much was in use."""
        counted = self.in_use() - before
        if self.idle:
            self._check("MEM-520", "memory_allocated(), risen by an allocation", counted >= size,
                        f"by {size} at least", counted)  # fmt: skip
        self.live[slot] = size, counted if self.idle else None
        self.check()

    def freed(self, slot: str) -> None:
        """A tensor has gone."""
        del self.live[slot]

    def check(self) -> Stats:
        """Compares what holds at any time; returns what it has seen."""
        seen = self.read()
        low = {name: value for name, value in seen.items() if name.endswith(KINDS) and value < 0}
        self._check("MEM-521", "memory_stats()", not low, "nothing below 0", low)
        for name, value in seen.items():
            if name.endswith(".current"):
                peak = seen[name.replace(".current", ".peak")]
                self._check("MEM-521", f"{name} beside its peak", value <= peak,
                            f"at most {peak}", value)  # fmt: skip
        in_use, least = seen[f"{IN_USE}.current"], self._least()
        self._check("MEM-520", "memory_allocated()", in_use >= least,
                    f"{least} at least, for what lives", in_use)  # fmt: skip
        reserved = seen[f"{RESERVED}.current"]
        self._check("MEM-521", "memory_reserved()", reserved >= in_use,
                    f"at least what is in use, {in_use}", reserved)  # fmt: skip
        self.most = max(self.most, in_use)
        peak = seen[f"{IN_USE}.peak"]
        self._check("MEM-521", "max_memory_allocated()", peak >= self.most,
                    f"at least {self.most}, which was in use since its reset", peak)  # fmt: skip
        self._check("MEM-537", f"{IN_USE}.current, less what was allocated and not freed",
                    self._offset(seen) == self.offset, f"{self.offset}, as before",
                    self._offset(seen))  # fmt: skip
        return seen

    def _least(self) -> int:
        counted = (size if known is None else known for size, known in self.live.values())
        return self.base[f"{IN_USE}.current"] + sum(counted)

    def check_idle(self) -> None:
        """Compares what holds where all work is over and the cache was emptied."""
        in_use, least = self.check()[f"{IN_USE}.current"], self._least()
        if all(known is not None for _, known in self.live.values()):
            self._check("MEM-537" if self.live else "MEM-535",
                        "memory_allocated() of an idle device with an empty cache",
                        in_use == least, f"{least}, for what lives", in_use)  # fmt: skip

    def check_given_back(self) -> None:
        """Compares what is reserved once nothing that the sequence made lives any more."""
        kept = self.read()[f"{RESERVED}.current"] - self.base[f"{RESERVED}.current"]
        self._check("MEM-518", "memory_reserved() above what it was, with all freed and the cache"
                    " emptied", kept < GIVEN_BACK, "nothing", kept)  # fmt: skip

    def kept(self) -> int:
        """Returns how much more is reserved than at the start."""
        return self.read()[f"{RESERVED}.current"] - self.base[f"{RESERVED}.current"]

    def reset_peak(self) -> None:
        """Resets peaks; exact where the device is idle."""
        before = self.check()
        torch.accelerator.reset_peak_memory_stats(self.device)
        seen = self.read()
        self.most = seen[f"{IN_USE}.current"]
        self._same("sums", before, seen, (".allocated", ".freed"))
        for name, value in seen.items():
            if self.idle and name.endswith(".peak"):
                current = seen[name.replace(".peak", ".current")]
                self._check("MEM-522", f"{name} behind its reset", value == current,
                            current, value)  # fmt: skip

    def reset_sums(self) -> None:
        """Resets what has been allocated and freed so far."""
        before = self.check()
        torch.accelerator.reset_accumulated_memory_stats(self.device)
        seen = self.read()
        self.offset = self._offset(seen)
        self._same("what is no sum", before, seen, (".current", ".peak"))
        for name, value in seen.items():
            if self.idle and name.endswith((".allocated", ".freed")):
                self._check("MEM-522", f"{name} behind its reset", value == 0, 0, value)

    def _same(self, what: str, before: Stats, seen: Stats, kinds: tuple[str, ...]) -> None:
        changed = {
            name: (before[name], seen[name]) for name in seen
            if self.idle and name.endswith(kinds) and seen[name] != before.get(name)
        }  # fmt: skip
        self._check("MEM-522", f"{what}, behind a reset", not changed, "as before", changed)

    def _check(self, clause: str, what: str, held: bool, expected: object, seen: object) -> None:
        self.shown.figures += 1
        if not held:
            raise Wrong(clause, what, expected, seen)
