# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Everything that waits: for which stream of which device, how often, from which thread, after what
and while what is current. Each time the outcome is looked at, behind work that holds the stream."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.cell import Cell
from tbk_contracts.torch.extremes import fail, needs, place
from tbk_contracts.torch.pairs import Case, each_case, line

COST = 27

NEEDS = "accelerator stream event"
SLOW_S = 60.0
SHORTER = 4  # by which the load of one of several rounds is

WHERE = {
    "stream": ("default", "new", "priority", "fortieth"),
    "device": ("first", "second"),
    "current": ("same", "other"),
    "thread": ("main", "other"),
    "times": ("1", "12"),
    "state": ("fresh", "after_errors"),
}
# How often the same event was recorded before.
EVENTS = {"timing": ("no", "yes"), "recorded": ("0", "1", "2", "12"), **WHERE}


def _words(case: Case) -> str:
    words = needs({**case, "stream": ""}).split() + ["pinned"] * (case.get("reader") == "pinned")
    words += ["event_timing"] * (case.get("timing") == "yes")
    return " ".join(words)


def _slow(case: Case) -> bool:
    return case.get("times") == "12"


def _stream(case: Case, device: torch.device) -> torch.Stream:
    if case["stream"] == "default":
        return host.in_thread(lambda: torch.accelerator.current_stream(device))
    if case["stream"] == "priority":
        return torch.Stream(device, priority=-1)
    made = [torch.Stream(device) for _ in range(40 if case["stream"] == "fortieth" else 1)]
    return made[-1]


def _event(case: Case, device: torch.device) -> torch.Event:
    event = torch.Event(device, enable_timing=case["timing"] == "yes")
    idle = torch.Stream(device)
    for _ in range(int(case["recorded"])):
        event.record(idle)
        event.synchronize()
    return event


Round = Callable[[order.Load, Cell, torch.Stream, torch.Stream], None]


def _show(case: Case, device: torch.device, one: Round) -> None:
    """`one` runs with what the case says, in each round behind a load of its own."""
    device = place(case, device)
    stream = _stream(case, device)
    other = torch.Stream(device)

    def rounds(load: order.Load) -> None:
        times = int(case["times"])
        load.seconds /= SHORTER if times > 1 else 1
        if case["state"] == "after_errors":
            fail(device)
        for index in range(times):
            # What goes wrong each so many times must not fall on the same call of every round.
            for _ in range(index % 2):
                torch.accelerator.synchronize(device)
            cell = Cell(device)
            load.hold()
            cell.write(stream)
            if case["current"] == "same":
                with order.on(stream):
                    one(load, cell, stream, other)
            else:
                one(load, cell, stream, other)

    def program(load: order.Load) -> None:
        if case["thread"] == "other":
            host.in_thread(lambda: rounds(load))
        else:
            rounds(load)

    order.show(stream, program)


def _seen_after(wait: Callable[[], object], load: order.Load, cell: Cell, other: torch.Stream,
                what: str) -> None:  # fmt: skip
    load.mark()
    wait()
    cell.check_value(what, other)


@each_case(WHERE, needs=_words, slow=_slow, quick=3)
@clause("STR-509", needs=NEEDS)
def test_stream_synchronize(device: torch.device, case: Case) -> None:
    what = f"after Stream.synchronize, {line(case)}"
    _show(case, device, lambda load, cell, stream, other:
          _seen_after(stream.synchronize, load, cell, other, what))  # fmt: skip


@each_case(WHERE, needs=_words, slow=_slow, quick=3)
@clause("STR-511", needs=NEEDS)
def test_device_synchronize(device: torch.device, case: Case) -> None:
    what = f"after synchronize of the device, {line(case)}"
    _show(case, device, lambda load, cell, stream, other:
          _seen_after(lambda: torch.accelerator.synchronize(stream.device), load, cell, other,
                      what))  # fmt: skip


def _asked(query: Callable[[], bool], load: order.Load, cell: Cell, other: torch.Stream,
           what: str) -> None:  # fmt: skip
    """What was enqueued is there as soon as the answer is yes."""
    for _ in range(5):
        if query():
            cell.check_value(what, other)
    load.mark()
    order.until(query, cell.value.device)
    cell.check_value(what, other)


@each_case(WHERE, needs=_words, slow=_slow, quick=3)
@clause("STR-508", needs=NEEDS)
def test_stream_query(device: torch.device, case: Case) -> None:
    what = f"once Stream.query is true, {line(case)}"
    _show(case, device, lambda load, cell, stream, other:
          _asked(stream.query, load, cell, other, what))  # fmt: skip


@each_case(EVENTS, needs=_words, slow=_slow, quick=4)
@clause("EVT-503", needs=NEEDS)
def test_event_query(device: torch.device, case: Case) -> None:
    what = f"once Event.query is true, {line(case)}"

    def one(load: order.Load, cell: Cell, stream: torch.Stream, other: torch.Stream) -> None:
        event = _event(case, stream.device)
        event.record(stream)
        _asked(event.query, load, cell, other, what)

    _show(case, device, one)


ASKED = {name: WHERE[name] for name in ("stream", "device", "current", "thread", "state")}


