# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk list and tbk show: what there is, and what is known about one word of a report."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console
from rich.text import Text
from tbk_reports.model import EXIT_NOTHING_SELECTED, EXIT_PASS, EXIT_SUITE_ERROR, EXIT_USAGE, Test
from tbk_reports.text import line

from tbk_harness import child, complete, outcome
from tbk_harness.command_line import OUTPUT, Command, option
from tbk_harness.near import hint
from tbk_harness.options import RUN, runner_arguments, runner_options

if TYPE_CHECKING:
    from tbk_contracts import Clause

    from tbk_harness.explain import Found

COLUMNS = ("id", "clause", "level", "needs", "tier")  # of tbk-run --list
LIST_EXAMPLES = """\
tbk list --only STR                  the clauses of an area
tbk list ./libacme.so --tier quick   the tests in C that a run has
tbk list --json                      the clauses as JSON, for a program"""
SHOW_EXAMPLES = """\
tbk show EVT-019                                  a clause
tbk show memory                                   an area
tbk show event/elapsed_is_in_milliseconds         a test
tbk show not-shown                                a verdict
tbk show TBK_NOT_READY                            a status of the interface
tbk show stream                                   a capability, of either layer
tbk show EVT-019 --results tbk-report/results.jsonl    and what a run said of it"""


@click.command(name="list", cls=Command, examples=LIST_EXAMPLES)
@click.argument("library", metavar="[LIB]", required=False)
@runner_options
@option(OUTPUT, "--json", "as_json", is_flag=True, help="A list of objects, as JSON.")
def list_command(library: str | None, as_json: bool, **options: Any) -> None:
    """List the tests in C that a run of LIB has; without LIB, the clauses of both layers.

    LIB is not opened. Each line has the id, the clause, its level and what the test needs.
    """
    from tbk_harness import runner  # noqa: PLC0415

    out = outcome.console()
    if library is None:
        _list_clauses(options["only"], as_json, out)
    outcome.library_file(library)
    try:
        listed = runner.list_tests(runner_arguments(library, options))
    except runner.NoRunnerError as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))
    if listed.returncode:
        told = listed.stderr or f"tbk-run: {child.ending(listed.returncode)}"
        outcome.stop(child.exit_code(listed.returncode), told)
    rows = listed.stdout.splitlines()
    if as_json:
        _print_json([_row(row) for row in rows])
    for row in rows:
        out.print(Text(line(row, 400)))
    raise SystemExit(EXIT_PASS)


@click.command(name="profiles", cls=Command, examples="tbk show training          one of them")
@option(OUTPUT, "--json", "as_json", is_flag=True, help="A list of objects, as JSON.")
def profiles_command(as_json: bool) -> None:
    """List the profiles: what a device is for, and what that asks of it."""
    from tbk_contracts.profiles import profiles  # noqa: PLC0415  # the whole spec

    if as_json:
        _print_json([one.document() for one in profiles()])
    out = outcome.console()
    for one in profiles():
        operators = "all" if one.operators is None else str(len(one.operators))
        dtypes = "all" if one.dtypes is None else str(len(one.dtypes))
        told = f"{len(one.clauses)} clauses, {operators} operators, {dtypes} dtypes"
        out.print(Text(f"{one.name:<11}{told:<42}").append(one.text, style="dim"))
    raise SystemExit(EXIT_PASS)


def _print_json(document: object) -> NoReturn:
    print(json.dumps(document, indent=1, ensure_ascii=False))
    raise SystemExit(EXIT_PASS)


def _row(text: str) -> dict[str, Any]:
    """Returns a line of tbk-run --list as data. What a test needs may be several words."""
    first, rest = text.split(" ", 3)[:3], text.split(" ", 3)[3:]
    needs, _, tier = (rest[0] if rest else "-").rpartition(" ")
    values = (*first, [] if needs in ("", "-") else needs.split(), tier)
    return dict(zip(COLUMNS, values, strict=False))


def _selected(clause: Clause, only: set[str]) -> bool:
    return not only.isdisjoint((clause.id, clause.prefix, clause.area, clause.profile))


