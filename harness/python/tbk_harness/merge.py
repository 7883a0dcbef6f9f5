# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Several result files of one backend, such as shards, as one."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tbk_reports.extent import simulated
from tbk_reports.model import ResultFile

# What must be the same in all parts, or they are not parts of one run.
IDENTITY = ("suite", "spec", "backend", "selection", "shuffle", "repeat", "seed", "tier", "timings")


def _shards(results: Sequence[ResultFile]) -> list[str]:
    """Returns which shards are missing or doubled."""
    stated = [str(part.header.get("shard") or "1/1") for part in results]
    totals = {shard.partition("/")[2] for shard in stated}
    if len(totals) != 1:
        return [f"the files are shards of different wholes: {', '.join(sorted(stated))}"]
    total = totals.pop()
    counted = Counter(stated)
    found = [
        f"shard {shard} is there {count} times" for shard, count in counted.items() if count > 1
    ]
    if total.isdecimal() and int(total) <= 10_000:
        wanted = {f"{index}/{total}" for index in range(1, int(total) + 1)}
        found += [f"shard {shard} is missing" for shard in sorted(wanted - set(stated))]
    return found


def _differences(results: Sequence[ResultFile]) -> list[str]:
    first = results[0]
    found = [
        f"{part.path} differs from {first.path} in {name}"
        for part in results[1:]
        for name in IDENTITY
        if part.header.get(name) != first.header.get(name)
    ]
    return found + mixed(results)


def mixed(results: Sequence[ResultFile]) -> list[str]:
    """Returns which files are of a simulated device, where others are not; else nothing."""
    known = [part for part in results if part.header]
    told = [part for part in known if simulated(part.header, part.footer or {})]
    if len(told) in (0, len(known)):
        return []
    return [f"{part.path} is of a simulated device, and others are not" for part in told]


def _footer(results: Sequence[ResultFile]) -> dict[str, Any] | None:
    """Returns the worst of all footers; None when one is missing."""
    footers = [part.footer for part in results]
    if any(footer is None for footer in footers):
        return None
    present = [footer for footer in footers if footer is not None]
    # A shard may be empty where there are more shards than tests; the whole must not be.
    told = [footer for footer in present if footer.get("exit_code") != 3] or present
    worst = max(told, key=lambda footer: ("pass", "fail", "error").index(_verdict(footer)))
    return {
        **worst,
        "planned": sum(_number(footer, "planned") for footer in present),
        "recorded": sum(_number(footer, "recorded") for footer in present),
        "duration_ns": _span_ns(results)
        or sum(_number(footer, "duration_ns") for footer in present),
    }


def _stamp(value: object) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None


def _span_ns(results: Sequence[ResultFile]) -> int:
    """From the first start to the last end; shards may have run side by side. 0: not known."""
    starts = [_stamp(part.header.get("started")) for part in results]
    ends = [_stamp((part.footer or {}).get("finished")) for part in results]
    known = [one for one in (*starts, *ends) if one is not None and one.tzinfo is not None]
    if len(known) < len(results) * 2:
        return 0
    return max(int((max(known) - min(known)).total_seconds() * 1e9), 0)


def _verdict(footer: dict[str, Any]) -> str:
    verdict = footer.get("verdict")
    return str(verdict) if verdict in ("pass", "fail") else "error"


def _number(footer: dict[str, Any], name: str) -> int:
    value = footer.get(name)
    return value if isinstance(value, int) else 0


def merge(results: Sequence[ResultFile]) -> ResultFile:
    """Returns one result file; what does not fit together is among its problems."""
    if len(results) == 1:
        return results[0]
    lost = [part for part in results if not (part.header or part.tests)]
    told = tuple(f"{part.path} has no results: {part.problems[0]}" for part in lost)
    if lost:
        found = _merge([part for part in results if part not in lost])
        return replace(found, problems=(*told, *found.problems))
    return _merge(results)


def _merge(results: Sequence[ResultFile]) -> ResultFile:
    tests = tuple(test for part in results for test in part.tests)
    twice = [
        f"{test_id} is in more than one file"
        for (test_id, _), count in Counter(test.key for test in tests).items()
        if count > 1
    ]
    problems = [
        *_shards(results),
        *_differences(results),
        *(f"{part.path}: {problem}" for part in results for problem in part.problems),
        *twice,
    ]
    header = {**results[0].header, "planned": sum(_planned(part) for part in results)}
    if not _shards(results):
        header["shard"] = None
    return ResultFile(
        ", ".join(part.path for part in results), header, tests, _footer(results),
        tuple(problems), tuple(record for part in results for record in part.more),
    )  # fmt: skip


def _planned(part: ResultFile) -> int:
    return _number(part.header, "planned")
