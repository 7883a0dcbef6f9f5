# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How much of the suite a run was: its tier, its layers, and whether all of that is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from . import text
from .model import Judged, as_count, as_text

TIERS = ("quick", "thorough")
WHOLE = ("", "1/1", "None")  # what the header says of the shard where there is but one
DECLARED = "torch_declared"  # tests that the judge adds; tbk-run does not plan them


@dataclass(frozen=True)
class Extent:
    """A complete run has recorded every test of its tier; else `missing` says what it has not."""

    tier: str
    layers: tuple[str, ...]
    planned: int
    recorded: int
    missing: tuple[str, ...] = ()
    simulated: bool = False

    @property
    def partial(self) -> bool:
        return bool(self.missing)

    @property
    def words(self) -> str:
        """Returns what stands behind the verdict in every headline: "quick", or "quick, partial,
        simulated".
        """
        more = ("partial",) * self.partial + ("simulated",) * self.simulated
        return ", ".join((self.tier, *more))

    @property
    def whole(self) -> bool:
        """Returns whether the run can say that a device conforms."""
        return self.tier == TIERS[-1] and not self.partial and not self.simulated


def tier_of(header: Mapping[str, object]) -> str:
    """Returns the lowest of its layers; a file from before there were tiers is quick."""
    layers = header.get("layers")
    stated = {
        as_text(one.get("tier"))
        for one in (header, *(layers.values() if isinstance(layers, Mapping) else ()))
        if isinstance(one, Mapping)
    }
    return TIERS[-1] if stated == {TIERS[-1]} else TIERS[0]


def _layers(header: Mapping[str, object]) -> tuple[str, ...]:
    layers = header.get("layers")
    found = list(layers) if isinstance(layers, Mapping) else [header.get("layer")]
    return tuple(text.line(str(one), 20) for one in found if one)


def selected_words(header: Mapping[str, object]) -> tuple[str, ...]:
    """Returns what of the suite was asked for, where that is not all of it."""
    selection = header.get("selection")
    found = []
    if isinstance(selection, list) and selection:
        named = ", ".join(text.line(str(item), 60) for item in selection[:5])
        more = f" and {len(selection) - 5} more" if len(selection) > 5 else ""
        found.append(f"--only {named}{more}")
    shard = str(header.get("shard") or "")
    if shard not in WHOLE:
        found.append(f"shard {text.line(shard, 20)}")
    return tuple(found)


def _never_begun(header: Mapping[str, object]) -> list[str]:
    """Returns the layers that were asked for, where the run ended before them."""
    named = header.get("not_begun")
    words = named if isinstance(named, list) else []
    return [f"the {text.line(str(word), 20)} layer was never begun" for word in words]


def _devices(header: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yields what the devices of the run said of themselves, in any of its layers."""
    layers = header.get("layers")
    parts = (header, *(layers.values() if isinstance(layers, Mapping) else ()))
    for part in parts:
        named = part.get("devices") if isinstance(part, Mapping) else None
        found = named if isinstance(named, list) else []
        yield from (device for device in found if isinstance(device, Mapping))


def simulated(header: Mapping[str, object], footer: Mapping[str, object]) -> bool:
    """Returns whether a device of the run, of any of its layers, said that it is simulated."""
    told = any(device.get("simulated") is True for device in _devices(header))
    return told or footer.get("simulated") is True


def drivers(header: Mapping[str, object]) -> list[str]:
    """Returns what the devices of the run say that they run on, each of it once."""
    told = (text.line(str(device.get("driver") or ""), 500) for device in _devices(header))
    return list(dict.fromkeys(words for words in told if words))


def extent(judged: Judged) -> Extent:
    """Returns what the file says of itself: its plan, what it recorded, and what it left
    unanswered.
    """
    mine = Counter(test.verdict for test in judged.tests if test.suite != DECLARED)
    return extent_of(judged.header, judged.footer, mine)


def extent_of(
    header: Mapping[str, object], footer: Mapping[str, object], verdicts: Mapping[str, int]
) -> Extent:
    """Returns the same of a file of which only the number of tests by verdict is known."""
    recorded = sum(verdicts.values())
    planned = max(as_count(header.get("planned")), as_count(footer.get("planned")))
    missing = [*selected_words(header), *_never_begun(header)]
    if recorded < planned:
        missing.append(f"{recorded:,} of {planned:,} planned tests are recorded")
    for verdict, how in (("left-out", "left out by the budget"), ("not-reached", "not reached")):
        if count := verdicts.get(verdict, 0):
            missing.append(f"{text.count_words(count, 'test')} {how}")
    return Extent(
        tier_of(header),
        _layers(header),
        planned,
        recorded,
        tuple(missing),
        simulated(header, footer),
    )