def _list_clauses(only: tuple[str, ...], as_json: bool, out: Console) -> NoReturn:
    import tbk_contracts  # noqa: PLC0415  # the whole spec

    from tbk_harness.explain import clauses_of  # noqa: PLC0415
    from tbk_harness.suggest import clause_words, torch_ids  # noqa: PLC0415

    words = set(only).union(*(clauses_of(word) for word in only if "/" in word))
    found = [one for one in tbk_contracts.clauses() if not only or _selected(one, words)]
    if not found:
        meant = "".join(hint(word, clause_words() | torch_ids()) for word in only[:3])
        outcome.stop(EXIT_NOTHING_SELECTED, f"no clause fits {', '.join(map(repr, only))}{meant}")
    if as_json:
        _print_json([asdict(clause) for clause in found])
    for clause in found:
        told = Text(f"{clause.id:<9}{clause.level:<7}{clause.kind:<11}{clause.profile:<8}")
        out.print(told.append(clause.text))
    raise SystemExit(EXIT_PASS)


@click.command(name="show", cls=Command, examples=SHOW_EXAMPLES)
@click.argument("word", metavar="WORD", shell_complete=complete.subjects)
@option(
    OUTPUT, "--results", type=RUN, metavar="FILE",
    help="Show what a run said of it, too.",
)  # fmt: skip
@option(OUTPUT, "--json", "as_json", is_flag=True, help="The same as JSON.")
def show_command(word: str, results: Path | None, as_json: bool) -> None:
    """Show what is known about WORD: a clause, an area, a test, a verdict, a status, a capability.

    Of a clause: sentence, source, header line, tests, and the mutants that break it.
    """
    from tbk_harness import explain  # noqa: PLC0415  # the whole spec

    found = explain.found(word)
    if not found:
        outcome.stop(EXIT_USAGE, _unknown(word))
    seen = [(one, _seen(one, word, results)) for one in found]
    if as_json:
        _print_json([{**one.document(), **_records(tests)} for one, tests in seen])
    out = outcome.console()
    for one, tests in seen:
        _show(one, out)
        if tests is not None:
            _show_results(tests, out)
    raise SystemExit(EXIT_PASS)


def _unknown(word: str) -> str:
    """Returns why there is nothing to show, with what may have been meant."""
    import tbk_contracts  # noqa: PLC0415

    from tbk_harness import explain  # noqa: PLC0415

    prefix = word.upper()[:3]
    told = f"{word!r} is no clause, area, test, verdict, status, capability or profile"
    if any(one.prefix == prefix for one in tbk_contracts.clauses()) and "/" not in word:
        told += f"; `tbk list --only {prefix}` has the clauses of its area"
    return told + (hint(word, explain.subjects()) or "; see `tbk list`")


def _show(one: Found, out: Console) -> None:
    kind = "" if one.kind == "clause" else f"  ({one.kind})"
    out.print(Text(f"{one.name}{kind}  {one.text}", style="bold"))
    for name, value in one.facts:
        out.print(Text(f"  {name:<9} ", style="dim").append(value, style="default"))


def _seen(one: Found, word: str, path: Path | None) -> list[Test] | None:
    """Returns what a run recorded of it; None where no run is asked for, or it is no matter of
    single tests."""
    if path is None or one.kind not in ("clause", "test", "verdict"):
        return None
    tests = outcome.read(path).tests
    if one.kind == "test":
        from tbk_harness.selectors import names  # noqa: PLC0415  # the whole spec

        return [test for test in tests if names(word, test.id)]
    if one.kind == "verdict":
        return [test for test in tests if one.name in (test.verdict, test.state)]
    return [test for test in tests if test.clause == one.name]


def _records(tests: list[Test] | None) -> dict[str, Any]:
    if tests is None:
        return {}
    return {"results": [{"id": test.id, "state": test.state, "seen": test.seen} for test in tests]}


def _show_results(tests: list[Test], out: Console) -> None:
    from tbk_reports.words import seen_words, state_words  # noqa: PLC0415

    for test in tests:
        told = Text("  result    ", style="dim")
        told.append(f"{line(test.id, 100)}: {state_words(test.state)}", style="default")
        if test.failed:
            told.append(f", seen {line(seen_words(test), 200)}", style="default")
        out.print(told)
    if not tests:
        out.print(Text("  result    not in this run", style="dim"))
