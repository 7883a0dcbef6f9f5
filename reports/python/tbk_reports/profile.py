# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How much of a profile a run shows to be met, and what to write next for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import text
from .clauses import areas
from .facts import C, meaning
from .model import FAILING, Judged, Test, as_text
from .operators import Row, lacked, operators
from .words import HOLDING

NEXT = 10
SERVES = frozenset({"native", "composite"})
# Words of `needs` that a limit or the kind of a device decides, and nothing that is written.
FIXED = frozenset(
    {"granularity", "max_allocation", "memory_bytes", "two_devices", "exclusive", "host_visible",
     "flat_address", "simulated", "philox", "cross_device_wait", "fork", "privateuse1", "async",
     "oom", "addresses", "cow", "subnormals"}
)  # fmt: skip


@dataclass
class Unlock:
    """Something to write: what of the profile waits for it in this run."""

    name: str
    kind: str  # function, kernel, operator or part of PyTorch
    clauses: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)  # operators with a dtype

    @property
    def weight(self) -> int:
        return len(self.clauses) + len(self.pairs)

    @property
    def operators(self) -> int:
        return len({operator for operator, _ in self.pairs})

    @property
    def words(self) -> str:
        """Returns what it unlocks: "12 clauses, 3 operators in 9 dtypes of them"."""
        told = []
        if self.clauses:
            told.append(text.count_words(len(self.clauses), "clause"))
        if self.pairs:
            count = text.count_words(self.operators, "operator")
            told.append(f"{count} ({text.count_words(len(self.pairs), 'pair')} with a dtype)")
        return " and ".join(told)


@dataclass(frozen=True)
class Share:
    """A profile beside a run. Of a list of all operators those are counted that the run knows."""

    name: str
    says: str
    clauses: Mapping[str, int]  # holds, fails, not shown
    operators: Mapping[str, int]  # native, falls short, not tested
    next: tuple[Unlock, ...]

    @property
    def met(self) -> bool:
        counted = (self.clauses, self.operators)
        return all(sum(one.values()) == next(iter(one.values())) for one in counted)

    @property
    def headline(self) -> str:
        told = []
        for noun, counted in (("clause", self.clauses), ("operator", self.operators)):
            (first, held), *others = counted.items()
            whole = text.count_words(sum(counted.values()), noun)
            rest = ", ".join(f"{count:,} {word}" for word, count in others if count)
            told.append(f"{held:,} of {whole} {first}" + (f" ({rest})" if rest else ""))
        verdict = "met" if self.met else "not met"
        return f"{self.name} is {verdict}: {'; '.join(told)}"


def share(judged: Judged) -> Share | None:
    """Returns how much of its profile a run meets; None where it was asked for none."""
    profile = judged.profile
    if not profile:
        return None
    asked = set(map(as_text, profile["clauses"]))
    return Share(
        text.line(as_text(profile["name"]), 60),
        text.line(as_text(profile["text"]), 200),
        _clauses(asked, judged.tests),
        _operators(profile, judged.tests),
        _next(asked, profile, judged.tests),
    )


def _clauses(asked: set[str], tests: Iterable[Test]) -> dict[str, int]:
    states = {one.id: one.state for area in areas(tests) for one in area.clauses}
    told = [states.get(one, "") for one in asked]
    holds = sum(one in HOLDING for one in told)
    fails = sum(one in FAILING - {"not-reached"} or one == "xfail" for one in told)
    return {"hold": holds, "fail": fails, "not shown or not tested": len(told) - holds - fails}


def _asks(profile: Mapping[str, Any], operator: str, dtype: str) -> bool:
    wanted, dtypes = profile["operators"], profile["dtypes"]
    return (wanted is None or operator in wanted) and (
        dtypes is None or not dtype or dtype in dtypes
    )


def _operators(profile: Mapping[str, Any], tests: Iterable[Test]) -> dict[str, int]:
    rows = {row.name: row for row in operators(tests).rows}
    names = list(rows) if profile["operators"] is None else profile["operators"]
    told = [_served(profile, rows.get(name)) for name in names]
    return {
        "on the device": told.count("served"),
        "failing, refused, missing or falling back": told.count("short"),
        "not tested": told.count(""),
    }


def _served(profile: Mapping[str, Any], row: Row | None) -> str:
    """Returns "served" where each dtype of the profile that the run knows is; empty where it knows
    none."""
    cells = row.cells.items() if row is not None else ()
    mine = [cell for dtype, cell in cells if _asks(profile, row.name if row else "", dtype)]
    if not mine:
        return ""
    return "served" if all(one.served in SERVES and not one.fails for one in mine) else "short"


def _next(asked: set[str], profile: Mapping[str, Any], tests: Iterable[Test]) -> tuple[Unlock, ...]:
    found: dict[str, Unlock] = {}
    for test in tests:
        word = test.needs_missing if test.verdict == "unsupported" else ""
        if word and word[0] != "!" and word not in FIXED and test.clause in asked:
            one = found.setdefault(word, Unlock(*_named(word, test.layer)))
            one.clauses.add(test.clause)
        operator, dtype = (as_text(test.facts.get(name)) for name in ("operator", "dtype"))
        if operator and _asks(profile, operator, dtype):
            for name in lacked(test)[0]:
                one = found.setdefault(f"aten::{name}", Unlock(f"aten::{name}", "operator"))
                one.pairs.add((operator, dtype))
    ranked = sorted(found.values(), key=lambda one: (-one.weight, one.name))
    return tuple(ranked[:NEXT])


def _named(word: str, layer: str) -> tuple[str, str]:
    """Returns a thing to write and its kind, from a word of `needs`."""
    if word.startswith("op:"):
        return word.removeprefix("op:"), "kernel"
    if word.startswith("dtype:"):
        return f"{word.removeprefix('dtype:').lower()} in kernels", "kernel"
    if layer == "torch":
        return f"{word}: {meaning(word, layer) or 'of PyTorch'}", "part of PyTorch"
    means, how = C.get(word, ("", ""))
    name = how.split("`")[1] if "`" in how else word
    return (f"{name}: {means}" if means else name), "function"


def share_document(found: Share | None) -> dict[str, Any] | None:
    """Returns the same as JSON."""
    if found is None:
        return None
    return {
        "name": found.name,
        "met": found.met,
        "headline": found.headline,
        "clauses": dict(found.clauses),
        "operators": dict(found.operators),
        "next": [
            {"name": one.name, "kind": one.kind, "clauses": sorted(one.clauses),
             "operators": sorted({operator for operator, _ in one.pairs}),
             "pairs": len(one.pairs)}
            for one in found.next
        ],
    }  # fmt: skip
