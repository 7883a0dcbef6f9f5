# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Two runs compared by cause: what is new, mended, moved to another cause, and no longer tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from . import text
from .causes import causes
from .changes import Change, diff
from .clauses import need_words
from .model import EXIT_FINDINGS, VERDICTS, Judged, Test, grouped
from .view import View
from .words import fingerprint, fingerprint_words, state_words

# In the order in which they are told; each with what it means.
SECTIONS = {
    "new": ("New", "fails, and did not fail before"),
    "lost": ("No longer tested", "said something before, and says nothing now"),
    "moved": ("Moved", "fails as before, by another cause"),
    "mended": ("Mended", "failed before, and does not fail now"),
}
WORSE = ("new", "lost")
FORMER = 3  # causes of before that a moved one names


@dataclass(frozen=True)
class Group:
    """Tests that changed in one way, from one cause."""

    title: str
    note: str  # how it stands to the other run; empty where there is nothing to say
    tests: tuple[Test, ...]  # of the run that tells the cause, the most telling first
    changes: tuple[Change, ...]  # of the same tests

    @property
    def first(self) -> Test:
        return self.tests[0]

    @cached_property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Returns each test with what it was and is."""
        return tuple((one.id, change_words(one)) for one in self.changes)


def change_words(change: Change) -> str:
    before = state_words(change.before) if change.before else "not there"
    return f"{before} → {state_words(change.after)}"


def _worst(tests: Iterable[Test]) -> dict[str, Test]:
    """Returns of each test its worst record over its repeats."""
    return {
        test_id: min(members, key=lambda test: VERDICTS.index(test.verdict))
        for test_id, members in grouped(tests, lambda test: test.id).items()
    }


def _reason(view: View) -> str:
    """Returns why a run has no verdict."""
    return view.problems[0] if view.problems else "it does not say why"


class Comparison:
    """What there is to say of two judged runs, for all renderers."""

    def __init__(self, before: Judged, after: Judged) -> None:
        self.before, self.after = View(before), View(after)
        self._old, self._new = _worst(before.tests), _worst(after.tests)
        self._changes = diff(before.tests, after.tests)
        self._told = {
            one.id: one
            for kind in ("regressions", "lost", "fixes", "other")
            for one in getattr(self._changes, kind)
        }
        self._moved = tuple(self._find_moved())
        self.same = self._changes.same - len(set(self._moved) - set(self._told))
        self.added = len(self._changes.new)
        self.other = len({one.id for one in self._changes.other} - set(self._moved))
        self.groups = {
            "new": self._of_cause(self._changes.regressions, self._new, after, self._known),
            "lost": self._lost(),
            "moved": self._of_cause(
                tuple(map(self._change, self._moved)), self._new, after, self._formerly
            ),
            "mended": self._of_cause(self._changes.fixes, self._old, before, self._in_part),
        }

    def _find_moved(self) -> Iterable[str]:
        """Yields the tests that fail in both runs, by different causes."""
        for test_id, old in self._old.items():
            new = self._new.get(test_id)
            if new is None or new.verdict == "not-reached":
                continue
            if old.failed and new.failed and fingerprint(old) != fingerprint(new):
                yield test_id

    def _change(self, test_id: str) -> Change:
        old, new = self._old[test_id], self._new[test_id]
        return Change(test_id, new.clause, old.verdict, new.verdict)

    def _of_cause(
        self,
        changes: tuple[Change, ...],
        side: dict[str, Test],
        run: Judged,
        note: Callable[[tuple[Test, ...]], str],
    ) -> tuple[Group, ...]:
        """Returns the changed tests by what their run says is their cause."""
        by_id = {one.id: one for one in changes}
        found = causes((side[test_id] for test_id in by_id), among=run.tests)
        return tuple(
            Group(
                cause.title, note(cause.tests), cause.tests,
                tuple(by_id[test.id] for test in cause.tests),
            )
            for cause in found
        )  # fmt: skip

    @cached_property
    def _failed_before(self) -> frozenset[str]:
        return frozenset(fingerprint(one) for one in self._old.values() if one.failed)

    def _known(self, tests: tuple[Test, ...]) -> str:
        known = sum(fingerprint(test) in self._failed_before for test in tests)
        if not known:
            return ""
        share = "all" if known == len(tests) else f"{known:,}"
        return f"{share} by what other tests failed by before"

    def _in_part(self, tests: tuple[Test, ...]) -> str:
        mended = {fingerprint(test) for test in tests}
        left = sum(one.failed and fingerprint(one) in mended for one in self._new.values())
        return f"in part: {text.count_words(left, 'test')} still so" if left else ""

    def _formerly(self, tests: tuple[Test, ...]) -> str:
        olds = [self._old[test.id] for test in tests]
        titles = list(dict.fromkeys(fingerprint_words(old, 1) or old.cause for old in olds))
        more = f" and {len(titles) - FORMER} more" if len(titles) > FORMER else ""
        named = "; ".join(text.line(title, 120) for title in titles[:FORMER] if title)
        return f"before: {named}{more}" if named else ""

    def _lost(self) -> tuple[Group, ...]:
        """Returns the tests that say nothing any more, by the reason."""
        by_reason: dict[str, list[Change]] = {}
        for change in self._changes.lost:
            by_reason.setdefault(self._reason(change), []).append(change)
        ranked = sorted(by_reason.items(), key=lambda item: -len(item[1]))
        return tuple(self._lost_group(words, changes) for words, changes in ranked)

    def _lost_group(self, words: str, changes: list[Change]) -> Group:
        tests = tuple(self._old[one.id] for one in changes)
        failed = sum(test.failed for test in tests)
        note = f"{failed:,} of them failed before" if failed else ""
        return Group(words, note, tests, tuple(changes))

    def _reason(self, change: Change) -> str:
        new = self._new.get(change.id)
        if new is None:
            return "not in the run any more"
        if new.verdict == "unsupported":
            return text.line(need_words(new), 200)
        why = f": {new.evidence_reason}" if new.verdict == "not-shown" else ""
        return text.line(state_words(new.verdict) + why)

    @property
    def torn(self) -> tuple[View, ...]:
        """Returns the runs that have no verdict."""
        return tuple(
            view for view in (self.before, self.after) if view.judged.exit_code > EXIT_FINDINGS
        )

    @cached_property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Returns of each section how many causes or reasons it has, and how many tests."""
        return {
            name: (len(groups), sum(len(group.tests) for group in groups))
            for name, groups in self.groups.items()
        }

    @property
    def clean(self) -> bool:
        return not any(self.groups[name] for name in WORSE)

    @property
    def word(self) -> str:
        if self.torn:
            return "error"
        if not self.clean:
            return "worse"
        return "better" if self.groups["mended"] else "no worse"

    @property
    def headline(self) -> str:
        """Returns what changed; first of all why a run has no verdict, where one has none."""
        if not self.torn:
            return self._changed_words or "Nothing is new, and nothing is lost"
        untold = (
            f"no verdict on the run {side}: {text.line(_reason(view), 130)}"
            for side, view in self.sides
            if view in self.torn
        )
        said = "; ".join([*untold, *filter(None, [self._changed_words])])
        return said[0].upper() + said[1:]

    @property
    def _changed_words(self) -> str:
        new, lost = self.counts["new"], self.counts["lost"]
        said = []
        if new[0]:
            said.append(f"{text.count_words(new[0], 'cause')} new")
        if lost[1]:
            said.append(f"{text.count_words(lost[1], 'test')} no longer tested")
        if self.counts["mended"][0]:
            said.append(f"{text.count_words(self.counts['mended'][0], 'cause')} mended")
        return ", ".join(said)

    @property
    def lead(self) -> str:
        counted = [
            f"{self.counts[name][1]:,} {title.lower()}" for name, (title, _) in SECTIONS.items()
        ]
        rest = f"{self.added:,} added, {self.other:,} otherwise changed, {self.same:,} the same."
        return f"Of the tests {', '.join(counted)}, {rest}"

    @property
    def sides(self) -> tuple[tuple[str, View], ...]:
        return (("before", self.before), ("after", self.after))

    @property
    def problems(self) -> tuple[str, ...]:
        """Returns why a run has no verdict, one sentence each."""
        found = []
        for view in self.torn:
            named = text.line(", ".join(view.judged.sources), 200)
            found.append(f"{named}: {_reason(view)}")
        return tuple(found)
