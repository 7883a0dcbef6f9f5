# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A history as a page and as JSON, and whether the two say the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import text
from .history import AreaLine, CauseLine, Flaky, History, Series, day
from .history_summary import STATE, Summary
from .html import page, tone
from .lint_page import differ
from .words import HOLDING, STATES

PAGE = "history.html"
CAUSES = 150  # of a series that are on the page; the JSON has all
FLAKY = 60
RUNS = 1_000  # rows of runs, the latest
TONES = ("good", "quiet", "warn", "bad")  # from the bottom of a column to its top


def _bars(columns: Sequence[Mapping[str, float]], partial: Sequence[bool]) -> list[dict[str, str]]:
    """Returns columns, one a run, each a stack of tones, as a path for each tone; those of partial
    runs are paths of their own. Neighbours of equal height are one."""
    paths: dict[tuple[str, bool], list[str]] = {}
    for name in TONES:
        at = 0
        while at < len(columns):
            bottom, height = _place(columns[at], name)
            width = 1
            while at + width < len(columns) and partial[at + width] == partial[at] and (
                _place(columns[at + width], name) == (bottom, height)
            ):  # fmt: skip
                width += 1
            if height:
                told = f"M{at} {bottom:g}h{width}v{height:g}h-{width}z"
                paths.setdefault((name, partial[at]), []).append(told)
            at += width
    return [
        {"tone": name, "part": " part" if part else "", "path": "".join(told)}
        for (name, part), told in paths.items()
    ]


def _place(column: Mapping[str, float], name: str) -> tuple[float, float]:
    """Returns where a tone's part of a column begins, from below, and its height."""
    below = sum(column.get(one, 0) for one in TONES[: TONES.index(name)])
    return below, column.get(name, 0)


def _clause_bars(series: Series) -> dict[str, Any]:
    columns = [_tones(run.clauses) for run in series.runs]
    most = max((sum(one.values()) for one in columns), default=0)
    return {"paths": _bars(columns, series.partial), "most": int(most) or 1}


def _tones(counts: Mapping[str, int]) -> dict[str, float]:
    found: dict[str, float] = {}
    for state, count in counts.items():
        found[tone(state)] = found.get(tone(state), 0) + count
    return found


def _time_bars(line: AreaLine, series: Series) -> dict[str, Any]:
    most = max(line.spent_ns) or 1
    heights = [{"quiet": round(100 * one / most)} for one in line.spent_ns]
    return {"line": line, "paths": _bars(heights, series.partial), "most": 100, "peak": most}


def _strip(letters: Iterable[str]) -> list[dict[str, str]]:
    """Returns one row of cells, a letter of a state each; blanks are left out."""
    cells = [{} if one == " " else {tone(STATE[one]): 1.0} for one in letters]
    # Each cell begins at the bottom, whatever its tone.
    whole = [False] * len(cells)
    alone = ([{name: one[name]} if name in one else {} for one in cells] for name in TONES)
    return [path for columns in alone for path in _bars(columns, whole)]


def _cause_strip(one: CauseLine, runs: int) -> str:
    told, at = [], 0
    while at < len(one.seen):
        begin = end = one.seen[at]
        while at + 1 < len(one.seen) and one.seen[at + 1] == end + 1:
            at += 1
            end = one.seen[at]
        told.append(f"M{begin} 0h{end - begin + 1}v1h-{end - begin + 1}z")
        at += 1
    return "".join(told) if runs else ""


def held(run: Summary) -> int:
    """Returns how many clauses hold in a run."""
    return sum(count for state, count in run.clauses.items() if state in HOLDING)


def history_document(found: History) -> dict[str, Any]:
    """Returns the history as JSON."""
    return {
        "format": 1,
        "kind": "tbk-history",
        "runs": found.runs,
        "torn": [{"file": one.path, "problem": one.problem} for one in found.torn],
        "copies": found.copies,
        "others": found.others,
        "series": [_series(one) for one in found.series],
    }


def _series(one: Series) -> dict[str, Any]:
    return {
        "title": one.title,
        "backend": one.latest.name,
        "simulated": one.simulated,
        "tier": one.latest.extent.tier,
        "layers": list(one.latest.extent.layers),
        "runs": [_run(run) for run in one.runs],
        "causes": [_cause(line, one) for line in one.causes],
        "flaky": [_flaky(line, one) for line in one.flaky],
        "area_ns": {line.name: list(line.spent_ns) for line in one.areas},
    }


def _run(run: Summary) -> dict[str, Any]:
    return {
        "file": run.path,
        "started": run.started,
        "version": run.version,
        "verdict": run.verdict,
        "exit_code": run.exit_code,
        "partial": list(run.extent.missing),
        "clauses": {state: run.clauses[state] for state in STATES if state in run.clauses},
        "tests": run.extent.recorded,
        "digests": dict(run.digests),
    }


def _cause(line: CauseLine, series: Series) -> dict[str, Any]:
    return {
        "cause": line.failures.cause,
        "title": line.failures.title,
        "clause": line.failures.clause,
        "state": line.state,
        "first": line.first,
        "last": line.last,
        "since": line.since,
        "runs": len(line.seen),
        "tests": line.tests,
        "example": line.failures.tests[0],
        "file": series.runs[line.seen[-1]].path,
    }


