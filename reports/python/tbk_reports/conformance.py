# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a judged run amounts to as a claim: one word, why it is no better, and a row a clause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from . import text
from .clauses import Clause, areas, need_words
from .extent import Extent, extent
from .model import FAILING, Judged, Test, grouped
from .profile import share
from .words import SIMULATED

# Worst first: the word of a statement is the first of these that is true of it.
NO_VERDICT = "no verdict"
NOT_CONFORMANT = "not conformant"
OTHER_SUITE = "suite not known"
PARTIAL = "partial"
ON_SIMULATOR = "simulated"
QUICK = "quick only"
PROFILE = "profile not shown"
WITH_WAIVERS = "conformant with waivers"
CONFORMANT = "conformant"
WORDS = (
    NO_VERDICT, NOT_CONFORMANT, OTHER_SUITE, PARTIAL, ON_SIMULATOR, QUICK, PROFILE, WITH_WAIVERS,
    CONFORMANT,
)  # fmt: skip
GOOD = frozenset({CONFORMANT, WITH_WAIVERS})

# What a statement says of a clause, in the order in which a reader wants to know it.
STATES: Mapping[str, str] = {
    "violated": "a test of it failed, crashed, hung, or was not reached",
    "recommendation not met": "a should, of which a check failed",
    "waived": "fails as a waiver says, until the date beside it",
    "proven": "checked, and it holds",
    "proven in part": "some of its tests passed; others could not be run, or showed nothing",
    "trivially true": "holds, and this device could not have shown the fault",
    "not shown": "its tests ran, and proved nothing on this device",
    "not tested": "no test of it was run",
    "not testable": "no test can show it, or nobody may rely on it; the spec says why",
}
_BY_STATE = {
    "pass": "proven",
    "partly": "proven in part",
    "trivial": "trivially true",
    "not-shown": "not shown",
    "unsupported": "not tested",
    "left-out": "not tested",
    "warning": "recommendation not met",
    "xfail": "waived",
}
SHOWN = frozenset({"proven", "proven in part", "trivially true", "waived"})
LAYERS = {"c": "C", "torch": "PyTorch"}


@dataclass(frozen=True)
class Promise:
    """A clause of the spec, as it is wanted here."""

    id: str
    level: str
    profile: str
    sentence: str
    testable: bool
    reason: str = ""
    """Why no test can show it."""


@dataclass(frozen=True)
class Row:
    """What a statement says of one clause."""

    id: str
    state: str
    level: str
    profile: str
    sentence: str
    tests: int
    why: str = ""
    until: str = ""


@dataclass(frozen=True)
class Claim:
    """What is claimed, and what the spec of the judge knows of it."""

    profile: str = ""
    """Empty: all that the backend declares."""
    asked: Mapping[str, Any] | None = None
    """The profile as data: its clauses, operators and dtypes."""
    promises: Sequence[Promise] = ()
    """All clauses of the layers that ran."""
    doubts: Sequence[str] = ()
    """Why it is not known which suite this was."""


