# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The kill matrix on a farm: a job is a mutant with the tests that shall notice it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from tbk_reports.text import line

from tbk_harness import kill
from tbk_harness.farm.place import Place
from tbk_harness.farm.watch import Farm, FarmError, Reply
from tbk_harness.mutants import Mutant

FOLDER = "farm"


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def task_from(values: Mapping[str, Any]) -> kill.Task:
    """Returns the task whose members came as JSON."""
    return kill.Task(**{**_tuples(values), "mutant": Mutant(**_tuples(values["mutant"]))})


def told(row: kill.Row) -> dict[str, Any]:
    """Returns the row as JSON, without its mutant, which the one who asked has."""
    return {
        one.name: getattr(row, one.name) for one in fields(kill.Row) if one.name != "mutant"
    }  # fmt: skip


def run_all(
    library: Path,
    matrix: kill.Matrix,
    mutants: Sequence[Mutant],
    options: Sequence[str],
    place: Place,
    folder: Path,
    tell: Callable[[kill.Row], None],
) -> None:
    """Fills the matrix on a farm; what survives is run once more, as on one machine.

    Raises FarmError where there is none. Where it goes away later, the matrix has the rows that
    came back, and says so.
    """
    with Farm(place, folder / FOLDER, {"library": library}) as farm:
        try:
            rows = _round(farm, library, matrix, mutants, options, tell, "mutant")
            matrix.rows += rows
            left = [one for one in [*matrix.survivors, *matrix.surviving_pairs] if one.ran]
            broken = [one.mutant for one in left]
            again = _round(farm, library, matrix, broken, options, lambda _: None, "again")
        except FarmError as error:
            matrix.wrong += (f"{error}; {len(matrix.rows)} of {len(mutants)} were judged",)
            again = []
    for row in again:
        at = next(n for n, old in enumerate(matrix.rows) if old.mutant.name == row.mutant.name)
        matrix.rows[at] = replace(row, runs=2)
    order = {mutant.name: at for at, mutant in enumerate(mutants)}
    matrix.rows.sort(key=lambda row: order.get(row.mutant.name, -1))


def _round(
    farm: Farm,
    library: Path,
    matrix: kill.Matrix,
    mutants: Sequence[Mutant],
    options: Sequence[str],
    tell: Callable[[kill.Row], None],
    kind: str,
) -> list[kill.Row]:
    jobs = [
        {
            "name": f"{kind}-{at:05}", "call": "mutant", "library": str(library.absolute()),
            "task": asdict(kill.task(matrix, mutant, options)),
        }
        for at, mutant in enumerate(mutants)
    ]  # fmt: skip
    rows: list[kill.Row] = []

    def take(name: str, reply: Reply) -> None:
        mutant = mutants[int(name.rpartition("-")[2])]
        if "row" not in reply:
            said = f"{mutant.name} on {reply.get('node')}: {line(str(reply.get('said')), 300)}"
            matrix.wrong += (said,)
            return
        rows.append(kill.Row(mutant=mutant, **_tuples(reply["row"])))
        tell(rows[-1])

    try:
        matrix.wrong += tuple(farm.run(jobs, take)) if jobs else ()
    except FarmError:
        matrix.rows += rows if kind == "mutant" else []
        raise
    return rows
