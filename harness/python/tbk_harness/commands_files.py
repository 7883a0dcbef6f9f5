# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk report, diff and lint-reports: the commands that read result files alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from rich.text import Text
from tbk_reports.comparison import Comparison
from tbk_reports.comparison_page import PAGE, SUMMARY, lint_comparison, write_comparison
from tbk_reports.comparison_terminal import print_comparison
from tbk_reports.lint import lint_reports
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_PASS,
    EXIT_USAGE,
    ResultFile,
)
from tbk_reports.text import line

from tbk_harness import handed, outcome, places
from tbk_harness.command_line import Command
from tbk_harness.folder import PARTS, PREVIOUS, RESULTS
from tbk_harness.merge import merge, mixed
from tbk_harness.options import FAIL_ON_HELP, FOLDER, INPUT, PATH, PROFILE, TRACE, fail_on

REPORT_EXAMPLES = """\
tbk report tbk-report/results.jsonl                the pages again, from the file alone
tbk report shard-*.jsonl --fail-on partial         one verdict on all shards; one that is missing
                                                   or torn is named
tbk report results.jsonl --waivers waivers.toml    judged with what is known by now"""


@click.command(name="report", cls=Command, examples=REPORT_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=INPUT)
@click.option("--waivers", type=INPUT, help="Known failures, in TOML.")
@click.option("--baseline", type=INPUT, help="Known causes, as --write-baseline wrote them.")
@click.option("--write-baseline", type=PATH, metavar="FILE", help="Write the causes to FILE.")
@click.option("--fail-on", multiple=True, callback=fail_on, metavar="WORDS", help=FAIL_ON_HELP)
@click.option(
    "--report-dir", type=FOLDER, default="tbk-report",
    show_default=True, help="Where the reports go.",
)  # fmt: skip
@click.option("--coverage-dir", type=PATH, help="Coverage pages to link.")
@PROFILE
@TRACE
@click.option("--open", "open_page", is_flag=True, help="Show the page when it is written.")
def report_command(
    results: tuple[Path, ...],
    waivers: Path | None,
    baseline: Path | None,
    write_baseline: Path | None,
    fail_on: tuple[str, ...],
    report_dir: Path,
    coverage_dir: Path | None,
    profile: str | None,
    trace: Mapping[str, int] | None,
    open_page: bool,
) -> None:
    """Judge RESULTS again from the files alone, shards together, and write all reports."""
    known = outcome.known_from(waivers, baseline)
    files = [file for path in results for file in _side(path)]
    found = merge(outcome.read_parts(files))
    outcome.prepare(report_dir)
    if write_baseline:
        outcome.writable(write_baseline)
        places.free(write_baseline, places.CAUSES)
    judged = outcome.strict(outcome.verdict_on(found, known), fail_on)
    judged = outcome.with_trace(outcome.with_profile(judged, profile), trace)
    if write_baseline:
        outcome.write_baseline(judged, write_baseline)
    lasting = files[0] if len(files) == 1 and not handed.is_copy(files[0]) else None
    outcome.finish(judged, report_dir, coverage_dir, open_page=open_page, results=lasting)


@click.command(name="diff")
@click.argument("results", nargs=-1, type=INPUT, metavar="[BEFORE] [AFTER]")
@click.option("--waivers", type=INPUT, help="Known failures, in TOML; for both sides.")
@click.option("--baseline", type=INPUT, help="Known causes, for both sides: they are not new.")
@click.option(
    "--report-dir", type=FOLDER,
    help=f"Write {PAGE} and {SUMMARY} there, too.",
)  # fmt: skip
def diff_command(
    results: tuple[Path, ...], waivers: Path | None, baseline: Path | None, report_dir: Path | None
) -> None:
    """Compare two result files, by cause. What is new or no longer tested makes the exit code 1.

    AFTER is tbk-report/results.jsonl unless it is given, and BEFORE what the run before left beside
    AFTER, results.previous.jsonl. A folder is its results.jsonl; where it has none, the shards that
    lie in it, or in its parts/, together.
    """
    known = outcome.known_from(waivers, baseline)
    if len(results) > 2:
        outcome.stop(EXIT_USAGE, "two result files are compared, not more")
    after = _side(results[-1] if results else Path("tbk-report"))
    before = _side(results[0]) if len(results) > 1 else [after[0].with_name(PREVIOUS)]
    files = [_together(paths) for paths in (before, after)]
    for problem in mixed(files):
        outcome.stop(EXIT_USAGE, f"these are not compared: {problem}")
    found = Comparison(*(outcome.verdict_on(file, known) for file in files))
    if report_dir:
        _write_comparison(found, report_dir)
    print_comparison(found, outcome.console())
    raise SystemExit(EXIT_PASS if found.clean and not found.torn else EXIT_FINDINGS)


def _side(path: Path) -> list[Path]:
    """Returns the result files of one side: a file, or what a folder has."""
    if not path.is_dir() or (path / RESULTS).exists():
        return [path / RESULTS if path.is_dir() else path]
    parts = sorted(path.glob("*.jsonl")) or sorted((path / PARTS).glob("*.jsonl"))
    return parts or [path / RESULTS]


def _together(paths: list[Path]) -> ResultFile:
    return outcome.read(paths[0]) if len(paths) == 1 else merge(outcome.read_parts(paths))


def _write_comparison(found: Comparison, folder: Path) -> None:
    """Ends the command where the reports can't be written."""
    try:
        write_comparison(found, folder)
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, f"{folder}: {error.strerror or error}")


@click.command(name="lint-reports", hidden=True)
@click.argument("folder", type=PATH, default="tbk-report")
def lint_command(folder: Path) -> None:
    """Compare the reports in FOLDER: they must say the same. For the suite's own tests."""
    found = [*lint_reports(folder), *lint_comparison(folder)]
    out = outcome.console()
    for problem in found:
        out.print(Text(line(problem, 400), style="red"))
    if not found:
        out.print(Text(f"{folder}: the reports agree"))
    raise SystemExit(EXIT_FINDINGS if found else EXIT_PASS)
