# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Shards of one run as the run that they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import replace

from .extent import WHOLE, Extent
from .history_summary import Summary, Table, clause_counts

MOST = 10_000  # parts of a run


def _part(run: Summary) -> tuple[int, int]:
    """Returns number and count of a shard; (1, 1) for all else."""
    number, _, count = run.shard.partition("/")
    if run.shard in WHOLE or not (number.isdecimal() and count.isdecimal()):
        return 1, 1
    known = 1 <= int(number) <= int(count) <= MOST
    return (int(number), int(count)) if known else (1, 1)


def whole_runs(runs: Iterable[Summary], tables: MutableMapping[str, Table]) -> list[Summary]:
    """Returns the runs, with shards put together: of the same thing with the same settings, each
    number once, in the order in which they began. Adds the tables of what was put together."""
    found: list[Summary] = []
    waiting: dict[tuple[int, tuple[object, ...]], dict[int, Summary]] = {}
    for run in sorted(runs, key=lambda one: (one.started, one.path)):
        number, count = _part(run)
        if count == 1:
            found.append(run)
            continue
        open_one = waiting.setdefault((count, _identity(run)), {})
        if number in open_one:  # the next run begins
            found.append(_joined(list(open_one.values()), count, tables))
            open_one.clear()
        open_one[number] = run
    for (count, _), parts in waiting.items():
        found.append(_joined(list(parts.values()), count, tables))
    return found


def _identity(run: Summary) -> tuple[object, ...]:
    """Returns what the shards of one run have in common."""
    told = (run.name, run.extent.tier, run.extent.layers, run.extent.simulated)
    settings = (run.settings.get("seed"), run.settings.get("order"))
    return (*told, *settings, tuple(sorted(run.digests.items())))


def _joined(parts: Sequence[Summary], count: int, tables: MutableMapping[str, Table]) -> Summary:
    """Returns shards as one run, which is partial where one of them is missing."""
    states: dict[str, str] = {}
    rows: list[tuple[str, str, str]] = []
    for part in parts:
        table = tables[part.table]
        columns = zip(table.tests, table.clauses, table.suites, part.states, strict=True)
        for test, clause, suite, letter in columns:
            if test not in states:
                rows.append((test, clause, suite))
            states[test] = min(states.get(test, letter), letter)
    made = Table(*zip(*rows, strict=True)) if rows else Table((), (), ())
    tables[made.key] = made
    spent: Counter[str] = Counter()
    for part in parts:
        spent.update(part.area_ns)
    worst = max(parts, key=lambda one: ("pass", "fail").index(one.verdict)
                if one.verdict in ("pass", "fail") else 2)  # fmt: skip
    letters = "".join(states.values())
    return replace(
        parts[0], path=", ".join(part.path for part in parts[:4]), extent=_extent(parts, count),
        shard="", verdict=worst.verdict, exit_code=worst.exit_code, reason=worst.reason,
        table=made.key, states=letters, clauses=clause_counts(made, letters), area_ns=dict(spent),
        failures=tuple(one for part in parts for one in part.failures),
    )  # fmt: skip


def _extent(parts: Sequence[Summary], count: int) -> Extent:
    there = {_part(part)[0] for part in parts}
    missing = [f"shard {one}/{count} is missing" for one in range(1, count + 1) if one not in there]
    for part in parts:
        missing += [one for one in part.extent.missing if not one.startswith("shard ")]
    first = parts[0].extent
    planned = sum(part.extent.planned for part in parts)
    recorded = sum(part.extent.recorded for part in parts)
    told = tuple(dict.fromkeys(missing))
    return replace(first, planned=planned, recorded=recorded, missing=told)
