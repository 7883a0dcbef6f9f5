# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What became of each test from one run to another: broken, mended, no longer tested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .clauses import worst
from .litmus import is_litmus_id
from .model import HARMLESS, Test

# How much a verdict says: a test that passed and now says nothing is lost, though it fails nothing.
SAYS_NOTHING = frozenset({"unsupported", "not-shown", "left-out", "not-reached"})


@dataclass(frozen=True)
class Change:
    id: str
    clause: str
    before: str
    after: str


@dataclass(frozen=True)
class Diff:
    regressions: tuple[Change, ...]
    lost: tuple[Change, ...]
    fixes: tuple[Change, ...]
    new: tuple[Change, ...]
    other: tuple[Change, ...]
    same: int

    @property
    def clean(self) -> bool:
        return not self.regressions and not self.lost


def _by_id(tests: Iterable[Test]) -> dict[str, tuple[str, str]]:
    """Clause and worst state of each test over its repeats."""
    found: dict[str, list[Test]] = {}
    for test in tests:
        found.setdefault(test.id, []).append(test)
    return {
        test_id: (members[0].clause, worst(test.verdict for test in members))
        for test_id, members in found.items()
    }


def _kind(test_id: str, before: str, after: str) -> str:
    if is_litmus_id(test_id) and {before, after} <= {"pass", "not-shown"}:
        return "other"  # by chance
    failed_before, fails = before not in HARMLESS, after not in HARMLESS
    if after == "not-reached" and before != after:
        return "lost"
    if fails and not failed_before:
        return "regressions"
    if after in SAYS_NOTHING and before not in SAYS_NOTHING:
        return "lost"
    if (failed_before and not fails) or (before == "xfail" and after == "pass"):
        return "fixes"  # a known failure is one, too
    return "other"


def diff(before: Iterable[Test], after: Iterable[Test]) -> Diff:
    """A failing test that is gone, or is now unsupported, is lost and not mended."""
    old, new = _by_id(before), _by_id(after)
    found: dict[str, list[Change]] = {
        name: [] for name in ("regressions", "lost", "fixes", "new", "other")
    }
    same = 0
    for test_id, (clause, state) in old.items():
        now = new.get(test_id)
        if now is None:
            found["lost"].append(Change(test_id, clause, state, "gone"))
        elif now[1] == state:
            same += 1
        else:
            found[_kind(test_id, state, now[1])].append(Change(test_id, clause, state, now[1]))
    found["new"] = [
        Change(test_id, clause, "", state)
        for test_id, (clause, state) in new.items()
        if test_id not in old
    ]
    failing_new = [change for change in found["new"] if change.after not in HARMLESS]
    found["regressions"] += failing_new
    found["new"] = [change for change in found["new"] if change not in failing_new]
    return Diff(
        regressions=tuple(found["regressions"]),
        lost=tuple(found["lost"]),
        fixes=tuple(found["fixes"]),
        new=tuple(found["new"]),
        other=tuple(found["other"]),
        same=same,
    )
