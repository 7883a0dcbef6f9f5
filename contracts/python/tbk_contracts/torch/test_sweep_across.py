# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The order of a copy between devices: with what its source's and its destination's streams do
before it and behind it, in both directions, where it is of bytes and where more has to be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.pairs import Case, each_case, line
from tbk_contracts.torch.test_copy_devices import current

COST = 14

SHAPE = (120, 80)
FORMS: dict[str, Callable[[torch.Tensor, torch.device], torch.Tensor]] = {
    "same": lambda values, there: values.to(there),
    "converted": lambda values, there: values.to(torch.int32).to(there),
    "transposed": lambda values, there: values.t().contiguous().to(there).t(),
    "steps": lambda values, there: values.repeat_interleave(2, dim=1).to(there)[:, ::2],
}
"""How the destination lies in memory, and of which dtype it is."""


def whole() -> torch.Tensor:
    """Returns numbers on the host that every dtype holds."""
    return torch.randint(-1000, 1000, SHAPE, generator=host.seed()).float()


@dataclass
class Streams:
    """`giving` and `taking` are current while the devices copy; `touching` uses one end of it."""

    giving: torch.Stream
    taking: torch.Stream
    touching: torch.Stream


@dataclass
class Ends:
    """Both ends of a copy, other values for each, and a place into which the target is read."""

    source: torch.device
    target: torch.device
    form: str
    old: torch.Tensor = field(default_factory=whole)
    new: torch.Tensor = field(default_factory=whole)
    before: torch.Tensor = field(default_factory=whole)

    def __post_init__(self) -> None:
        self.given, self.update = self.old.to(self.source), self.new.to(self.source)
        self.taken = FORMS[self.form](self.before, self.target)
        self.other = self.new.to(self.taken.dtype).to(self.target)
        self.seen = torch.full(SHAPE, -7777).to(self.taken.dtype).to(self.target)


def write_source(ends: Ends) -> None:
    ends.given.copy_(ends.update)


def write_target(ends: Ends) -> None:
    ends.taken.copy_(ends.other)


def read_target(ends: Ends) -> None:
    ends.seen.copy_(ends.taken)


@dataclass(frozen=True)
class Hazard:
    """What uses one end, whether before the copy, and the name of the values that the target has
    afterwards, or that were read there."""

    touch: Callable[[Ends], None]
    is_before: bool
    at_source: bool
    right: str


HAZARDS = {
    "source written before": Hazard(write_source, True, True, "new"),
    "target written before": Hazard(write_target, True, False, "old"),
    "target read before": Hazard(read_target, True, False, "before"),
    "source written after": Hazard(write_source, False, True, "old"),
    "target written after": Hazard(write_target, False, False, "new"),
    "target read after": Hazard(read_target, False, False, "old"),
}


def outcome(load: order.Load, case: Case, ends: Ends, streams: Streams) -> torch.Tensor:
    """Returns what the hazard's end holds, in float32."""
    hazard = HAZARDS[case["hazard"]]
    here = ends.source if case["current"] == "source" else ends.target

    def touch() -> None:
        with order.on(streams.touching):
            hazard.touch(ends)

    load.hold()
    load.mark()
    if hazard.is_before:
        touch()
    with current(here, streams.giving, streams.taking):
        ends.taken.copy_(ends.given, non_blocking=case["blocking"] == "no")
    if not hazard.is_before:
        touch()
    for stream in (streams.giving, streams.taking, streams.touching):
        stream.synchronize()
    seen = ends.seen if hazard.touch is read_target else ends.taken
    return order.read(streams.taking, seen).float()


def held_by(hazard: Hazard, streams: Streams) -> torch.Stream:
    """Returns the stream that is late: the one that uses an end, or behind which the copy is."""
    if hazard.is_before:
        return streams.touching
    return streams.taking if hazard.at_source else streams.giving


@each_case(
    {"hazard": tuple(HAZARDS), "first": ("0", "1"), "form": tuple(FORMS),
     "current": ("source", "target"), "blocking": ("no", "yes")},
    needs=lambda case: "dtype:int32" if case.get("form") == "converted" else "",
    quick=12,
)  # fmt: skip
@clause("CPY-507", needs="two_devices stream")
def test_an_end_of_a_copy_is_used_in_order(devices: list[torch.device], case: Case) -> None:
    hazard, first = HAZARDS[case["hazard"]], int(case["first"])
    source, target = devices[first], devices[1 - first]
    giving, taking = torch.Stream(source), torch.Stream(target)
    at = source if hazard.at_source else target
    streams = Streams(giving, taking, giving if hazard.at_source else taking)
    late = held_by(hazard, streams)
    apart = (
        Streams(torch.Stream(source), torch.Stream(target), streams.touching)
        if hazard.is_before
        else Streams(giving, taking, torch.Stream(at))
    )

    def seen(load: order.Load, streams: Streams) -> tuple[torch.Tensor, torch.Tensor]:
        ends = Ends(source, target, case["form"])
        return outcome(load, case, ends, streams), getattr(ends, hazard.right)

    order.show(
        late,
        lambda load: check.tensor(f"what is seen, {line(case)}", *seen(load, streams)),
        lambda load: not torch.equal(*seen(load, apart)),
    )
