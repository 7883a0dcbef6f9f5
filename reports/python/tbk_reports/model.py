# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Result files as written by tbk-run, and what a judge makes of them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .calls import asked, traced
from .given import read_given

# Worst first: the state of a clause is the worst of its tests.
VERDICTS = (
    "suite-error",
    "poisoned",
    "crash",
    "hang",
    "fail",
    "polluted",
    "unstable",
    "xpass",
    "not-reached",
    "warning",
    "xfail",
    "not-shown",
    "left-out",
    "unsupported",
    "pass",
)
HARMLESS = frozenset({"pass", "warning", "xfail", "unsupported", "not-shown", "left-out"})
FAILING = frozenset(VERDICTS) - HARMLESS
WAIVABLE = frozenset({"fail", "crash", "hang"})
WARNING = "warning"  # of a clause that is a should: no failure, and no pass

# Records that are no verdicts: the same test on another device, and a word that a file declares.
MORE_KINDS = ("substitution", "capability")

MOST = 2**63 - 1  # of a counter; what is above it is no count
DEEPEST = 64  # how deep a line of a result file may be nested; the suite's own are at most 6

EXIT_PASS = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_NOTHING_SELECTED = 3
EXIT_BAD_LIBRARY = 4
EXIT_NO_DEVICE = 5
EXIT_SUITE_ERROR = 6
EXIT_INTERRUPTED = 7
EXIT_NOT_WRITTEN = 8
ERRORS = range(EXIT_USAGE, EXIT_NOT_WRITTEN + 1)  # the codes of a run that has no verdict


@dataclass(frozen=True)
class Test:
    """One test record; after judging, `verdict` is the judged and `recorded` the original one."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    id: str
    verdict: str
    index: int = 0
    suite: str = ""
    clause: str = ""
    level: str = ""
    profile: str = ""
    layer: str = ""
    repeat: int = 0
    evidence: str = ""
    evidence_reason: str = ""
    gates: int = 0  # how often an order was seen by a stream that was held shut
    checks: int = 0
    failures: int = 0
    duration_ns: int = 0
    wall_ns: int = 0
    phase: str = ""
    blame: str = ""
    cause: str = ""
    expected: str = ""
    seen: str = ""
    stack: str = ""  # of a crash of the C layer: a line for each function, the innermost first
    where: str = ""
    what: str = ""
    signal: str = ""
    exit_status: str = ""
    needs_missing: str = ""
    notes: str = ""
    clause_text: str = ""
    clause_source: str = ""
    output: str = ""
    output_bytes: int = 0
    seed: str = ""
    replay: str = ""
    node: str = ""  # of a farm, where it ran
    recorded: str = ""
    waiver: str = ""
    blame_how: str = ""  # how it was found out who is to blame
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the test says besides
    call: str = ""  # the function that was called last before it went wrong
    checked: str = ""  # the clause of the check that failed first, where that is not the test's
    calls: str = ""  # what it asked of the backend, in digits
    call_states: str = ""  # in what state, likewise
    asked: frozenset[str] = frozenset()  # the same in words (calls.py)
    implied: bool = False  # `checked` follows from the call that failed, and no check names it
    about: tuple[str, ...] = ()  # what its clause speaks of, in the same words; of the spec
    label: str = ""  # of the clause's line in the header; of the spec
    bases: frozenset[str] = frozenset()  # the clauses that its clause builds on; of the spec

    @property
    def failed(self) -> bool:
        return self.verdict in FAILING

    @property
    def warns(self) -> bool:
        return self.verdict == WARNING

    @property
    def state(self) -> str:
        """Returns the verdict, with what a pass amounts to."""
        if self.verdict == "pass" and self.evidence == "trivial":
            return "trivial"
        if self.verdict == "pass" and self.evidence == "not-shown":
            return "not-shown"
        return self.verdict

    @property
    def key(self) -> tuple[str, int]:
        return (self.id, self.repeat)

    @property
    def alone(self) -> str:
        """Returns the file beside the report that shows it without the suite; empty where there is
        none."""
        return as_text(self.facts.get("alone"))

    @property
    def program(self) -> str:
        """Returns a program that shows it without the suite; empty where there is none."""
        return as_text(self.facts.get("program"))

    @property
    def source(self) -> str:
        """Returns the test's own source, which needs the suite."""
        return "" if self.program else as_text(self.facts.get("source"))