@dataclass(frozen=True)
class Conformance:
    """A judged run, held against a claim."""

    judged: Judged
    claim: Claim = field(default_factory=Claim)

    @cached_property
    def extent(self) -> Extent:
        return extent(self.judged)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Returns a row for each clause of the spec and of the records, by id."""
        by_clause = grouped(self.judged.tests, lambda test: test.clause)
        said = {one.id: one for area in areas(self.judged.tests) for one in area.clauses}
        rows = [self._row(said[id], by_clause[id]) for id in said]
        rows += [_untested(one) for one in self.claim.promises if one.id not in said]
        return tuple(sorted(rows, key=lambda row: row.id))

    def _row(self, clause: Clause, tests: Sequence[Test]) -> Row:
        state = _BY_STATE.get(clause.state, "violated")
        return Row(
            id=text.line(clause.id, 40), state=state, level=clause.level, profile=clause.profile,
            sentence=clause.sentence, tests=len(tests), why=_why(state, tests),
            until=self._until(clause.id, tests) if state == "waived" else "",
        )  # fmt: skip

    def _until(self, clause: str, tests: Sequence[Test]) -> str:
        """Returns the first day on which a waiver that it needs has expired; empty where a known
        cause, which has no date, covers it."""
        subjects = {clause, *(test.id for test in tests if test.verdict == "xfail")}
        used = [one for one in self.judged.waivers if one.get("outcome") == "used"]
        return min((one["expires"] for one in used if one.get("subject") in subjects), default="")

    @cached_property
    def counts(self) -> dict[str, int]:
        """Returns how many clauses have each state that occurs."""
        found = [row.state for row in self.rows]
        return {state: found.count(state) for state in STATES if state in found}

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """Returns the clauses that the profile asks for and that nothing shows."""
        states = {row.id: row.state for row in self.rows}
        wanted = sorted((self.claim.asked or {}).get("clauses", ()))
        return tuple(id for id in wanted if states.get(id) not in SHOWN)

    @cached_property
    def operators_short(self) -> str:
        """Returns how many operators of the profile are not shown on the device, in words; empty
        where it has them all."""
        asked = self.claim.asked
        found = share(replace(self.judged, profile=dict(asked))) if asked else None
        held, *others = found.operators.items() if found else [("", 0)]
        missing = ", ".join(f"{count:,} {how}" for how, count in others if count)
        return f"of its operators {held[1]:,} are {held[0]}, and {missing}" if missing else ""

    @cached_property
    def waived(self) -> tuple[Test, ...]:
        return tuple(test for test in self.judged.tests if test.verdict == "xfail")

    @cached_property
    def layers(self) -> str:
        """Returns of what layers it is: "the C layer", "both layers"."""
        names = [LAYERS.get(one, one) for one in self.extent.layers] or ["C"]
        return f"the {names[0]} layer" if len(names) == 1 else "both layers"

    @cached_property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """Returns all that is true of it, the worst word first, each with its reasons; empty for
        what is conformant without a reserve."""
        found: dict[str, tuple[str, ...]] = {}
        judged, ran = self.judged, self.extent
        if judged.verdict not in ("pass", "fail"):
            found[NO_VERDICT] = judged.problems[:8] or ("the run came to no verdict",)
        if judged.verdict == "fail":
            found[NOT_CONFORMANT] = _failures(judged)
        found |= {OTHER_SUITE: tuple(self.claim.doubts)} if self.claim.doubts else {}
        found |= {PARTIAL: ran.missing} if ran.partial else {}
        found |= {ON_SIMULATOR: (SIMULATED,)} if ran.simulated else {}
        if ran.tier != "thorough":
            found[QUICK] = (
                "only a complete run of the thorough tier can say that a device conforms",
            )
        short = [_unmet_words(self.claim.profile, self.unmet)] if self.unmet else []
        short += [self.operators_short] if self.operators_short else []
        found |= {PROFILE: tuple(short)} if short else {}
        if self.waived:
            found[WITH_WAIVERS] = _debts(self.waived)
        return found

    @property
    def word(self) -> str:
        return next(iter(self.reasons), CONFORMANT)

    @property
    def good(self) -> bool:
        """Returns whether it may be called conformant."""
        return self.word in GOOD

    @cached_property
    def name(self) -> str:
        said = f"{self.judged.backend_name} {self.judged.backend_version}"
        return text.line(said, 120) + (" (simulated)" if self.extent.simulated else "")

    @property
    def claimed(self) -> str:
        """Returns what is claimed, in words."""
        return f"profile {self.claim.profile}" if self.claim.profile else "all that it declares"

    @property
    def sentence(self) -> str:
        """Returns the one sentence for which a statement is made."""
        return _SENTENCES[self.word].format(
            name=self.name, layers=self.layers, claimed=self.claimed
        )


_SENTENCES = {
    NO_VERDICT: "There is no verdict on {name}",
    NOT_CONFORMANT: "{name} does not conform",
    OTHER_SUITE: "It is not known what {name} was held against",
    PARTIAL: "{name} passes the part that was run",
    ON_SIMULATOR: "{name} passes, and software stood in for the device",
    QUICK: "{name} passes the quick tier, which is not enough to be conformant",
    PROFILE: "{name} passes, and does not show {claimed}",
    WITH_WAIVERS: "{name} conforms in {layers} to {claimed}, but for what is waived",
    CONFORMANT: "{name} conforms in {layers} to {claimed}",
}


def _untested(one: Promise) -> Row:
    state = "not tested" if one.testable else "not testable"
    why = "no test of it is recorded" if one.testable else one.reason
    return Row(one.id, state, one.level, one.profile, one.sentence, 0, text.line(why, 300))


def _why(state: str, tests: Sequence[Test]) -> str:
    """Returns the first reason of a state that needs one."""
    if state in ("not tested", "proven in part"):
        told = [need_words(test) for test in tests if test.verdict == "unsupported"]
        told += ["left out by the budget" for test in tests if test.verdict == "left-out"]
        told += [test.evidence_reason for test in tests if test.state == "not-shown"]
    elif state in ("not shown", "trivially true"):
        told = [test.evidence_reason for test in tests if test.state in ("not-shown", "trivial")]
    elif state == "waived":
        told = [test.waiver for test in tests if test.verdict == "xfail"]
    elif state in ("violated", "recommendation not met"):
        bad = [test for test in tests if test.failed or test.warns]
        told = [f"{test.id}: {test.seen or test.cause or test.verdict}" for test in bad]
    else:
        told = []
    return text.line(next(filter(None, told), ""), 300)


def _failures(judged: Judged) -> tuple[str, ...]:
    failing = [test for test in judged.tests if test.verdict in FAILING]
    clauses = dict.fromkeys(test.clause for test in failing)
    named = ", ".join(text.line(one, 40) for one in list(clauses)[:8])
    more = f" and {len(clauses) - 8} more" if len(clauses) > 8 else ""
    found = (
        [f"{text.count_words(len(failing), 'test')} failed, of {named}{more}"] if failing else []
    )
    return (*found, *(text.line(one) for one in judged.problems[:8]))


def _unmet_words(profile: str, unmet: Sequence[str]) -> str:
    more = f" and {len(unmet) - 12} more" if len(unmet) > 12 else ""
    return (
        f"profile {profile} asks for {text.count_words(len(unmet), 'clause')} that nothing shows: "
        f"{', '.join(unmet[:12])}{more}"
    )


def _debts(waived: Sequence[Test]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.line(test.waiver or test.id) for test in waived))[:40]
