# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Memory that is freed while work uses it: which streams were recorded, and when, how it is freed,
what comes between, and what is made in its place. A late stream reads the tensor; what is made next
is written at once by a stream that nothing holds, and may not be what the late stream reads."""

from __future__ import annotations

import gc

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import fail, needs, place
from tbk_contracts.torch.pairs import Case, each_case, line

COST = 10

SIZES = {"kilobytes": 1_000, "hundreds_of_kilobytes": 50_000, "megabytes": 1_500_000}
FRESH = {"kilobytes": 24, "hundreds_of_kilobytes": 8, "megabytes": 3}
STREAMS = {"one": 1, "two": 2, "five": 5}

DIMENSIONS = {
    "size": tuple(SIZES),
    "streams": tuple(STREAMS),  # that are told of
    "late": ("first", "second", "last"),  # of those
    "recorded": ("before_any_work", "behind_work", "after_use", "twice"),
    "through": ("tensor", "view", "other_dtype"),
    "by": ("record_stream", "future"),
    "freed": ("del", "set", "resize", "in_thread"),
    "between": ("nothing", "empty_cache", "empty_cache_twice", "statistics", "errors"),
    "fresh": ("same", "half", "bytes"),
    "own": ("new", "default"),
    "device": ("first", "second"),
}


def _words(case: Case) -> str:
    told = case["between"] in ("empty_cache", "empty_cache_twice", "statistics")
    return " ".join([needs(case), *(["memory_stats"] * told)])


def _slow(case: Case) -> bool:
    return case.get("size") == "megabytes"


def _default(device: torch.device) -> torch.Stream:
    return host.in_thread(lambda: torch.accelerator.current_stream(device))


class Freed:
    """A tensor of stream `own` that is read by a late stream, freed, and replaced."""

    def __init__(self, case: Case, device: torch.device) -> None:
        self.case, self.device = case, place(case, device)
        self.count = SIZES[case["size"]]
        self.own = torch.Stream(self.device) if case["own"] == "new" else _default(self.device)
        self.told = [torch.Stream(self.device) for _ in range(STREAMS[case["streams"]])]
        self.late = self.told[{"first": 0, "second": 1}.get(case["late"], -1)]
        self.values, self.others = (host.values((self.count,)) for _ in range(2))
        self.held: list[torch.Tensor] = []

    def upload(self) -> None:
        with order.on(self.own):
            self.held = [host.upload(self.values, self.device)]
            self.own.synchronize()

    def record(self) -> None:
        """Tells of each stream; a future does so where it is waited for."""
        tensor = self.held[0]
        through = {"view": tensor[self.count // 2 :], "other_dtype": tensor.view(torch.int32)}
        told_of = through.get(self.case["through"], tensor)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=[self.device])
        future.set_result(told_of)
        for stream in self.told:
            if self.case["by"] == "record_stream":
                told_of.record_stream(stream)
                continue
            with order.on(stream):
                future.wait()

    def free(self) -> None:
        how = self.case["freed"]
        if how == "in_thread":
            host.in_thread(self.held.clear)
        elif how == "set":
            self.held[0].set_()  # type: ignore[call-overload]  # of nothing
        elif how == "resize":
            self.held[0].untyped_storage().resize_(0)
        self.held.clear()
        # What is recorded on them is over: nothing but the late stream keeps the memory.
        for stream in self.told:
            if stream != self.late:
                stream.synchronize()

    def between(self) -> None:
        what = self.case["between"]
        for _ in range(2 if what == "empty_cache_twice" else 1):
            if what.startswith("empty_cache"):
                torch.accelerator.empty_cache()
        if what == "statistics":
            torch.accelerator.memory_stats(self.device)
            gc.collect()
        elif what == "errors":
            fail(self.device)

    def replace(self) -> None:
        """New tensors on `own`, each written, with other values than those that are read."""
        kind = self.case["fresh"]
        source = self.others.view(torch.uint8) if kind == "bytes" else self.others
        made = []
        with order.on(self.own):
            for _ in range(FRESH[self.case["size"]]):
                part = source[: len(source) // 2] if kind == "half" else source
                made.append(torch.empty(part.shape, dtype=part.dtype, device=self.device))
                made[-1].copy_(part)
        self.own.synchronize()

    def read_late(self, load: order.Load) -> torch.Tensor:
        """Returns what the late stream reads."""
        recorded = self.case["recorded"]
        self.upload()
        seen = host.poisoned((self.count,), self.values.dtype, self.device)
        if recorded in ("before_any_work", "twice"):
            self.record()
        load.hold()
        if recorded == "behind_work":
            self.record()
        with order.on(self.late):
            seen.copy_(self.held[0])
        if recorded in ("after_use", "twice"):
            self.record()
        load.mark()  # from here on, whoever waits is right, too
        self.free()
        self.between()
        self.replace()
        return order.read(self.late, seen)


def _told_fits(case: Case) -> bool:
    return case.get("late") != "second" or case.get("streams") != "one"


@each_case(DIMENSIONS, _told_fits, needs=_words, slow=_slow, quick=8)
@clause("MEM-514", needs="accelerator stream event")
def test_recorded_memory(device: torch.device, case: Case) -> None:
    freed = Freed(case, device)
    what = f"what the late stream reads, {line(case)}"
    order.show(freed.late, lambda load: check.tensor(what, freed.read_late(load), freed.values))


ROUNDS = 40


@each_case({"size": tuple(SIZES), "device": DIMENSIONS["device"], "stream": ("current", "other"),
            "freed": ("del", "in_thread"), "recorded": ("no", "yes"),
            "between": ("nothing", "empty_cache", "errors")},
           needs=lambda case: needs(case) + " memory_stats", quick=4)  # fmt: skip
@clause("MEM-520", needs="accelerator memory_stats stream")
def test_statistics_over_rounds(device: torch.device, case: Case) -> None:
    """What is in use is the same after each round, and what is reserved does not grow with them."""
    device = place(case, device)
    count, other = SIZES[case["size"]], torch.Stream(device)
    stream = other if case["stream"] == "other" else torch.accelerator.current_stream(device)

    def figures() -> tuple[int, int]:
        order.settle(device)
        stats = torch.accelerator.memory
        return stats.memory_allocated(device), stats.memory_reserved(device)

    def round_() -> None:
        held = [torch.empty(count, device=device) for _ in range(2)]
        if case["recorded"] == "yes":
            held[0].record_stream(torch.Stream(device))
        if case["freed"] == "in_thread":
            host.in_thread(held.clear)
        held.clear()
        if case["between"] == "empty_cache":
            torch.accelerator.empty_cache()
        elif case["between"] == "errors":
            fail(device)

    with order.on(stream):
        round_()
        round_()
        order.settle(device)
        round_()
        first = figures()
        for _ in range(ROUNDS):
            round_()
            order.settle(device)
        round_()
        last = figures()
    check.equal(f"memory_allocated() after {ROUNDS} rounds, {line(case)}", last[0], first[0])
    most = first[1] + 8 * 2 * 4 * count
    check.that(f"memory_reserved() after {ROUNDS} rounds, {line(case)}", last[1] <= most,
               expected=f"at most {most}", seen=last[1])  # fmt: skip
