# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk history: one page from many result files."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text
from tbk_reports.model import EXIT_FINDINGS, EXIT_NOT_WRITTEN, EXIT_PASS, EXIT_USAGE
from tbk_reports.text import count_words, line

from tbk_harness import handed, outcome, places, progress
from tbk_harness.command_line import OUTPUT, Command, option
from tbk_harness.options import INPUT
from tbk_harness.progress_row import READING

if TYPE_CHECKING:
    from tbk_reports.history import History

NAMED = 5  # files that could not be used, each in a line
SHOWN = 5  # causes and tests of a series in the terminal
EXAMPLES = """\
tbk history nightly/                      history.html, of all result files below
tbk history nightly/ -o site/history.html --open
tbk history nightly/ --json | jq '.series[].causes[] | select(.state == "open")'"""


@click.command(name="history", cls=Command, examples=EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="DIR...", type=INPUT)
@option(
    OUTPUT, "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="PAGE",
    help="Where the page goes (default: history.html; with --json none, unless it is given).",
)  # fmt: skip
@option(OUTPUT, "--json", "as_json", is_flag=True, help="Print the history as JSON.")
@option(OUTPUT, "--open", "open_page", is_flag=True, help="Show the page when it is written.")
def history_command(
    paths: tuple[Path, ...], output: Path | None, as_json: bool, open_page: bool
) -> None:
    """Tell of many runs since when each cause is there, from their result files alone.

    DIR is a folder with result files anywhere below, or one such file. The page has the clauses
    that hold over time, the first and the last day of each cause, tests that changed their verdict
    though nothing else had changed, and the time per area.

    The exit codes: 0 all files were read, 1 some could not be used and the rest is shown, 2 there
    is no result file, 8 the page could not be written.
    """
    from tbk_reports.history_page import PAGE, history_document  # noqa: PLC0415  # draws pages

    page = output or (None if as_json else Path(PAGE))
    if page is not None:
        places.free(page, places.PAGE)
    out = outcome.console()
    display = progress.begin(out, quiet=as_json)
    found = _collected(paths, display)
    if page is not None:
        _write(found, page)
    progress.end()
    for one in found.torn[:NAMED]:
        print(f"tbk: {line(one.path, 300)} is not in it: {one.problem}", file=sys.stderr)
    if len(found.torn) > NAMED:
        more = count_words(len(found.torn) - NAMED, "more file is", "more files are")
        print(f"tbk: {more} not in it", file=sys.stderr)
    if as_json:
        print(json.dumps(history_document(found), indent=1, ensure_ascii=False))
    else:
        _tell(found, out)
        out.print(Text(str(page)))
    if page is not None and open_page:
        outcome.show_page(page)
    raise SystemExit(EXIT_FINDINGS if found.torn else EXIT_PASS)


def _collected(paths: tuple[Path, ...], display: progress.Display) -> History:
    from tbk_reports.history import History  # noqa: PLC0415
    from tbk_reports.history_read import collect, result_files  # noqa: PLC0415

    try:
        files = result_files(paths)
    except OSError as error:
        outcome.stop(EXIT_USAGE, outcome.reason(error))
    display.phase(READING, unit="files")
    found = collect(files, lambda done, planned: display.show(done, planned, 0))
    for group in (found.summaries, found.torn):
        group[:] = [replace(one, path=handed.as_typed(one.path)) for one in group]
    if not found.summaries:
        named = ", ".join(map(str, paths[:3]))
        torn = found.torn[0] if found.torn else None
        why = f": {torn.path}: {torn.problem}" if torn else ""
        outcome.stop(EXIT_USAGE, f"there is no result file that can be used in {named}{why}")
    return History(found)


def _write(found: History, page: Path) -> None:
    from tbk_reports.history_page import render_history  # noqa: PLC0415
    from tbk_reports.render import write_file  # noqa: PLC0415

    command = shlex.join(["tbk", *sys.argv[1:]])
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_file(page, render_history(found, page.parent, _sentences(), command))
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, f"{page}: {error.strerror or error}")


def _sentences() -> Mapping[str, str]:
    import tbk_contracts  # noqa: PLC0415  # the whole spec

    return {one.id: one.text for one in tbk_contracts.clauses()}


def _tell(found: History, out: Console) -> None:
    from tbk_reports.history_page import headline, held  # noqa: PLC0415

    for series in found.series:
        latest = series.latest
        holding = f"{held(latest)} of {count_words(sum(latest.clauses.values()), 'clause')} hold"
        told = f"{count_words(len(series.runs), 'run')}; in the latest {holding}"
        out.print(Text(series.title, style="bold").append(f": {told}", style="default"))
        still = [one for one in series.causes if one.still]
        for one in still[:SHOWN]:
            since = f"{one.state} since {one.first}" if one.state == "open" else one.state
            out.print(Text(f"  {since:<22} ", style="dim").append(line(one.failures.title, 160)))
        for test in series.flaky[:SHOWN]:
            said = f"  changed {count_words(test.flips, 'time')}"
            out.print(Text(f"{said:<24} ", style="dim").append(line(test.test, 160)))
        more = max(len(still) - SHOWN, 0) + max(len(series.flaky) - SHOWN, 0)
        if more:
            out.print(Text(f"  and {more} more on the page", style="dim"))
    out.print(Text(headline(found), style="bold"))
