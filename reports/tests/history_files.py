# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Result files of many days, byte for byte in the form in which tbk-run writes them."""

from __future__ import annotations

import datetime
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import synthetic

Record = synthetic.Record
FIRST = datetime.datetime(2026, 1, 1, 3, 0, tzinfo=datetime.timezone.utc)
Day = Callable[[int, int], str]  # (day, test) to a verdict


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def started(day: int) -> str:
    return (FIRST + datetime.timedelta(days=day)).isoformat().replace("+00:00", "Z")


def header(day: int, planned: int, **changes: Any) -> Record:
    made = synthetic.header(planned, started=started(day), layer="c")
    made["devices"][0] |= {"simulated": False}
    return {**made, **changes}


def write(path: Path, records: list[Record], head: Record, **changes: Any) -> Path:
    """Writes a whole file; `changes` are of its footer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = b"".join(map(_line, [head, *records]))
    foot = synthetic.footer(records, hashlib.sha256(body).hexdigest(), head["planned"], **changes)
    path.write_bytes(body + _line(foot))
    return path


def case(test: int, verdict: str = "pass", **changes: Any) -> Record:
    """Returns a record of which all cases of one `test` differ in nothing but times and verdict."""
    return synthetic.case(test, verdict, **changes)


def one_day(folder: Path, day: int, verdicts: str, **changes: Any) -> Path:
    """Writes a file of as many tests as `verdicts` has letters: p(ass), f(ail), u(nsupported),
    l(eft-out), n(ot-shown), c(rash). Changes are of the header."""
    words = {"p": "pass", "f": "fail", "u": "unsupported", "l": "left-out", "n": "not-shown",
             "c": "crash"}  # fmt: skip
    records = [case(at, words[letter]) for at, letter in enumerate(verdicts)]
    path = folder / f"{started(day)[:10]}" / "results.jsonl"
    return write(path, records, header(day, len(records), **changes))


FILL = "x" * 80  # makes a record as long as one of a run with its calls and its replay command


def year(folder: Path, days: int = 365, tests: int = 7_000) -> None:
    """Writes the nightly runs of a year: causes that come and go, tests that change by
    themselves, a backend that changes every other week, partial runs."""
    plain = [case(at, level="must", calls=FILL) for at in range(tests)]
    halves = []
    for record in plain:
        before, after = _line(record).split(b'"duration_ns":', 1)
        halves.append((before + b'"duration_ns":', after.partition(b',"phase"')[2]))
    choice = random.Random(0)  # noqa: S311
    causes = [_cause(choice, at, days, tests) for at in range(40)]
    flaky = choice.sample(range(tests), 30)
    for day in range(days):
        odd: dict[int, Record] = {}
        for name, begin, end, members in causes:
            if begin <= day < end:
                odd |= {at: case(at, "fail", cause=name, calls=FILL) for at in members}
        odd |= {at: case(at, "crash", cause="flaky") for at in flaky if choice.random() < 0.05}
        if day % 50 == 20:
            odd |= {at: case(at, "left-out") for at in range(tests // 2, tests)}
        _write_day(folder, day, tests, halves, odd, choice)


def _cause(
    choice: random.Random, at: int, days: int, tests: int
) -> tuple[str, int, int, list[int]]:
    begin = choice.randrange(days)
    members = choice.sample(range(tests), choice.randrange(1, 20))
    return f"cause number {at}", begin, begin + choice.randrange(1, 120), members


def _write_day(
    folder: Path, day: int, tests: int, halves: list[tuple[bytes, bytes]], odd: dict[int, Record],
    choice: random.Random,
) -> None:  # fmt: skip
    head = header(day, tests)
    head["backend"] |= {"version": f"1.{day // 14}.0", "digest": f"{day // 14:064x}"}
    body = [_line(head)]
    for at, (before, after) in enumerate(halves):
        spent = choice.randrange(1_000_000, 9_000_000)
        plain = before + b'%d,"wall_ns":%d,"phase"' % (spent, spent + 90_000) + after
        body.append(_line(odd[at]) if at in odd else plain)
    counts = Counter(one["verdict"] for one in odd.values())
    joined = b"".join(body)
    foot = synthetic.footer([], hashlib.sha256(joined).hexdigest(), tests)
    foot["counts"] = {"pass": tests - len(odd), **counts}
    foot |= {"recorded": tests, "verdict": "fail" if odd else "pass", "exit_code": int(bool(odd))}
    path = folder / started(day)[:10] / "results.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(joined + _line(foot))
