# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is written down of an entry of PyTorch's OpInfo database, and the table of them all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

# The best first. An entry is as good as its worst sample; "not run" has none.
STATES = ("native", "composite", "fallback", "not run", "refused", "wrong", "hang", "crash")
MEANINGS = {
    "native": "one operator, which the bridge serves by itself: a kernel, or metadata",
    "composite": "made by PyTorch of operators that are native",
    "fallback": "some operator of it ran on the CPU",
    "not run": "nothing to compare with: PyTorch's CPU has no answer to any sample",
    "refused": "NotImplementedError, with a reason",
    "wrong": "another result than PyTorch's CPU has, or another error",
    "hang": "not done in time",
    "crash": "ended the process",
}
# How an entry is called.
FORMS = FUNCTION, IN_PLACE, OUT, NON_CONTIGUOUS = "function", "in-place", "out", "non-contiguous"
UNWANTED = ("wrong", "hang", "crash")


@dataclass(frozen=True)
class Item:
    """One entry with one dtype: what a worker is given."""

    index: int
    name: str
    variant: str
    dtype: str
    form: str = FUNCTION

    @property
    def title(self) -> str:
        return f"{self.name}.{self.variant}" if self.variant else self.name


@dataclass
class Outcome:
    name: str
    dtype: str
    state: str = "native"
    reason: str = ""
    samples: int = 0  # run, of `available`
    available: int = 0
    backward: int = 0  # samples whose gradients were compared too
    random: bool = False  # values are compared with themselves under the same seed
    undefined: bool = False  # values are not compared: nobody defines them
    form: str = FUNCTION
    fallbacks: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)  # operators, forward

    def finish(self, error: str) -> None:
        """After the last sample; `error` is what the CPU said to the first that it refused."""
        if self.samples == 0:
            self.worsen("not run", error or "PyTorch has no sample for it")
        elif self.fallbacks:
            self.worsen("fallback")

    def worsen(self, state: str, reason: str = "") -> None:
        if STATES.index(state) > STATES.index(self.state):
            self.state, self.reason = state, reason


def worst(outcomes: Iterable[Outcome]) -> int:
    return max((STATES.index(outcome.state) for outcome in outcomes), default=0)


def write_json(
    path: Path,
    facts: dict[str, object],
    outcomes: Sequence[Outcome],
    without: Sequence[str],
    shares: dict[str, str] | None = None,
) -> None:
    counts = Counter(outcome.state for outcome in outcomes)
    document = {
        **facts,
        "counts": {state: counts[state] for state in STATES},
        "without fallback": shares or {},
        "entries": [asdict(outcome) for outcome in outcomes],
        "without": list(without),
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    """Returns one line that does not end the cell."""
    line = " ".join(text.split())
    return (line[:197] + "..." if len(line) > 200 else line).replace("|", "\\|")


def _rows(outcomes: Iterable[Outcome]) -> list[str]:
    rows = ["| entry | dtype | form | state | samples | gradients | reason, or what fell back |"]
    rows.append("|---|---|---|---|---|---|---|")
    for each in outcomes:
        what = each.reason or ", ".join(each.fallbacks)
        notes = " (random)" if each.random else " (values undefined)" if each.undefined else ""
        rows.append(
            f"| {each.name} | {each.dtype} | {each.form} | {each.state}{notes} | {each.samples} of "
            f"{each.available} | {each.backward} | {_cell(what)} |"
        )
    return rows


def write_markdown(
    path: Path,
    facts: dict[str, object],
    outcomes: Sequence[Outcome],
    without: Sequence[str],
    shares: Sequence[str] = (),
) -> None:
    lines = ["# Operator reach", ""]
    lines += [f"* {key}: {value}" for key, value in facts.items()]
    kinds = list(dict.fromkeys((each.form, each.dtype) for each in outcomes))
    lines += ["", f"| state | {' | '.join(f'{form}, {dtype}' for form, dtype in kinds)} | |"]
    lines.append("|---" * (len(kinds) + 2) + "|")
    for state in STATES:
        counts = Counter((each.form, each.dtype) for each in outcomes if each.state == state)
        row = " | ".join(str(counts[kind]) for kind in kinds)
        lines.append(f"| {state} | {row} | {MEANINGS[state]} |")
    lines += ["", *shares] if shares else []
    missed = [each for each in outcomes if STATES.index(each.state) >= STATES.index("not run")]
    if missed:
        lines += ["", "## Not reached", "", *_rows(missed)]
    if without:
        lines += [
            "",
            "## Left out",
            "",
            "The CPU has these for neither dtype:",
            "",
        ]
        lines += [f"* {title}" for title in without]
    lines += ["", "## All entries", "", *_rows(outcomes)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
