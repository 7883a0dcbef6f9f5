# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A baseline: the causes of failure that are known, so that only a new one fails a run."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbk_reports.extent import tier_of
from tbk_reports.given import read_given
from tbk_reports.model import WAIVABLE, Judged, Test
from tbk_reports.text import line
from tbk_reports.words import difference_words, fingerprint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HEAD_KEYS = frozenset({"device", "torch", "suite", "tier", "written", "cause"})
KEYS = ("cause", "kind", "tests", "clauses", "example", "said")
HEAD = """\
# The causes of failure that were known when this file was written, by tbk --write-baseline.
# tbk --baseline fails on a cause that is not here, and on an entry that no longer occurs: remove
# that entry, or write the file again. "tests" is how many failed by it; it may grow, which is told.
"""


class BaselineError(ValueError):
    """A baseline that can't be taken as it stands; one line that names file and entry."""


@dataclass(frozen=True)
class Entry:
    """One cause."""

    cause: str
    kind: str
    tests: int
    clauses: tuple[str, ...] = ()
    example: str = ""
    said: str = ""
    tier: str = ""  # of the run that it was written from; empty where that is not known

    @property
    def words(self) -> str:
        return f"known cause: {self.said or self.cause}"


def causes(tests: Iterable[Test]) -> list[Entry]:
    """Returns the causes of what fails in a way that can be known, those of most tests first."""
    groups: dict[tuple[str, str], list[Test]] = {}
    for test in tests:
        if test.failed and test.recorded in WAIVABLE:
            groups.setdefault((fingerprint(test), test.recorded), []).append(test)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        Entry(
            cause, kind, len(members), tuple(sorted({test.clause for test in members})),
            members[0].id, line(difference_words(members[0]), 160),
        )
        for (cause, kind), members in ranked
    ]  # fmt: skip


def _text(value: str) -> str:
    """Returns a TOML string: JSON's, but for the one character that TOML wants escaped besides."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _table(entry: Entry) -> str:
    clauses = ", ".join(map(_text, entry.clauses))
    return (
        f"\n[[cause]]\ncause = {_text(entry.cause)}\nkind = {_text(entry.kind)}\n"
        f"tests = {entry.tests}\nclauses = [{clauses}]\nexample = {_text(entry.example)}\n"
        f"said = {_text(entry.said)}\n"
    )


def document(judged: Judged, today: datetime.date) -> str:
    """Returns the baseline of a run, as TOML."""
    torch, suite = judged.header.get("torch"), judged.header.get("suite")
    facts = {
        "device": judged.backend_name,
        "torch": torch.get("version") if isinstance(torch, Mapping) else None,
        "suite": suite.get("version") if isinstance(suite, Mapping) else None,
        "tier": tier_of(judged.header),
    }
    lines = [f"{name} = {_text(str(value))}\n" for name, value in facts.items() if value]
    found = causes(judged.tests)
    return "".join([HEAD, *lines, f"written = {today}\n", *map(_table, found)])


def _entry(given: object, name: str, tier: str) -> Entry:
    if not isinstance(given, dict):
        raise BaselineError(f"{name}: not a table")
    unknown = sorted(set(given) - set(KEYS))
    if unknown:
        raise BaselineError(f"{name}: unknown key {unknown[0]!r}; there are {', '.join(KEYS)}")
    for key in ("cause", "kind"):
        if not isinstance(given.get(key), str) or not given[key]:
            raise BaselineError(f"{name}: {key} must be a text that is not empty")
    if given["kind"] not in WAIVABLE:
        raise BaselineError(f"{name}: kind must be one of {', '.join(sorted(WAIVABLE))}")
    tests, clauses = given.get("tests", 1), given.get("clauses", [])
    if not isinstance(tests, int) or isinstance(tests, bool) or tests < 1:
        raise BaselineError(f"{name}: tests must be a number above 0")
    if not isinstance(clauses, list) or not all(isinstance(one, str) for one in clauses):
        raise BaselineError(f"{name}: clauses must be a list of ids")
    return Entry(
        given["cause"], given["kind"], tests, tuple(clauses),
        str(given.get("example", "")), str(given.get("said", "")), tier,
    )  # fmt: skip


def parse(text: str, name: str) -> tuple[Entry, ...]:
    """Returns the entries of a baseline."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{name}: {error}") from error
    unknown = sorted(set(document) - HEAD_KEYS)
    if unknown:
        raise BaselineError(f"{name}: unknown key {unknown[0]!r}; entries are [[cause]] tables")
    entries = document.get("cause", [])
    if not isinstance(entries, list):
        raise BaselineError(f"{name}: entries are [[cause]] tables")
    tier = document.get("tier", "")
    if tier not in ("", "quick", "thorough"):
        raise BaselineError(f"{name}: tier must be quick or thorough")
    found = tuple(
        _entry(one, f"{name}, entry {number}", tier) for number, one in enumerate(entries, 1)
    )
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(found, 1):
        if (entry.cause, entry.kind) in seen:
            raise BaselineError(f"{name}, entry {number}: {entry.cause} stands there twice")
        seen.add((entry.cause, entry.kind))
    return found


def load(path: Path) -> tuple[Entry, ...]:
    """Reads a baseline. Raises BaselineError."""
    try:
        text = read_given(path).decode("utf-8")
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"{path}: {error}") from error
    return parse(text, str(path))


@dataclass
class Applied:
    """What became of the tests and of the entries."""

    known: dict[int, Entry]  # by the test's place
    problems: list[str]
    told: list[dict[str, Any]]
    notes: list[str]


def apply(
    entries: Sequence[Entry], tests: Sequence[Test], asked: Callable[[Entry], bool]
) -> Applied:
    """Finds the tests that an entry knows. An entry that no test needs is a problem, if the run
    asked for all that could need it: then its cause does not occur any more."""
    by_key = {(entry.cause, entry.kind): entry for entry in entries}
    found = Applied({}, [], [], [])
    counted = dict.fromkeys(entries, 0)
    for at, test in enumerate(tests):
        entry = by_key.get((fingerprint(test), test.recorded)) if test.failed else None
        # What was judged to be something else, such as an unexpected pass, no baseline excuses.
        if entry and test.verdict == test.recorded:
            found.known[at] = entry
            counted[entry] += 1
    for entry, count in counted.items():
        outcome = "used" if count else "no longer occurs" if asked(entry) else "not exercised"
        if outcome == "no longer occurs":
            found.problems.append(f"the baseline's {entry.cause} no longer occurs: remove it")
        elif count > entry.tests:
            found.notes.append(f"{entry.words}: {count} tests, and {entry.tests} in the baseline")
        found.told.append(
            {"cause": entry.cause, "kind": entry.kind, "outcome": outcome, "tests": count,
             "tests_then": entry.tests}
        )  # fmt: skip
    return found
