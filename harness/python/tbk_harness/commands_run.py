# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk run and tbk replay: the commands that start tbk-run."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.text import Text
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
    Judged,
    Test,
    read_results,
)
from tbk_reports.text import line
from tbk_reports.words import check_words, seen_words, state_words

from tbk_harness import locate, outcome, runner

Command = TypeVar("Command", bound=Callable[..., Any])

RESULTS = "results.jsonl"

# Handed on to tbk-run as they are; it checks their values.
_OPTIONS = (
    click.option("--only", multiple=True, metavar="SEL", help="A clause, area, profile or test."),
    click.option("--backend-option", multiple=True, metavar="K=V", help="For the library."),
    click.option("--jobs", metavar="N", help="Test processes at a time."),
    click.option("--shard", metavar="I/N", help="Run the I-th of N parts."),
    click.option("--repeat", metavar="N", help="Run each test N times."),
    click.option("--shuffle", metavar="SEED", help="Run in another order."),
    click.option("--seed", metavar="N", help="Seed of the inputs."),
    click.option("--isolation", metavar="auto|fork|batch", help="One process a test, or many."),
    click.option("--timeout", metavar="S", help="Deadline of one test."),
    click.option("--open-timeout", metavar="S", help="Deadline of opening the device."),
    click.option("--require", multiple=True, metavar="WORD", help="What must be declared."),
    click.option("--memory-limit", metavar="BYTES", help="Resident memory of a test process."),
)


def runner_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def runner_arguments(library: str, options: dict[str, Any]) -> list[str]:
    """tbk-run's arguments from click's values."""
    # A path that looks like an option would be taken for one.
    arguments = [library if not library.startswith("-") else f"./{library}"]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for item in value if isinstance(value, tuple) else (value,) if value is not None else ():
            arguments += [f"{flag}={item}"]
    return arguments


def _judged_without_results(ended: runner.Ended, library: str) -> Judged:
    """A verdict where tbk-run left no file: what it said, and its exit code."""
    said = line(ended.said, 400) or f"tbk-run ended with status {ended.exit_code}"
    known = EXIT_FINDINGS < ended.exit_code <= 8
    code = ended.exit_code if known else EXIT_SUITE_ERROR
    return Judged(
        header={"backend": {"path": library}}, footer={}, tests=(), verdict="error",
        exit_code=code, problems=(said,),
    )  # fmt: skip


