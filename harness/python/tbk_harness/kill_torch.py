# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The kill matrix of the torch layer: what breaks a device that PyTorch has loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tbk_contracts import Clause

from tbk_harness.kill import KILLS, Matrix, Row
from tbk_harness.locate import checkout
from tbk_harness.mutants import Mutant, MutantError

FROZEN = "TBK_FROZEN_MUTANTS"  # as tbk_torch_mutants.table reads it
FOLDER = Path("bridge") / "tests" / "mutants"
# What the sound device passes; a mutant is judged by these tests alone.
SOUND = frozenset({"pass", "trivial", "not-shown", "unsupported"})


def folder() -> Path:
    """Returns where tbk_torch_mutants is: it is never installed."""
    root = checkout()
    if root is None or not (root / FOLDER).is_dir():
        raise MutantError("the mutants of the torch layer are in a checkout alone")
    return root / FOLDER


def must_clauses(clauses: Iterable[Clause]) -> tuple[str, ...]:
    """The checked must clauses that only PyTorch shows."""
    return tuple(one.id for one in clauses if one.checked_must and "c" not in one.layer)


def told(
    library: Path,
    broken: Path,
    only: Sequence[str],
    words: Sequence[str],
    frozen: bool,
    jobs: int,
) -> Iterator[dict[str, Any]]:
    """What the worker says, as it says it."""
    command = [
        sys.executable, "-m", "tbk_harness.kill_worker", f"--library={library}",
        f"--broken={broken}", f"--mutants={folder()}", f"--jobs={jobs}",
        *(f"--only={word}" for word in only), *words,
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", FROZEN: "1" if frozen else ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        assert worker.stdout is not None  # noqa: S101  # for the type checker
        try:
            for row in worker.stdout:
                yield json.loads(row)
        except BaseException:
            worker.terminate()
            raise


def fill(matrix: Matrix, rows: Iterable[dict[str, Any]]) -> list[str]:
    """Takes what the worker says into the matrix. Returns what is wrong besides mutants."""
    wrong: list[str] = []
    ended = False
    for row in rows:
        if row["kind"] == "test":
            matrix.tests[row["id"]] = row["clause"]
            if row["verdict"] not in SOUND:
                wrong.append(f"{row['id']}: the sound device fails: {row['verdict']}, "
                             f"{row.get('what', '')} {row.get('seen', '')}")  # fmt: skip
        elif row["kind"] == "mutant":
            matrix.rows.append(_row(row))
            wrong += _errors(row)
        ended = ended or row["kind"] == "end"
    return wrong if ended else [*wrong, "the worker ended before its work was done"]


def _row(row: dict[str, Any]) -> Row:
    stated = row["row"]
    mutant = Mutant(
        stated["name"], (row["clause"],), "mutant", stated["mechanism"], stated["narrow"],
        stated["breaks"],
    )  # fmt: skip
    killers = tuple(ran["test"] for ran in row["ran"] if ran["verdict"] in KILLS)
    return Row(
        mutant=mutant,
        ran=tuple(ran["test"] for ran in row["ran"]),
        killers=killers,
        citing=killers,  # no other test is run
        exit_code=int(bool(killers)),
        said="" if row["ran"] else "no test that the sound device passes cites the clause",
        seconds=sum(ran["seconds"] for ran in row["ran"]),
        runs=row["runs"],
    )


def _errors(row: dict[str, Any]) -> list[str]:
    """A mutant that could not be applied was not judged."""
    return [
        f"{row['row']['name']} with {ran['test']}: {ran.get('seen', 'an error')}"
        for ran in row["ran"]
        if ran["verdict"] == "error"
    ]
