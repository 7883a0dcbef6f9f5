# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk new and tbk kill-matrix."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import tbk_contracts
from rich.progress import Progress
from rich.text import Text
from tbk_reports.matrix import render_matrix_html, render_matrix_markdown
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_NOTHING_SELECTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
)
from tbk_reports.text import shorten

from tbk_harness import (
    child,
    kill,
    kill_document,
    kill_torch,
    locate,
    mutants,
    outcome,
    runner,
    skeleton,
)
from tbk_harness.command_line import Choice
from tbk_harness.farm.place import Place, farm_options
from tbk_harness.farm.place import place as farm_place
from tbk_harness.near import hint
from tbk_harness.options import FOLDER, PATH, seconds

LIMIT = 30


@click.command(name="new")
@click.argument("name")
@click.option(
    "--kernels", type=Choice(["none", "generic", "named"]), default="none",
    show_default=True,
    help="generic: nearly all operators, by a compiler (the host's at first). named: those of a "
    "library, by the names of PyTorch's overloads.",
)  # fmt: skip
def new_command(name: str, kernels: str) -> None:
    """Write a backend NAME into ./NAME that builds and passes, to fill in."""
    try:
        folder = skeleton.make(name, Path.cwd(), kernels)
    except skeleton.SkeletonError as error:
        outcome.stop(EXIT_USAGE, str(error))
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))
    out = outcome.console()
    out.print(Text(f"{folder} is ready. Next:\n"))
    for command in (
        f"cd {name}",
        "cmake -S . -B build && cmake --build build",
        f"tbk run build/lib{name}.so",
    ):
        out.print(Text(f"  {command}"))
    raise SystemExit(EXIT_PASS)


@click.command(name="kill-matrix")
@click.option(
    "--layer", type=Choice(["c", "torch"]), default="c", show_default=True,
    help="Backends at their C interface, or devices as PyTorch sees them.",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="Every test against every mutant; at the torch layer until one notices it.",
)  # fmt: skip
@click.option(
    "--only",
    multiple=True,
    metavar="NAME|CLAUSE|AREA",
    help="These mutants alone; of pairs also FUNCTION, KIND of fault, or pair for all.",
)
@click.option(
    "--brief", is_flag=True,
    help="Of each clause the first mutant that is killed; of pairs the first of each clause and "
    "kind of fault.",
)  # fmt: skip
@click.option(
    "--frozen", is_flag=True,
    help="Those that were written without sight of the tests, to measure the suite: no gate.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1, 1024), help="Runs at a time (default: twice the cores)."
)
@click.option(
    "--sample", metavar="PERCENT", type=click.IntRange(0, 100), default=2, show_default=True,
    help="Of the tests that do not cite the clause, at the C layer.",
)  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Of the C layer's sample.")
@click.option(
    "--legal-parts", metavar="N", type=click.IntRange(1, 100), default=1, show_default=True,
    help="Each legal device meets one of N parts of the tests, at the C layer.",
)  # fmt: skip
@click.option(
    "--timeout", metavar="TIME", callback=seconds,
    help="Deadline of one test, at the C layer (30s, 2m).",
)  # fmt: skip
@click.option("--library", type=PATH, help="The mutants' library.")
@farm_options
@click.option(
    "--output-dir", type=FOLDER, default="tbk-kill-matrix",
    show_default=True, help="Where matrix.json, matrix.md and matrix.html go.",
)  # fmt: skip
def kill_command(
    layer: str,
    full: bool,
    only: tuple[str, ...],
    brief: bool,
    frozen: bool,
    jobs: int | None,
    sample: int,
    seed: int,
    legal_parts: int,
    timeout: str | None,
    library: Path | None,
    output_dir: Path,
    **options: Any,
) -> None:
    """Show that each check can fail: run the suite against every deliberately broken backend.

    Each mutant meets the tests that cite its clause and, at the C layer, a sample of the others;
    one that is made of a pair of clause and function, those of them that call the function. The
    exit code is 1 when a mutant survives, a checked must clause has no mutant that is killed, a
    legal device fails or a cheat passes.
    """
    target = library or locate.library("mutants")
    if target is None or not target.is_file():
        outcome.stop(
            EXIT_BAD_LIBRARY, "the mutants' library was not found; build the checkout first"
        )
    place = farm_place(options)
    if layer == "torch":
        if place is not None:
            outcome.stop(EXIT_USAGE, "--farm is of the C layer")
        if timeout:
            outcome.stop(EXIT_USAGE, "--timeout is of the C layer")
        _kill_torch(target, only, brief, frozen, full, jobs, output_dir)
    if place is not None:
        from tbk_harness.farm import watch  # noqa: PLC0415

        watch.need(place)
    matrix, everything = _planned(target, full, only, frozen)
    matrix.brief = brief
    chosen = mutants.first_of_each(everything) if brief else everything
    matrix.seed, matrix.share, matrix.legal_parts = seed, sample / 100, legal_parts
    outcome.prepare(output_dir)
    words = [f"--timeout={timeout}"] if timeout else []
    started = time.monotonic()
    pairs = [one for one in chosen if one.kind == "pair"]
    matrix.calls = kill.trace(target, matrix, pairs)
    out = outcome.console()
    with Progress(console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("killing", total=len(chosen))
        count = jobs or kill.default_jobs()
        while chosen:
            if place is None:
                kill.run_all(target, matrix, chosen, count, words, lambda _: progress.advance(task))
            else:
                _kill_on_farm(
                    target, matrix, chosen, words, place, output_dir, lambda: progress.advance(task)
                )
            # A mutant that is refused while loading is noticed by no test: the next one is run.
            done = {row.mutant.name for row in matrix.rows}
            chosen = mutants.next_of(matrix.unproven, everything, done) if brief else []
    _finish(matrix, output_dir, time.monotonic() - started)


def _kill_on_farm(
    library: Path,
    matrix: kill.Matrix,
    chosen: list[mutants.Mutant],
    words: list[str],
    place: Place,
    folder: Path,
    advance: Callable[[], None],
) -> None:
    """Ends the command in one line where there is no such farm."""
    from tbk_harness.farm import mutants as on_farm  # noqa: PLC0415
    from tbk_harness.farm.watch import FarmError  # noqa: PLC0415

    try:
        on_farm.run_all(library, matrix, chosen, words, place, folder, lambda _: advance())
    except FarmError as error:
        outcome.stop(error.code, str(error))


def _planned(
    library: Path, full: bool, only: tuple[str, ...], frozen: bool
) -> tuple[kill.Matrix, list[mutants.Mutant]]:
    try:
        everything = mutants.choose(mutants.load(), frozen)
        path = mutants.equivalents_file()
        equivalents = mutants.load_equivalents(path) if path else {}
        listed = runner.list_tests([str(library), "--tier=thorough"])
    except (mutants.MutantError, runner.NoRunnerError, OSError) as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))
    tests = kill.parse_list(listed.stdout)
    if listed.returncode or not tests:
        why = child.reason(listed.returncode, listed.stderr)
        outcome.stop(child.exit_code(listed.returncode), f"tbk-run lists no tests: {why}")
    areas = {one.id: one.area for one in tbk_contracts.clauses()}
    chosen, missing = mutants.named(everything, only, areas)
    if missing:
        names = {word for one in everything for word in one.words} | set(areas.values())
        meant = hint(missing[0], names)
        unknown = ", ".join(map(repr, missing))
        outcome.stop(EXIT_NOTHING_SELECTED, f"no mutant fits {unknown}{meant}")
    matrix = kill.Matrix(
        tests=tests,
        thorough=kill.parse_thorough(listed.stdout),
        equivalents=equivalents,
        must=kill.must_clauses(tbk_contracts.clauses()),
        full=full,
        partial=frozen or bool(only),
    )
    return matrix, chosen


