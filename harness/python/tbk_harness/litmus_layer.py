# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Litmus programs as a part of tbk run: when they are run, for how long, and where results go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbk_reports.finding import finding_of
from tbk_reports.litmus import LAYER
from tbk_reports.model import read_results

from tbk_harness import litmus_runner
from tbk_harness.folder import PARTS
from tbk_harness.layers import Part
from tbk_harness.litmus_part import Subject, document, tests, unwritten
from tbk_harness.litmus_runner import REPRODUCER, Hunted, again
from tbk_harness.progress_row import LITMUS
from tbk_harness.runner import Ended
from tbk_harness.session import Session

# Of a tier: what programs get, and what a finding gets besides to become smaller.
SECONDS = {"quick": 0.5, "thorough": 58.0}
SHRINK_S = {"quick": 3.0, "thorough": 20.0}
PROCESSES = {"quick": ("--processes=1",), "thorough": ()}  # else as many as there is time for
SHARE = 0.1  # of a budget
LEAST_S = 0.1  # below it nothing is begun
FIRST_SHARDS = ("", "1")
NEEDED = ("stream", "event")


@dataclass(frozen=True)
class Plan:
    """The program that is to run; None: no programs are run, `why` says so where that is a lack."""

    program: Path | None = None
    why: str = ""


def plan(options: Mapping[str, Any], tsan: bool) -> Plan:
    """Returns whether a run gets litmus programs: they are of the whole suite, and of one shard of
    it."""
    shard = str(options.get("shard") or "").partition("/")[0]
    if options.get("only") or shard not in FIRST_SHARDS:
        return Plan()
    if tsan:
        return Plan(why="the litmus programs were not run: --tsan is of the tests in C")
    program = litmus_runner.runner()
    why = "" if program else "the litmus programs were not run: tbk-litmus was not found"
    return Plan(program, why)


Hunt = Callable[[list[str], Path], Hunted]


def run(
    session: Session, library: str, options: Mapping[str, Any], order: Plan,
    hunt: Hunt | None = None,
) -> None:  # fmt: skip
    """Runs programs on a library that the C layer could judge, as one more part of the session.

    `hunt`: by tbk-litmus's words, with what it writes in a folder; on this machine by default.
    """
    if order.program is None:
        if order.why:  # the reports say by themselves that none were run
            session.display.tell(order.why)
        return
    program = order.program
    path = session.folder / PARTS / f"{LAYER}.jsonl"
    if session.request.resume and path.exists() and (left := read_results(path).footer):
        code = left.get("exit_code")
        if code in (0, 1):
            session.parts.append(Part(LAYER, path, Ended(code, "")))
            return
    header = read_results(session.parts[0].path).header
    tier = str(options.get("tier") or "quick")
    seconds = _seconds(session, tier)
    subject = Subject(
        missing=_missing(header),
        left_out="the budget left no time for litmus programs" if seconds < LEAST_S else "",
    )
    hunted = Hunted(0, "", ())
    if not subject.missing and not subject.left_out:
        session.display.tell(f"order: litmus programs for {seconds:g} s")
        session.display.phase(LITMUS, seconds)
        words = [*_arguments(options, seconds, SHRINK_S[tier]), *PROCESSES[tier]]
        here = hunt or (lambda said, folder: litmus_runner.hunt(program, library, said, folder))
        hunted = here(words, path.parent)
        subject = _found(session, library, options, hunted)
        for lack in filter(None, (hunted.printed.rstrip(), unwritten(hunted))):
            session.display.tell(lack)
        session.notes += filter(None, [unwritten(hunted)])
    records = tests(litmus_runner.kinds(program), hunted, subject)
    path.write_bytes(document(records, header, hunted, tier))
    footer = read_results(path).footer or {}
    session.parts.append(Part(LAYER, path, Ended(int(footer.get("exit_code", 6)), hunted.said)))


def _missing(header: Mapping[str, Any]) -> str:
    """Returns the first capability that programs need and the library does not declare."""
    declared = header.get("capabilities")
    offered = declared if isinstance(declared, Mapping) else {}
    return next((name for name in NEEDED if offered.get(name) is False), "")


def _seconds(session: Session, tier: str) -> float:
    budget, left = session.request.budget, session.left()
    return SECONDS[tier] if budget is None else min(SECONDS[tier], budget * SHARE, left)


def _arguments(options: Mapping[str, Any], seconds: float, shrink: float) -> list[str]:
    found = [f"--seconds={seconds:g}", f"--shrink-time={shrink:g}"]
    found += [f"--seed={options['seed']}"] if options.get("seed") else []
    if options.get("open_timeout"):
        found.append(f"--open-timeout={options['open_timeout']}")
    return [*found, *(f"--backend-option={one}" for one in options.get("backend_option") or ())]


def _found(session: Session, library: str, options: Mapping[str, Any], hunted: Hunted) -> Subject:
    """Returns what a finding brings besides: how to run it again, and its C file."""
    if hunted.finding is None:
        return Subject()
    file = session.folder / PARTS / REPRODUCER
    code = file.read_text("utf-8", "replace") if hunted.wrote and file.exists() else ""
    found = finding_of(hunted.finding)
    only = range(found.index, found.index + 1)
    return Subject(again([library], found.seed, only, options.get("backend_option") or ()), code)
