# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One result file as a summary: all that a history of many files needs of it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import text
from .calls import traced
from .extent import extent_of
from .given import read_given
from .history_summary import LETTER, STATE, Failures, Summary, Table, clause_counts
from .litmus import LAYER as LITMUS
from .model import MORE_KINDS, ResultFile, Test, as_count, as_text, parse_line, read_record
from .model import read_results as read_whole
from .words import STATES, fingerprint, fingerprint_words, seen_words

# What a record begins with as tbk-run writes it, where the test is no failure; any other line as it
# is. Such lines are nine tenths of any file, and reading them whole would take nine tenths of the
# time. That the rest of the line is as it was written, the digest of the footer says; without one
# every line is read whole.
_LINE = re.compile(
    rb'^(?:\{"record":"test","index":\d+,"id":"([^"\\\n]+)","suite":"([^"\\\n]*)",'
    rb'"clause":"([^"\\\n]*)","level":"[^"\\\n]*","profile":"[^"\\\n]*","layer":"[^"\\\n]*",'
    rb'"repeat":(\d{1,9}),"verdict":"((?:pass|not-shown|unsupported|left-out)","evidence":[^,\n]*),'
    rb'"evidence_reason":(?:null|"(?:[^"\\\n]|\\.)*"),"checks":\d+,"failures":\d+,'
    rb'"duration_ns":\d+,"wall_ns":(\d{1,18}),.*|(.*))\n',
    re.MULTILINE,
)
NO_CAUSE = frozenset({"not-reached"})  # fails the run, and is the end of another test's cause
# What a pass amounts to stands behind it.
_AMOUNTS = {"null": "", '"proven"': "", '"trivial"': "trivial", '"not-shown"': "not-shown"}
_PLAIN = {
    f'{verdict}","evidence":{told}'.encode(): LETTER[
        (amounts if verdict == "pass" else "") or verdict
    ]
    for verdict in ("pass", "not-shown", "unsupported", "left-out")
    for told, amounts in _AMOUNTS.items()
}
_LETTERS = {**_PLAIN, **{f"odd {letter}".encode(): letter for letter in STATE}}
SAID = 300  # characters of what is shown of a failure


class NoResultsError(ValueError):
    """A file of something else."""


@dataclass
class _Rows:
    """The records of a file: a state and a time for each test of a table."""

    table: Table
    states: str
    wall_ns: Sequence[int]
    verdicts: Counter[str]
    failing: list[Test]


_latest: list[tuple[tuple[Any, ...], Table]] = []  # the columns of bytes that a table was made of


def _table(columns: tuple[Any, ...]) -> Table:
    """Returns the table of these columns of bytes; files that follow each other mostly have one."""
    if not _latest or _latest[0][0] != columns:
        told = (tuple(one.decode("utf-8", "replace") for one in column) for column in columns)
        _latest[:] = [(columns, Table(*told))]
    return _latest[0][1]


def _of_tests(tests: Iterable[Test]) -> _Rows:
    """Returns rows with one for all repeats of a test, of its worst state; their time adds up."""
    places: dict[str, int] = {}
    firsts: list[Test] = []
    states: list[str] = []
    wall_ns: list[int] = []
    verdicts: Counter[str] = Counter()
    failing = []
    for test in tests:
        verdicts[test.verdict] += 1
        if test.failed and test.verdict not in NO_CAUSE:
            failing.append(test)
        place = places.setdefault(test.id, len(places))
        if place == len(firsts):
            firsts.append(test)
            states.append(LETTER[test.state])
            wall_ns.append(test.wall_ns)
        else:
            states[place] = min(states[place], LETTER[test.state])
            wall_ns[place] += test.wall_ns
    table = (
        Table(*zip(*((one.id, one.clause, one.suite) for one in firsts), strict=True))
        if firsts
        else Table((), (), ())
    )
    return _Rows(table, "".join(states), wall_ns, verdicts, failing)


