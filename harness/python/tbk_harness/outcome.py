# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What every command does at its end: render, tell, and leave with a documented exit code."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.text import Text
from tbk_reports.extent import extent
from tbk_reports.html import coverage_links
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_USAGE,
    Judged,
    ResultFile,
    read_results,
)
from tbk_reports.render import write_reports
from tbk_reports.terminal import print_report
from tbk_reports.text import line

from tbk_harness import baseline, locate, reproducer
from tbk_harness.enrich import enrich
from tbk_harness.judge import Known, judge
from tbk_harness.stacks import name_frames
from tbk_harness.suggest import unknown_selector
from tbk_harness.waivers import WaiverError, load_waivers


def stop(code: int, message: str) -> NoReturn:
    """Ends with one clear line, and a documented exit code."""
    print(f"tbk: {line(message, 600)}", file=sys.stderr)
    raise SystemExit(code)


def reason(error: OSError) -> str:
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def console(quiet: bool = False) -> Console:
    return Console(quiet=quiet, highlight=False, markup=False, emoji=False, soft_wrap=True)


def read(path: Path) -> ResultFile:
    try:
        found = read_results(path)
    except OSError as error:
        stop(EXIT_USAGE, f"cannot read {reason(error)}")
    if not (found.header or found.tests or found.footer):
        stop(EXIT_USAGE, f"{path} is no result file: {found.problems[0]}")
    return found


def today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def verdict_on(results: ResultFile, known: Known) -> Judged:
    """Returns the judge's verdict as of today, with the clauses' sentences and the functions of
    crashes filled in where they fit."""
    return judge(name_frames(enrich(results)), known, today())


def strict(judged: Judged, fail_on: str | None) -> Judged:
    """With --fail-on partial a pass of a part is a failure, and the reports say why."""
    if fail_on != "partial" or judged.verdict != "pass":
        return judged
    found = extent(judged)
    if not found.partial:
        return judged
    told = f"the run is partial, which --fail-on partial forbids: {'; '.join(found.missing)}"
    return replace(
        judged, verdict="fail", exit_code=EXIT_FINDINGS, problems=(*judged.problems, told)
    )


def known_words(only: Sequence[str]) -> None:
    """Stops where a word of --only names nothing, before anything is run or replaced."""
    if said := unknown_selector(only):
        stop(EXIT_USAGE, said)


def known_from(waivers: Path | None, causes: Path | None = None) -> Known:
    try:
        return Known(
            load_waivers(waivers) if waivers else (), baseline.load(causes) if causes else None
        )
    except (WaiverError, baseline.BaselineError) as error:
        stop(EXIT_USAGE, str(error))


def write_baseline(judged: Judged, path: Path) -> None:
    """The causes of failure of a run, for --baseline. A run without a verdict has none."""
    if judged.verdict == "error":
        print(f"tbk: {path} is not written: the run has no verdict", file=sys.stderr)
        return
    try:
        path.write_text(baseline.document(judged, today()), "utf-8")
    except OSError as error:
        stop(EXIT_NOT_WRITTEN, f"the baseline cannot be written: {reason(error)}")


def library_file(name: str) -> str:
    """Returns a file, one of the suite's backends where no file has the name. What is none stops
    here, before anything of the last run is touched."""
    if os.path.lexists(name):
        return name
    own = locate.library(name) if name.isidentifier() else None
    if own is None:
        stop(EXIT_BAD_LIBRARY, f"{name}: no such file, and no backend that comes with the suite")
    return str(own)


def prepare(folder: Path) -> None:
    """Finds out before a run whether its results can be written."""
    probe = folder / ".tbk-write-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        stop(EXIT_NOT_WRITTEN, f"the results cannot be written: {reason(error)}")


def finish(judged: Judged, folder: Path, coverage: Path | None, quiet: bool = False) -> NoReturn:
    """Writes all reports, prints the verdict and the page's path last."""
    out = console()
    links: Sequence[tuple[str, str]] = coverage_links(coverage, folder) if coverage else ()
    try:
        judged = reproducer.write(judged, folder)
        paths = write_reports(judged, folder, links)
    except OSError as error:
        print_report(judged, out)
        stop(EXIT_NOT_WRITTEN, f"the reports cannot be written: {reason(error)}")
    if not quiet:
        print_report(judged, out)
    out.print(Text(str(paths["html"])))
    raise SystemExit(judged.exit_code)