def _kill_torch(
    broken: Path,
    only: tuple[str, ...],
    brief: bool,
    frozen: bool,
    full: bool,
    jobs: int | None,
    folder: Path,
) -> NoReturn:
    """Mutants of bridge and operators, and those of the C layer, judged by the torch contracts."""
    sound = locate.library("cpu")
    if sound is None:
        outcome.stop(EXIT_BAD_LIBRARY, "the cpu reference was not found; build the checkout first")
    outcome.prepare(folder)
    must = kill_torch.must_clauses(tbk_contracts.clauses())
    partial = frozen or bool(only)
    matrix = kill.Matrix(tests={}, must=must, partial=partial, brief=brief, full=full)
    started = time.monotonic()
    try:
        count = jobs or len(os.sched_getaffinity(0))
        words = [*(["--full"] if full else []), *(["--brief"] if brief else [])]
        rows = kill_torch.told(sound, broken, only, words, frozen, count)
        matrix.wrong = tuple(kill_torch.fill(matrix, rows))
    except (mutants.MutantError, OSError, ValueError) as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))
    if not matrix.rows and not matrix.wrong:
        outcome.stop(EXIT_NOTHING_SELECTED, "no mutant fits")
    matrix.rows.sort(key=lambda row: (row.mutant.clauses, row.mutant.name))
    _finish(matrix, folder, time.monotonic() - started)


def _defended(matrix: kill.Matrix) -> str:
    if matrix.partial:
        return "some mutants only"
    defended = len(matrix.must) - len(matrix.unproven)
    return f"{defended} of {len(matrix.must)} checked must clauses defended"


def _pairs(matrix: kill.Matrix) -> str:
    rows = matrix.of("pair")
    killed = len(rows) - len(matrix.surviving_pairs)
    return f"{killed} of {len(rows)} faults of pairs noticed; " if rows else ""


def _legal(matrix: kill.Matrix) -> str:
    parts = f" (by a part of {matrix.legal_parts} each)" if matrix.legal_parts > 1 else ""
    return f"{len(matrix.of('anti'))} anti-mutants{parts}"


def _finish(matrix: kill.Matrix, folder: Path, seconds: float) -> NoReturn:
    document = kill_document.document(matrix)
    out = outcome.console()
    try:
        (folder / "matrix.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        (folder / "matrix.md").write_text(render_matrix_markdown(document), "utf-8")
        (folder / "matrix.html").write_text(render_matrix_html(document), "utf-8")
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))
    problems = matrix.problems
    for problem in problems[:LIMIT]:
        out.print(Text(shorten(problem, 300), style="red"))
    if len(problems) > LIMIT:
        out.print(Text(f"and {len(problems) - LIMIT} more problems", style="red"))
    broken = matrix.of("mutant")
    killed = sum(bool(row.citing) for row in broken)
    refused = sum(row.refused for row in broken)
    out.print(Text(
        f"{'FAIL' if problems else 'PASS'}  {killed} of {len(broken)} mutants killed by a citing "
        f"test, {refused} refused while loading, {len(matrix.survivors)} survive, "
        f"{len(matrix.equivalents)} equivalent; {'one of each clause; ' if matrix.brief else ''}"
        f"{_defended(matrix)}; {_pairs(matrix)}{_legal(matrix)}, "
        f"{len(matrix.of('cheat'))} cheats; {seconds:.0f} s",
        style="bold red" if problems else "bold green",
    ))  # fmt: skip
    out.print(Text(str(folder / "matrix.html")))
    raise SystemExit(EXIT_FINDINGS if problems else EXIT_PASS)