def _records(data: bytes) -> tuple[dict[str, Any], dict[str, Any], _Rows] | None:
    """Returns header, footer and rows of a file that is whole and has no repeats; None for any
    other, and for one whose footer says nothing that can be checked."""
    end = data.rfind(b"\n", 0, -1) + 1
    try:
        footer, header = parse_line(data[end:]), parse_line(data[: data.find(b"\n")])
        stated = str(footer.get("digest") or "").removeprefix("sha256:")
        if (footer.get("record"), header.get("record")) != ("footer", "header"):
            return None
        if not stated or stated != hashlib.sha256(memoryview(data)[:end]).hexdigest():
            return None
        rows = _rows(_LINE.findall(data, data.find(b"\n") + 1, end), traced(header))
    except (ValueError, KeyError, AttributeError):
        return None
    return (header, footer, rows) if rows and _adds_up(footer, rows) else None


def _rows(lines: Iterable[tuple[bytes, ...]], names: Sequence[str]) -> _Rows | None:
    """Returns what the lines of a file say; None where one is no record of a test, or a repeat."""
    kept: list[tuple[bytes, ...]] = []
    odd: list[Test] = []
    for line in lines:
        if not line[6]:
            kept.append(line)
            continue
        record = parse_line(line[6])
        if record.get("record") == "test":
            odd.append(read_record(record, names))
            kept.append(_columns(odd[-1]))
        elif record.get("record") not in MORE_KINDS:
            return None
    if not kept:
        return None
    tests, suites, clauses, repeats, states, wall_ns, _ = zip(*kept, strict=True)
    table = _table((tests, clauses, suites))
    if set(repeats) != {b"0"} or not table.distinct:
        return None
    verdicts = Counter(test.verdict for test in odd)
    for word, count in Counter(states).items():
        if word in _PLAIN:
            verdicts[word.partition(b'"')[0].decode()] += count
    failing = [test for test in odd if test.failed and test.verdict not in NO_CAUSE]
    letters = "".join([_LETTERS[word] for word in states])
    return _Rows(table, letters, list(map(int, wall_ns)), verdicts, failing)


def _columns(test: Test) -> tuple[bytes, ...]:
    """Returns a record that was read whole as _LINE finds those that it knows."""
    words = (test.id, test.suite, test.clause, test.repeat, f"odd {LETTER[test.state]}")
    return (*(str(word).encode() for word in (*words, test.wall_ns)), b"")


def _adds_up(footer: Mapping[str, Any], rows: _Rows) -> bool:
    """Returns whether the footer counts what is there."""
    count = len(rows.states)
    counts = footer.get("counts")
    stated = counts if isinstance(counts, dict) else {}
    return (
        footer.get("recorded") == count
        and (footer.get("verdict") == "error" or footer.get("planned") == count)
        and {name: number for name, number in stated.items() if number} == dict(rows.verdicts)
    )


def _whole(path: Path) -> tuple[dict[str, Any], dict[str, Any], _Rows, str]:
    """Reads a file of any quality; the last of the four is the first problem of it."""
    found: ResultFile = read_whole(path)
    return found.header, found.footer or {}, _of_tests(found.tests), next(iter(found.problems), "")


def summarize(path: Path) -> tuple[Summary, Table]:
    """Reads a file. Raises OSError, and NoResultsError for a file of something else."""
    data = read_given(path)
    known = _records(data)
    digest = known[1]["digest"] if known else hashlib.sha256(data).hexdigest()
    if known is not None:
        header, footer, rows = known
    else:
        _known_kind(data, path)
        header, footer, rows, problem = _whole(path)
        if problem:
            started = as_text(header.get("started"))
            return Summary(str(path), digest, text.line(problem), started), rows.table
    return _summary(path, digest, header, footer, rows), rows.table


def _known_kind(data: bytes, path: Path) -> None:
    """Raises where a file is whole lines of JSON at its beginning, and none of a result file."""
    try:
        first = parse_line(data.partition(b"\n")[0])
    except ValueError:
        return
    kind = first.get("record") if isinstance(first, dict) else None
    layer = first.get("layer") if isinstance(first, dict) else None
    if kind not in ("header", "test", "footer", *MORE_KINDS) or layer == LITMUS:
        raise NoResultsError(f"{path} is no result file of a run")


