# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk list and tbk show: what there is, and what is known about one clause."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import click
import tbk_contracts
from rich.console import Console
from rich.text import Text
from tbk_contracts import Clause
from tbk_contracts.torch_rows import torch_tests_of
from tbk_reports.model import EXIT_NOTHING_SELECTED, EXIT_PASS, EXIT_SUITE_ERROR, EXIT_USAGE
from tbk_reports.text import line
from tbk_reports.words import seen_words, state_words

from tbk_harness import mutants, outcome, runner
from tbk_harness.near import hint
from tbk_harness.options import runner_arguments, runner_options
from tbk_harness.suggest import clause_words


@click.command(name="list")
@click.argument("library", metavar="[LIB]", required=False)
@runner_options
def list_command(library: str | None, **options: Any) -> None:
    """List the tests in C that a run of LIB has; without LIB, the clauses of both layers.

    LIB is not opened. Each line has the id, the clause, its level and what the test needs.
    """
    out = outcome.console()
    if library is None:
        _list_clauses(options["only"], out)
    try:
        listed = runner.list_tests(runner_arguments(library, options))
    except runner.NoRunnerError as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))
    if listed.returncode:
        outcome.stop(listed.returncode, listed.stderr or f"status {listed.returncode}")
    for row in listed.stdout.splitlines():
        out.print(Text(line(row, 400)))
    raise SystemExit(EXIT_PASS)


def _selected(clause: Clause, only: tuple[str, ...]) -> bool:
    names = (clause.id, clause.prefix, clause.area, clause.profile)
    return not only or any(item in names for item in only)


def _list_clauses(only: tuple[str, ...], out: Console) -> NoReturn:
    found = [clause for clause in tbk_contracts.clauses() if _selected(clause, only)]
    for clause in found:
        told = Text(f"{clause.id:<9}{clause.level:<7}{clause.kind:<11}{clause.profile:<8}")
        out.print(told.append(clause.text))
    if not found:
        meant = "".join(hint(word, clause_words()) for word in only[:3])
        outcome.stop(EXIT_NOTHING_SELECTED, f"no clause fits {', '.join(only)}{meant}")
    raise SystemExit(EXIT_PASS)


@click.command(name="show")
@click.argument("clause_id", metavar="CLAUSE")
@click.option("--results", type=click.Path(path_type=Path), help="Show what a run said of it.")
def show_command(clause_id: str, results: Path | None) -> None:
    """Show what is known about CLAUSE: sentence, source, header, tests, mutants, results."""
    clause = tbk_contracts.clause(clause_id.upper())
    if clause is None:
        prefix = clause_id.upper()[:3]
        near = any(one.prefix == prefix for one in tbk_contracts.clauses())
        more = f"; `tbk list --only {prefix}` has those of its area" if near else "; see `tbk list`"
        meant = hint(clause_id, (one.id for one in tbk_contracts.clauses()))
        outcome.stop(EXIT_USAGE, f"there is no clause {clause_id}{more if near else meant or more}")
    out = outcome.console()
    out.print(Text(f"{clause.id}  {clause.text}", style="bold"))
    for name, value in _facts(clause):
        out.print(Text(f"  {name:<9}", style="dim").append(value, style="default"))
    if results:
        _show_results(clause.id, results, out)
    raise SystemExit(EXIT_PASS)


def _facts(clause: Clause) -> list[tuple[str, str]]:
    facts = [("level", f"{clause.level}, {clause.kind}, profile {clause.profile}")]
    facts += [("layer", ", ".join(clause.layer))]
    facts += [(name, value) for name, value in (("reason", clause.reason), ("needs", clause.needs),
              ("note", clause.note)) if value]  # fmt: skip
    bases = ", ".join(tbk_contracts.bases_of(clause.id))
    facts += [("builds on", bases)] if bases else []
    facts += [("source", source) for source in clause.source]
    facts += [
        ("header", f"{row.file}:{row.number} {row.function}, {row.label}")
        for row in tbk_contracts.header_lines(clause.id)
    ]
    for row in tbk_contracts.tests_of(clause.id):
        facts.append(("test", f"{row.id}  ({row.file}:{row.number}){_needing(row.needs)}"))
    for test in torch_tests_of(clause.id):
        name = test.name.removeprefix("test_")
        place = f"{test.file}:{test.number}"
        facts.append(
            ("test", f"torch_{Path(test.file).stem[5:]}/{name}  ({place}){_needing(test.needs)}")
        )
    for mutant in mutants.known():
        if clause.id in mutant.clauses and mutant.kind == "mutant":
            facts.append(("mutant", f"{mutant.name}: {line(mutant.note, 200)}"))
    facts += [
        ("mutant", f"{mutant.name}  ({mutant.file}:{mutant.number})")
        for mutant in mutants.of_torch_layer()
        if clause.id in mutant.clauses
    ]
    return facts


def _needing(words: str | None) -> str:
    return f", needs {words}" if words else ""


def _show_results(clause_id: str, path: Path, out: Console) -> None:
    tests = [test for test in outcome.read(path).tests if test.clause == clause_id]
    for test in tests:
        told = Text("  result   ", style="dim")
        told.append(f"{line(test.id, 100)}: {state_words(test.state)}", style="default")
        if test.failed:
            told.append(f", seen {line(seen_words(test), 200)}", style="default")
        out.print(told)
    if not tests:
        out.print(Text("  result   not in this run", style="dim"))