def _asks_at_once(case: Case, device: torch.device, query: Callable[[torch.Stream], bool],
                  *, by_event: bool) -> None:  # fmt: skip
    """A question does not wait for the stream, at least once in several longer and longer loads."""
    device = place(case, device)
    stream = _stream(case, device)

    def ask() -> bool | None:
        if case["state"] == "after_errors":
            fail(device)
        if case["current"] == "other":
            return order.waits(stream, lambda: query(stream), by_event=by_event)
        with order.on(stream):
            return order.waits(stream, lambda: query(stream), by_event=by_event)

    waits = host.in_thread(ask, SLOW_S) if case["thread"] == "other" else ask()
    if waits is None:
        query(stream)
        check.evidence(check.NOT_SHOWN if order.asynchronous(device) else check.TRIVIAL,
                       "the stream was not held until the question")  # fmt: skip
    check.that(f"a question, {line(case)}", not waits, expected="an answer while the stream works",
               seen="an answer when the work is complete, each time")  # fmt: skip


@each_case(ASKED, needs=_words, quick=4)
@clause("STR-508", needs=NEEDS)
def test_stream_query_does_not_wait(device: torch.device, case: Case) -> None:
    _asks_at_once(case, device, lambda stream: stream.query(), by_event=True)


@each_case({"timing": EVENTS["timing"], "recorded": EVENTS["recorded"], **ASKED}, needs=_words,
           quick=4)  # fmt: skip
@clause("EVT-510", needs=NEEDS)
def test_event_query_does_not_wait(device: torch.device, case: Case) -> None:
    event = _event(case, place(case, device))

    def query(stream: torch.Stream) -> bool:
        event.record(stream)
        return event.query()

    _asks_at_once(case, device, query, by_event=False)


@each_case(EVENTS, needs=_words, slow=_slow, quick=3)
@clause("EVT-509", needs=NEEDS)
def test_event_synchronize(device: torch.device, case: Case) -> None:
    what = f"after Event.synchronize, {line(case)}"

    def one(load: order.Load, cell: Cell, stream: torch.Stream, other: torch.Stream) -> None:
        event = _event(case, stream.device)
        event.record(stream)
        _seen_after(event.synchronize, load, cell, other, what)

    _show(case, device, one)


# `waits`: how many other streams wait for the same event before.
@each_case({"reader": ("new", "default"), "waits": ("0", "1", "12"), **EVENTS},
           needs=_words, slow=_slow, quick=4)  # fmt: skip
@clause("EVT-507", needs=NEEDS)
def test_event_wait(device: torch.device, case: Case) -> None:
    what = f"what a stream that waits reads, {line(case)}"

    def one(load: order.Load, cell: Cell, stream: torch.Stream, other: torch.Stream) -> None:
        reader = other if case["reader"] == "new" else _stream({"stream": "default"}, stream.device)
        event = _event(case, stream.device)
        event.record(stream)
        for _ in range(int(case["waits"])):
            event.wait(torch.Stream(stream.device))
        event.wait(reader)
        cell.read(reader)
        load.mark()
        cell.check_seen(what, reader)

    _show(case, device, one)


@each_case({"reader": ("item", "tolist", "pageable", "pinned", "non_blocking"), **WHERE},
           lambda case: case.get("current") != "other",
           needs=_words, slow=_slow, quick=5)  # fmt: skip
@clause("CPY-502", needs=NEEDS)
def test_blocking_reads(device: torch.device, case: Case) -> None:
    """What the host reads by way of the current stream, at once. One that need not wait is right
    once the stream is synchronised."""
    kind = case["reader"]

    def one(load: order.Load, cell: Cell, stream: torch.Stream, _: torch.Stream) -> None:
        load.mark()
        if kind == "item":
            seen = torch.stack([torch.tensor(each.item()) for each in cell.value[:1]])
        elif kind == "tolist":
            seen = torch.tensor(cell.value.tolist())
        else:
            pinned = kind == "pinned"
            seen = torch.full(cell.new.shape, torch.nan).pin_memory() if pinned else (
                torch.full(cell.new.shape, torch.nan))  # fmt: skip
            seen.copy_(cell.value, non_blocking=kind == "non_blocking")
            if kind == "non_blocking":
                stream.synchronize()
        check.tensor(f"what the host reads, {line(case)}", seen.clone(), cell.new[: len(seen)])

    _show(case, device, one)


@each_case({"priority": ("none", "-1000", "-2", "-1", "0"), "device": WHERE["device"],
            "thread": WHERE["thread"], "current": ("default", "other"), "state": WHERE["state"]},
           needs=_words, quick=5)  # fmt: skip
@clause("STR-518", needs="accelerator stream")
def test_new_streams(device: torch.device, case: Case) -> None:
    device = place(case, device)
    default = host.in_thread(lambda: torch.accelerator.current_stream(device))
    named = {} if case["priority"] == "none" else {"priority": int(case["priority"])}

    def made() -> list[torch.Stream]:
        if case["state"] == "after_errors":
            fail(device)
        if case["current"] == "default":
            return [torch.Stream(device, **named) for _ in range(40)]
        with order.on(torch.Stream(device)):
            return [torch.Stream(device, **named) for _ in range(40)]

    for stream in host.in_thread(made) if case["thread"] == "other" else made():
        check.equal(f"the device of a new stream, {line(case)}", stream.device, device)
        check.that(f"a new stream, {line(case)}", stream != default,
                   expected="not the default one", seen=stream)  # fmt: skip