def _summary(
    path: Path, digest: str, header: dict[str, Any], footer: dict[str, Any], rows: _Rows
) -> Summary:
    backend = _member(header, "backend")
    return Summary(
        str(path),
        digest,
        started=as_text(header.get("started")),
        name=text.line(as_text(backend.get("name")) or Path(as_text(backend.get("path"))).name, 80),
        version=text.line(as_text(backend.get("version")), 60),
        devices=_devices(header),
        extent=extent_of(header, footer, rows.verdicts),
        shard=as_text(header.get("shard")),
        verdict=as_text(footer.get("verdict")),
        exit_code=as_count(footer.get("exit_code")),
        reason=text.line(as_text(footer.get("reason"))),
        digests=_digests(header),
        settings=_settings(header),
        table=rows.table.key,
        states=rows.states,
        clauses=clause_counts(rows.table, rows.states),
        area_ns=_area_ns(rows),
        failures=_failures(rows.failing),
    )


def _member(header: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = header.get(name)
    return found if isinstance(found, dict) else {}


def _layers(header: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    layers = _member(header, "layers")
    return [one for _, one in sorted(layers.items()) if isinstance(one, dict)] or [header]


def _devices(header: Mapping[str, Any]) -> tuple[str, ...]:
    listed = header.get("devices")
    devices = listed if isinstance(listed, list) else []
    names = (text.line(as_text(one.get("name")), 80) for one in devices if isinstance(one, dict))
    return tuple(dict.fromkeys(filter(None, names)))


def _digests(header: Mapping[str, Any]) -> dict[str, str]:
    """Returns what must be equal in two runs of the same thing: digests, where there are none
    versions."""
    parts = _layers(header)
    found = {}
    for name in ("suite", "spec", "backend"):
        members = [_member(part, name) for part in parts]
        told = [as_text(one.get("digest")) or as_text(one.get("version")) for one in members]
        found[name] = " ".join(dict.fromkeys(told))
    options = [as_text(_member(part, "backend").get("options")) for part in parts]
    found["options"] = " ".join(dict.fromkeys(filter(None, options)))
    torch = [as_text(_member(part, "torch").get("version")) for part in parts]
    found["pytorch"] = " ".join(dict.fromkeys(filter(None, torch)))
    return found


def _settings(header: Mapping[str, Any]) -> dict[str, str]:
    machine = _member(header, "machine")
    told = ("host_os", "kernel", "cpu", "cores")
    return {
        "seed": as_text(header.get("seed")),
        "order": as_text(header.get("shuffle")),
        "machine": text.line(" ".join(as_text(machine.get(name)) for name in told), 160),
        "device": ", ".join(_devices(header)),
    }


def _area_ns(rows: _Rows) -> dict[str, int]:
    found: dict[str, int] = dict.fromkeys(rows.table.areas, 0)
    for area, spent in zip(rows.table.areas, rows.wall_ns, strict=True):
        found[area] += spent
    return found


def _failures(failing: Iterable[Test]) -> tuple[Failures, ...]:
    groups: dict[str, list[Test]] = {}
    for test in failing:
        groups.setdefault(fingerprint(test), []).append(test)
    return tuple(_group(cause, tests) for cause, tests in groups.items())


def _group(cause: str, tests: list[Test]) -> Failures:
    first = tests[0]
    clauses = {test.clause for test in tests}
    said = fingerprint_words(first, len(clauses)) or first.cause or first.what or first.clause
    states = sorted({test.state for test in tests}, key=STATES.index)
    return Failures(
        text.line(cause, SAID), text.line(said, 160), first.clause,
        tuple(dict.fromkeys(text.line(test.id, 400) for test in tests)), tuple(states),
        text.line(seen_words(first), SAID), text.line(first.replay, 900),
    )  # fmt: skip