@click.command(name="run")
@click.argument("library", metavar="LIB")
@runner_options
@click.option("--resume", is_flag=True, help="Go on where an interrupted run ended.")
@click.option("--waivers", type=click.Path(path_type=Path), help="Known failures, in TOML.")
@click.option(
    "--report-dir", type=click.Path(path_type=Path, file_okay=False), default="tbk-report",
    show_default=True, help="Where results and reports go.",
)  # fmt: skip
@click.option("--coverage-dir", type=click.Path(path_type=Path), help="Coverage pages to link.")
@click.option("--quiet", is_flag=True, help="Print the path of the page only.")
def run_command(
    library: str,
    resume: bool,
    waivers: Path | None,
    report_dir: Path,
    coverage_dir: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Judge the backend LIB: run the suite, write the reports, end with the verdict.

    LIB is a file. Where there is none of that name, `cpu` and `template` are the backends that come
    with the suite.

    The exit codes are those of tbk-run: 0 pass, 1 findings, 2 bad usage, 3 nothing selected,
    4 bad library, 5 no device, 6 suite error, 7 interrupted, 8 results could not be written.
    """
    known = outcome.waivers_from(waivers)
    library = _library(library)
    _runner()
    outcome.prepare(report_dir)
    results = report_dir / RESULTS
    if not resume:
        results.unlink(missing_ok=True)
    arguments = runner_arguments(library, options) + (["--resume"] if resume else [])
    ended = runner.run(arguments, results, None if quiet else outcome.console())
    if ended.exit_code == EXIT_USAGE:
        said = ended.said.partition("\n")[0]  # what follows names the help of tbk-run
        outcome.stop(EXIT_USAGE, said or "tbk-run did not understand its arguments")
    outcome.finish(_judged(results, ended, library, known), report_dir, coverage_dir, quiet)


def _library(name: str) -> str:
    own = locate.library(name) if name.isidentifier() and not Path(name).exists() else None
    return str(own) if own else name


def _runner() -> Path:
    try:
        return runner.runner()
    except runner.NoRunnerError as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))


def _judged(results: Path, ended: runner.Ended, library: str, waivers: Sequence[Any]) -> Judged:
    """Judges the file, and does not trust it where tbk-run's end tells another story."""
    if not results.exists() or not results.stat().st_size:
        return _judged_without_results(ended, library)
    found = read_results(results)
    judged = outcome.verdict_on(found, waivers)
    stated = (found.footer or {}).get("exit_code")
    if found.footer is not None and stated == ended.exit_code:
        return judged
    said = line(ended.said, 300)
    problem = f"tbk-run ended with status {ended.exit_code}" + (f": {said}" if said else "")
    code = ended.exit_code if 1 < ended.exit_code <= 8 else 0
    return Judged(
        judged.header, judged.footer, judged.tests, "error",
        code or (EXIT_INTERRUPTED if found.footer is None else EXIT_SUITE_ERROR),
        (problem, *judged.problems), judged.waivers, judged.sources,
    )  # fmt: skip


@click.command(name="replay")
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("tests", nargs=-1, metavar="[ID]...")
def replay_command(results: Path, tests: tuple[str, ...]) -> None:
    """Run the failures of RESULTS again, each by its own recorded command; or the tests ID.

    The exit code is 1 where something fails again, and 0 where nothing does.
    """
    found = outcome.read(results)
    binary = _runner()
    chosen = _chosen(found.tests, tests)
    out = outcome.console()
    again = 0
    for test in chosen:
        command = _command(binary, test)
        out.print(Text(shlex.join(command), style="dim"))
        with tempfile.TemporaryDirectory(prefix="tbk-replay-") as folder:
            output = Path(folder) / RESULTS
            ended = runner.run(command[1:], output)
            seen = read_results(output).tests if output.exists() else ()
        failing = [one for one in seen if one.failed] if seen else []
        again += bool(failing) or not seen
        out.print(_told(test, seen, failing, ended))
    out.print(Text(f"{again} of {len(chosen)} fail again"))
    raise SystemExit(EXIT_FINDINGS if again else EXIT_PASS)


def _chosen(tests: Sequence[Test], wanted: Sequence[str]) -> list[Test]:
    by_id = {test.id: test for test in reversed(tests) if test.failed or test.id in wanted}
    if not wanted:
        chosen = [test for test in reversed(by_id.values()) if test.replay]
        if not chosen:
            outcome.stop(EXIT_USAGE, "nothing failed in this file that has a replay command")
        return chosen
    for name in wanted:
        if name not in by_id:
            outcome.stop(EXIT_USAGE, f"{name} is no test of this file")
    return [by_id[name] for name in wanted]


def _command(binary: Path, test: Test) -> list[str]:
    """The recorded arguments, but never another program than tbk-run."""
    try:
        words = shlex.split(test.replay)
    except ValueError:
        words = []
    if not words or Path(words[0]).name != "tbk-run":
        outcome.stop(EXIT_USAGE, f"{test.id} has no replay command of tbk-run")
    if any(word.split("=")[0] in ("--output", "--resume") for word in words):
        outcome.stop(EXIT_USAGE, f"the replay command of {test.id} names an output")
    return [str(binary), *words[1:]]


def _told(test: Test, seen: Sequence[Test], failing: Sequence[Test], ended: runner.Ended) -> Text:
    if not seen:
        return Text(f"{test.id}: could not be run: {line(ended.said, 300)}", style="bold red")
    if not failing:
        verdicts = ", ".join(sorted({state_words(one.verdict) for one in seen}))
        return Text(f"{test.id}: {verdicts} this time", style="yellow")
    first = failing[0]
    same = "again" if first.cause == test.cause else f"differently (was {line(test.cause, 100)})"
    told = Text(f"{test.id}: {state_words(first.verdict)} {same}\n", style="bold red")
    said = (
        ("check", check_words(first)),
        ("expected", first.expected),
        ("seen", seen_words(first)),
    )
    for name, value in (pair for pair in said if pair[1]):
        told.append(f"  {name:<9}{line(value, 400)}\n", style="default")
    return told
