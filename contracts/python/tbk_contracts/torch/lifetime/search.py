# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs sequences until one finds something, and makes that one smaller."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tbk_contracts.torch.lifetime.calls import SLOTS, Call
from tbk_contracts.torch.lifetime.draw import draw
from tbk_contracts.torch.lifetime.execute import Device
from tbk_contracts.torch.lifetime.finding import NoRoom, Wrong
from tbk_contracts.torch.lifetime.model import legal

TRIES = 3  # of a smaller sequence, of which most must show it: what needs luck is no better
REPLAYS = 10
SHRINK_S = 10.0
CONTROLS = 4  # one in so many sequences is run again without what orders it
MEMORY = frozenset({"MEM-503", "MEM-509", "MEM-514", "MEM-518"})
# What gives memory back to the device for good, which work without an order may still use.
UNSAFE = frozenset({"record", "empty_cache", "too_much", "settle"})


@dataclass
class Finding:
    """The smallest sequence that shows it, and how often of REPLAYS it did when run again."""

    wrong: Wrong
    calls: list[Call]
    number: int
    length: int
    shown: int


@dataclass
class Result:
    """What a run of sequences has come to."""

    sequences: int = 0
    no_room: int = 0
    controls: int = 0
    """Sequences that were run without telling the allocator of other streams."""
    controls_shown: int = 0
    """How many of them read what was not theirs."""
    finding: Finding | None = None
    seconds: float = field(default=0.0)


def attempt(device: Device, calls: Sequence[Call], seed: str) -> Wrong | None:
    """Returns what the sequence shows in one run."""
    try:
        device.run(calls, seed)
    except Wrong as wrong:
        return wrong
    except NoRoom:
        return None
    return None


def shrink(device: Device, calls: list[Call], wrong: Wrong, seed: str) -> tuple[list[Call], Wrong]:
    """Returns a sequence from which nothing can be left out, as far as time allows."""
    until = time.monotonic() + SHRINK_S
    for slot in SLOTS:  # whole tensors first: without its end a beginning is seldom legal
        fewer = [call for call in calls if call.slot != slot]
        if fewer and len(fewer) < len(calls) and legal(fewer) and time.monotonic() < until:
            seen = _repeat(device, fewer, wrong.clause, seed)
            calls, wrong = (calls, wrong) if seen is None else (fewer, seen)
    size = len(calls) // 2
    while size:
        begin = 0
        while begin < len(calls) and time.monotonic() < until:
            fewer = calls[:begin] + calls[begin + size :]
            seen = _repeat(device, fewer, wrong.clause, seed) if fewer and legal(fewer) else None
            if seen is None:
                begin += size
            else:
                calls, wrong = fewer, seen
        size //= 2
    return calls, wrong


def _repeat(device: Device, calls: list[Call], clause: str, seed: str) -> Wrong | None:
    found: list[Wrong] = []
    for left in reversed(range(TRIES)):
        seen = attempt(device, calls, seed)
        if seen is not None and seen.clause == clause:
            found.append(seen)
        if 2 * len(found) > TRIES:
            return found[0]
        if 2 * (len(found) + left) < TRIES:
            break
    return None


def _control(device: Device, calls: list[Call], seed: str, result: Result) -> None:
    """Runs the sequence without the calls that tell the allocator of other streams: what is then
    read that was not theirs shows that a fault would have been seen."""
    fewer = [call for call in calls if call.name not in UNSAFE]
    if not any(call.name == "record" for call in calls):
        return
    result.controls += 1
    try:
        device.run(fewer, seed, checked=False)
    except NoRoom:
        pass
    except Wrong as wrong:
        result.controls_shown += wrong.clause in MEMORY


def search(
    device: Device,
    words: Collection[str],
    seed: int,
    numbers: range,
    *,
    until: float = float("inf"),
    begin: Callable[[int, list[Call]], object] = lambda *_: None,
) -> Result:
    """Runs these sequences of a seed, until `until` on the monotonic clock or the first finding.
    `begin` is told of each before it runs."""
    result, started = Result(), time.monotonic()
    for number in numbers:
        if time.monotonic() >= until:
            break
        calls, name = draw(seed, number, words, device.total), f"{seed}/{number}"
        begin(number, calls)
        result.sequences += 1
        try:
            device.run(calls, name)
        except NoRoom:
            result.no_room += 1
        except Wrong as wrong:
            smaller, seen = shrink(device, calls, wrong, name)
            shown = sum(attempt(device, smaller, name) is not None for _ in range(REPLAYS))
            result.finding = Finding(seen, smaller, number, len(calls), shown)
            break
        if device.asynchronous and number % CONTROLS == 0:
            _control(device, calls, name, result)
    result.seconds = time.monotonic() - started
    return result
