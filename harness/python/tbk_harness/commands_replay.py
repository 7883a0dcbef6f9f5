# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk replay: failures of a result file again, the first of each cause."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text
from tbk_reports import recorded
from tbk_reports.litmus import is_litmus
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
    ResultFile,
    Test,
    read_results,
)
from tbk_reports.text import clean, line
from tbk_reports.view import View
from tbk_reports.words import check_words, fingerprint_words, seen_words, state_words

from tbk_harness import (
    debugger,
    judge,
    litmus_runner,
    outcome,
    recorded_run,
    replays,
    runner,
    steering,
    tsan,
)
from tbk_harness.folder import RESULTS
from tbk_harness.judge import Known
from tbk_harness.near import hint
from tbk_harness.options import RUN
from tbk_harness.replays import End
from tbk_harness.selectors import names
from tbk_harness.session import runner_or_stop


@click.command(name="replay")
@click.argument("results", type=RUN)
@click.argument("tests", nargs=-1, metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All failures, not the first of each cause.")
@click.option("--gdb", is_flag=True, help="Run the one test ID in C, in one process, under gdb.")
def replay_command(results: Path, tests: tuple[str, ...], *, every: bool, gdb: bool) -> None:
    """Run the first failure of each cause in RESULTS again; or the tests ID.

    Each has its own recorded command. An ID without parameters is all that failed of this test.
    The exit code is 1 where something fails again, and 0 where all was run and nothing does. Where
    a test could not be run, it says why: 4 bad library, 5 no device, and so on. Of a torn or
    unfinished RESULTS it is never 0. With --gdb it is that of gdb.
    """
    found = outcome.read(results)
    flaw = judge.flaw(found)
    if gdb:
        if flaw[0]:
            print(f"tbk: {line(_flaw_words(found, flaw[1]), 600)}", file=sys.stderr)
        debugger.start(_the_one(found.tests, tests))
    binary = runner_or_stop()
    failures = _chosen(found.tests, tests)
    chosen = failures if tests or every else _first_of_causes(found, failures)
    out = outcome.console()
    ends = _run_all(binary, chosen, out)
    told = [replays.summary(ends, len(chosen))]
    left = len(failures) - len(chosen)
    if left:
        told.append(f"{left} more of the same causes left out: --all runs them, too")
    if flaw[0]:
        told.append(_flaw_words(found, flaw[1]))
    out.print(Text(line("; ".join(told), 600)))
    raise SystemExit(replays.exit_code(ends) or flaw[0])


def _flaw_words(found: ResultFile, why: str) -> str:
    return f"{found.path} is not a whole run: {why}"


def _run_all(binary: Path, chosen: Sequence[Test], out: Console) -> list[End]:
    """Runs them one after the other, and none after an interruption."""
    ends: list[End] = []
    for test in chosen:
        with steering.steered(test.replay) as told:
            run = _hunts(test, told, out) if is_litmus(test) else _runs(binary, test, told, out)
        ends.append(run)
        if run.code == EXIT_INTERRUPTED:
            break
    return ends


def _runs(binary: Path, test: Test, told: Sequence[str], out: Console) -> End:
    """Runs the recorded command, and tells what came of it.

    `told`: what `env` would be told, so that what is printed does the same in a shell.
    """
    run = _run_of(test)
    environment = _environment(binary, test, run)
    told = [*told, *(f"{name}={text}" for name, text in environment.items())]
    _print_command(steering.shown(told, [str(binary), *run.arguments]), out)
    with tempfile.TemporaryDirectory(prefix="tbk-replay-") as folder:
        output = Path(folder) / RESULTS
        ended = runner.run(run.arguments, output, environment=environment)
        seen = read_results(output).tests if output.exists() else ()
    end = replays.of_run(test, seen, ended.exit_code)
    out.print(_told(test, end, seen, ended))
    return end


def _print_command(command: str, out: Console) -> None:
    out.print(Text(clean(command), style="dim"), soft_wrap=True)


def _hunts(test: Test, told: Sequence[str], out: Console) -> End:
    """Runs the program that a litmus finding was found by, and tells what came of it."""
    program, words = litmus_runner.runner(), litmus_runner.arguments_of(test.replay)
    if program is None:
        out.print(_not_run(test, litmus_runner.MISSING))
        return End(code=EXIT_SUITE_ERROR)
    if words is None:
        outcome.stop(EXIT_USAGE, f"{test.id} has no replay command of tbk litmus")
    _print_command(steering.shown(told, ["tbk", "litmus", *words]), out)
    with tempfile.TemporaryDirectory(prefix="tbk-replay-") as folder:
        hunted = litmus_runner.hunt(program, words[0], words[1:], Path(folder))
    if hunted.code == EXIT_FINDINGS or hunted.finding is not None:
        out.print(Text(f"{test.id}: fails again", style="bold red"))
        if hunted.printed:
            out.print(Text(hunted.printed), end="", soft_wrap=True)
        return End(again=True)
    if hunted.code == EXIT_PASS:
        said = "nothing found this time: it may take the programs before (tbk litmus runs them)"
        out.print(Text(f"{test.id}: {said}", style="yellow"))
        return End()
    out.print(_not_run(test, hunted.said))
    return End(code=hunted.code)


def _the_one(tests: Sequence[Test], wanted: Sequence[str]) -> Test:
    """Returns the test to debug: the one that is named, or the only one that failed."""
    chosen = _chosen(tests, wanted)
    if len(chosen) != 1:
        example = f", such as {chosen[0].id}" if chosen else ""
        outcome.stop(
            EXIT_USAGE, f"--gdb runs one test, and {len(chosen)} failed: name one{example}"
        )
    return chosen[0]


def _first_of_causes(found: ResultFile, failures: Sequence[Test]) -> list[Test]:
    """Returns the simplest failure of each cause that has a command, in the order of the page."""
    by_id = {test.id: test for test in failures}
    causes = View(outcome.verdict_on(found, Known())).causes
    firsts = (next((one.id for one in cause.tests if one.id in by_id), None) for cause in causes)
    return [by_id[name] for name in dict.fromkeys(firsts) if name is not None]


def _chosen(tests: Sequence[Test], wanted: Sequence[str]) -> list[Test]:
    """Returns the tests that are named, or all failures that have a command."""
    if wanted:
        return _once([test for word in wanted for test in _named(tests, word)])
    failed = _once([test for test in tests if test.failed])
    chosen = [test for test in failed if test.replay]
    one_of_order = next(filter(is_litmus, chosen), None)  # a finding fails several tests
    chosen = [test for test in chosen if not is_litmus(test) or test is one_of_order]
    if failed and not chosen:
        outcome.stop(EXIT_USAGE, "what failed in this file has no command: run it whole")
    return chosen


def _once(tests: Sequence[Test]) -> list[Test]:
    """Returns each test once, as it was recorded first: it may have been repeated."""
    return list({test.id: test for test in tests[::-1]}.values())[::-1]


def _named(tests: Sequence[Test], word: str) -> list[Test]:
    """Returns what failed of that which a word names, or all of it where nothing did."""
    named = [test for test in tests if names(word, test.id)]
    if not named:
        cited = [test.id for test in tests if test.clause == word]
        meant = f"; {word} has {cited[0]}" if cited else hint(word, [test.id for test in tests])
        outcome.stop(EXIT_USAGE, f"{word} is no test of this file{meant}")
    return [test for test in named if test.failed] or named


def _run_of(test: Test) -> recorded_run.Run:
    try:
        return recorded_run.read(test.replay)
    except ValueError as error:
        outcome.stop(EXIT_USAGE, line(f"{test.id} {error}", 300))


def _environment(binary: Path, test: Test, run: recorded_run.Run) -> dict[str, str]:
    """What a library that was built for a sanitizer needs, found anew: never what the file says."""
    preloads = recorded.read(test.replay).preloads
    if run.library is None or not preloads or not tsan.built_for(run.library):
        return {}
    try:
        return tsan.environment(run.library, binary)
    except tsan.NoTsanError as error:
        outcome.stop(EXIT_USAGE, str(error))


def _not_run(test: Test, why: str) -> Text:
    why = line(why, 300) or "its runner does not say why"
    return Text(f"{test.id}: could not be run: {why}", style="bold red")


def _told(test: Test, end: End, seen: Sequence[Test], ended: runner.Ended) -> Text:
    if end.code and not end.again:
        return _not_run(test, ended.said or replays.reason(seen))
    failing = [one for one in seen if one.failed]
    if not failing:
        verdicts = ", ".join(sorted({state_words(one.verdict) for one in seen}))
        return Text(f"{test.id}: {verdicts} this time", style="yellow")
    first = replays.first(failing)
    former = line(fingerprint_words(test, 1) or test.cause, 100)
    same = "again" if first.cause == test.cause else f"differently (was: {former})"
    told = Text(f"{test.id}: {state_words(first.verdict)} {same}\n", style="bold red")
    said = (
        ("check", check_words(first)),
        ("expected", first.expected),
        ("seen", seen_words(first)),
    )
    for name, value in (pair for pair in said if pair[1]):
        told.append(f"  {name:<9}{line(value, 400)}\n", style="default")
    return told