_CLAUSE = re.compile(r"[A-Z]{3}-\d{3}")
_FIELDS = {item.name: item.type for item in fields(Test)}


def as_text(value: object) -> str:
    if value is None or value == "null":
        return ""
    if isinstance(value, list):
        return "\n".join(as_text(item) for item in value)
    if isinstance(value, str):  # a lone surrogate can't be written to any of the outputs
        return value.encode("utf-8", "replace").decode("utf-8")
    return str(value)


def as_count(value: object) -> int:
    """Returns a number from 0 to that of the widest counter; 0 for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return 0
    return MOST if value >= MOST else int(value)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is no finite number")
    return value


def _depth(value: object) -> int:
    deepest, left = 0, [(value, 1)]
    while left:
        one, depth = left.pop()
        deepest = max(deepest, depth)
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left += [(each, depth + 1) for each in inner]
    return deepest


def parse_line(raw: bytes) -> Any:
    """Reads one line of a result file. Raises ValueError for all that is no JSON, such as NaN, and
    for what is nested so deeply that nothing can be done with it."""
    try:
        value = json.loads(
            raw.decode("utf-8", "replace"), parse_constant=_finite, parse_float=_finite
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise ValueError("nested too deeply")
    return value


def read_record(record: Mapping[str, object], names: Sequence[str] = ()) -> Test:
    """Reads a record of any quality; a verdict that is not known is the suite's error.

    `names` are what the digits of its calls stand for.
    """
    values: dict[str, Any] = {
        name: as_count(record.get(name)) if kind == "int" else as_text(record.get(name))
        for name, kind in _FIELDS.items()
        if name not in ("facts", "asked", "about", "bases", "implied")
    }
    facts = record.get("facts")
    values["facts"] = facts if isinstance(facts, dict) else {}
    if values["verdict"] not in VERDICTS:
        values["notes"] = f"unknown verdict {values['verdict']!r}\n{values['notes']}".strip()
        values["verdict"] = "suite-error"
    values["id"] = values["id"] or "(no id)"
    values["suite"] = values["suite"] or values["id"].partition("/")[0]
    values["recorded"] = values["recorded"] or values["verdict"]
    if not _CLAUSE.fullmatch(values["checked"]):
        values["checked"] = ""
    about = record.get("about")
    values["about"] = tuple(map(as_text, about)) if isinstance(about, list | tuple) else ()
    values["bases"] = frozenset()
    states = values["call_states"]
    values["asked"] = asked(values["calls"], names, states) if values["calls"] else frozenset()
    return Test(**values)


@dataclass(frozen=True)
class ResultFile:
    """One result file as read, with whatever is wrong with it."""

    path: str
    header: dict[str, Any]
    tests: tuple[Test, ...]
    footer: dict[str, Any] | None
    problems: tuple[str, ...] = ()
    more: tuple[dict[str, Any], ...] = ()  # records of the kinds in MORE_KINDS


@dataclass
class _Reading:
    header: dict[str, Any] | None = None
    footer: dict[str, Any] | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    more: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    before_footer: int = 0

    def take(self, raw: bytes, number: int, start: int) -> None:
        try:
            record = parse_line(raw)
        except ValueError:
            self.problems.append(f"line {number} is not JSON")
            return
        kind = record.get("record") if isinstance(record, dict) else None
        if kind == "header" and self.header is None:
            self.header = record
        elif kind == "test":
            self.records.append(record)
        elif kind in MORE_KINDS:
            self.more.append(record)
        elif kind == "footer":
            self.footer, self.before_footer = record, start
        else:
            self.problems.append(f"line {number} is no record that is expected there")


def read_results(path: Path) -> ResultFile:
    """Reads a result file; never raises for what is in it (OSError when it can't be read)."""
    return parse_results(read_given(path), str(path))


def parse_results(data: bytes, name: str) -> ResultFile:
    """Reads what is in a result file that is called `name`; never raises for it."""
    reading = _Reading()
    start = 0
    for number, raw in enumerate(data.split(b"\n"), 1):
        if raw.strip():
            reading.take(raw, number, start)
        start += len(raw) + 1
    names = traced(reading.header or {})
    tests = tuple(read_record(record, names) for record in reading.records)
    problems = [*reading.problems, *_bookkeeping(reading, tests, data)]
    return ResultFile(
        name, reading.header or {}, tests, reading.footer, tuple(dict.fromkeys(problems)),
        tuple(reading.more),
    )  # fmt: skip


def _bookkeeping(reading: _Reading, tests: tuple[Test, ...], data: bytes) -> list[str]:
    found = []
    if reading.header is None:
        found.append("the file has no header")
    found += [
        f"{test_id} is recorded {count} times"
        for (test_id, _), count in Counter(test.key for test in tests).items()
        if count > 1
    ]
    if reading.footer is None:
        return [*found, "the file has no footer: the run did not finish"]
    digest = str(reading.footer.get("digest") or "").removeprefix("sha256:")
    if digest and digest != hashlib.sha256(data[: reading.before_footer]).hexdigest():
        found.append("the digest in the footer does not fit the file: it was changed or torn")
    return found + _counts_problems(reading, tests)


def _counts_problems(reading: _Reading, tests: tuple[Test, ...]) -> list[str]:
    footer = reading.footer or {}
    found = []
    if as_count(footer.get("recorded")) != len(tests):
        found.append(f"the footer counts {footer.get('recorded')} records, there are {len(tests)}")
    if footer.get("verdict") != "error" and as_count(footer.get("planned")) != len(tests):
        found.append(f"{footer.get('planned')} tests were planned, {len(tests)} are recorded")
    counts = footer.get("counts")
    if isinstance(counts, dict):
        stated = {name: as_count(value) for name, value in counts.items() if as_count(value)}
        if stated != dict(Counter(test.verdict for test in tests)):
            found.append("the counts in the footer do not fit the records")
    return found


@dataclass(frozen=True)
class Judged:
    """A judged run: the one thing that all renderers show."""

    header: dict[str, Any]
    footer: dict[str, Any]
    tests: tuple[Test, ...]
    verdict: str  # pass, fail or error
    exit_code: int
    problems: tuple[str, ...] = ()
    waivers: tuple[dict[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    baseline: tuple[dict[str, Any], ...] = ()  # its entries, and what became of each
    notes: tuple[str, ...] = ()  # worth knowing, and no finding
    profile: dict[str, Any] = field(default_factory=dict)  # what was asked for by --profile
    trace: dict[str, int] = field(default_factory=dict)  # calls by operator, of --trace

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(test.verdict for test in self.tests)
        return {name: found[name] for name in reversed(VERDICTS) if found[name]}

    @property
    def backend_name(self) -> str:
        backend = self.header.get("backend")
        backend = backend if isinstance(backend, dict) else {}
        name = as_text(backend.get("name")) or Path(as_text(backend.get("path"))).name
        return name or "unknown backend"

    @property
    def backend_version(self) -> str:
        backend = self.header.get("backend")
        return as_text(backend.get("version")) if isinstance(backend, dict) else ""


def with_verdict(test: Test, verdict: str, waiver: str) -> Test:
    return replace(test, verdict=verdict, waiver=waiver)


def grouped(tests: Iterable[Test], key: Callable[[Test], str]) -> dict[str, list[Test]]:
    """Returns tests by a key, both in the order in which they come."""
    found: dict[str, list[Test]] = {}
    for test in tests:
        found.setdefault(key(test), []).append(test)
    return found