def _flaky(line: Flaky, series: Series) -> dict[str, Any]:
    return {
        "test": line.test,
        "clause": line.clause,
        "verdicts": list(line.verdicts),
        "changes": line.flips,
        "runs": line.runs,
        "differ": list(line.differ),
        "of": len(series.runs),
    }


def _changes(runs: Sequence[Summary]) -> list[dict[str, Any]]:
    """Returns the runs, the latest first, each with what is not as in the one before."""
    rows = []
    for at, run in enumerate(runs):
        before = runs[at - 1] if at else run
        told = [name for name in run.digests if run.digests[name] != before.digests.get(name)]
        now, then = run.settings, before.settings
        told += [name for name in ("machine", "device") if now.get(name) != then.get(name)]
        counted = {"held": held(run), "clauses": sum(run.clauses.values())}
        rows.append({"run": run, "day": day(run), "changed": told,
                     "failing": len(run.failures), **counted})  # fmt: skip
    return rows[::-1][:RUNS]


def _page_of(run: Summary, folder: Path) -> str:
    """Returns the address of the page beside a result file, seen from the folder of this page;
    empty where there is none."""
    beside = Path(run.path.partition(", ")[0]).resolve().parent / "index.html"
    return os.path.relpath(beside, folder).replace(os.sep, "/") if beside.is_file() else ""


def _block(
    series: Series, number: int, sentences: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    latest = len(series.runs) - 1
    return {
        "series": series,
        "id": f"series-{number}",
        "first": day(series.runs[0]),
        "last": day(series.runs[latest]),
        "clauses": _clause_bars(series),
        "states": [(state, series.latest.clauses[state]) for state in reversed(STATES)
                   if state in series.latest.clauses],
        "causes": [
            {"line": one, "strip": _cause_strip(one, len(series.runs)),
             "sentence": text.line(sentences.get(one.failures.clause, ""), 300),
             "page": _page_of(series.runs[one.seen[-1]], folder)}
            for one in series.causes[:CAUSES]
        ],
        "flaky": [{"line": one, "strip": _strip(one.letters)} for one in series.flaky[:FLAKY]],
        "areas": [_time_bars(one, series) for one in (series.whole_time, *series.areas)],
        "runs": _changes(series.runs),
        "still": sum(one.still for one in series.causes),
        "partial": sum(series.partial),
    }  # fmt: skip


def headline(found: History) -> str:
    """Returns the first sentence of page and terminal: what the latest runs leave open."""
    causes = sum(one.still for series in found.series for one in series.causes)
    new = sum(len(series.new) for series in found.series)
    told = f"{text.count_words(causes, 'cause')} of failure open" if causes else "No cause is open"
    more = f", {new:,} of {'them' if causes != new else 'which all are'} new" if new else ""
    return told + more.replace("of which all are new", "all of them new")


def render_history(
    found: History, folder: Path, sentences: Mapping[str, str], command: str = ""
) -> str:
    """Returns one self-contained page, which will lie in `folder`; `sentences` are of clauses."""
    folder = folder.resolve()
    blocks = [_block(one, at, sentences, folder) for at, one in enumerate(found.series, 1)]
    document = history_document(found)
    for told in document["series"]:  # what is not shown on the page either
        told["causes"], told["flaky"] = told["causes"][:CAUSES], told["flaky"][:FLAKY]
        del told["area_ns"]
        for run in told["runs"]:
            del run["digests"]
    context = {"found": found, "blocks": blocks, "headline": headline(found), "command": command,
               "shown_causes": CAUSES, "shown_flaky": FLAKY}  # fmt: skip
    return page("history.html.j2", context, document)


_DATA = re.compile(r'<script type="application/json" id="tbk-data">(.*?)</script>', re.DOTALL)
_CAUSE = re.compile(
    r'data-cause="(\d+)" data-state="([^"]+)" data-first="([^"]+)" data-last="([^"]+)"'
)
_FLAKY = re.compile(r'data-flaky="(\d+)" data-changes="(\d+)"')
_RUN = re.compile(r'data-run="(\d+)" data-held="(\d+)" data-partial="(\w+)"')


def lint_history(source: str) -> list[str]:
    """Returns where a page says something else than its data; nothing where they agree."""
    data = _DATA.search(source)
    try:
        document = json.loads(data[1] if data else "")
        series = list(enumerate(document["series"], 1))
        causes = [(str(at), one["state"], one["first"], one["last"])
                  for at, told in series for one in told["causes"]]  # fmt: skip
        flaky = [(str(at), str(one["changes"])) for at, told in series for one in told["flaky"]]
        runs = [
            (str(at), str(sum(n for state, n in run["clauses"].items() if state in HOLDING)),
             "yes" if run["partial"] or run["verdict"] not in ("pass", "fail") else "no")
            for at, told in series for run in told["runs"][::-1][:RUNS]
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"the history cannot be read: {error}"]
    found = differ("history causes", causes, _CAUSE.findall(source))
    found += differ("history flaky tests", flaky, _FLAKY.findall(source))
    return found + differ("history runs", runs, _RUN.findall(source))
