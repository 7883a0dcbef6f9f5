# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Prints how often the broken clause comes first among the causes, over the C layer's mutants.

Each mutant meets the whole suite. With more than five failing clauses it counts one over the rank
of the first cause that has the broken clause, over the clauses of that cause; 0 where none has it.
With --torch TABLE no suite is run: the result files are of mutants of PyTorch's layer, by name, and
TABLE is what `python -m tbk_torch_mutants` prints.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tbk_harness.enrich import enrich
from tbk_reports.causes import causes, unfolded
from tbk_reports.evidence import gather
from tbk_reports.model import read_results

LEAST_CLAUSES = 6
TOP = 3


@dataclass(frozen=True)
class Place:
    """Where the broken clause stands among the causes of one mutant's run."""

    name: str
    clauses: int  # that fail
    score: float
    rank: int  # of its cause; 0: it is in none
    folded: int  # how many causes are left when what may follow is folded


def run(build: Path, name: str, output: Path) -> Path:
    """Runs the whole suite on a mutant, unless its result file is there."""
    if not output.exists():
        command = [str(build / "bin" / "tbk-run"), str(build / "lib" / "libtbk_mutants.so")]
        options = [f"--backend-option=mutant={name}", f"--output={output}", "--timeout=9"]
        subprocess.run([*command, *options], check=False, capture_output=True)
    return output


def place(name: str, broken: set[str], results: Path) -> Place:
    """Ranks the causes of a run as the reports do."""
    tests = enrich(read_results(results)).tests
    failing = [test for test in tests if test.failed]
    ranked = unfolded(failing, gather(tests))
    rank, score = 0, 0.0
    for at, cause in enumerate(ranked, 1):
        if broken & set(cause.clauses):
            rank, score = at, 1 / at / len(cause.clauses)
            break
    folded = len(causes(failing, among=tests))
    return Place(name, len({test.clause for test in failing}), score, rank, folded)


def half(name: str) -> int:
    """Returns 0 or 1: of the halves one may be looked at, and the other is held out."""
    return hashlib.sha256(name.encode()).digest()[-1] & 1


def tell(which: str, counted: list[Place]) -> None:
    """Prints the figures of some mutants."""
    if not counted:
        return
    mean = sum(one.score for one in counted) / len(counted)
    top = sum(0 < one.rank <= TOP for one in counted) / len(counted)
    left = sorted(one.folded for one in counted)[len(counted) // 2]
    print(f"{which}: {len(counted)} mutants, mean reciprocal rank {mean:.3f}, "
          f"among the first {TOP} {top:.1%}, causes left by folding {left} (median)")  # fmt: skip


def report(places: list[Place]) -> int:
    """Prints where each broken clause stands, and the figures of halves and all."""
    counted = [one for one in places if one.clauses >= LEAST_CLAUSES]
    for one in sorted(counted, key=lambda one: one.score):
        print(f"{one.score:5.2f}  rank {one.rank:3}  {one.clauses:3} clauses  {one.name}")
    if not counted:
        print("no mutant fails more than five clauses", file=sys.stderr)
        return 1
    print(f"{len(counted)} of {len(places)} mutants fail more than five clauses")
    for which in (0, 1):
        tell(f"half {which}", [one for one in counted if half(one.name) == which])
    tell("all", counted)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument(
        "results", type=Path, help="a folder for result files; those there are used"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=Path, help="a file with the names of mutants, one a line")
    parser.add_argument("--torch", type=Path, help="the table of mutants of PyTorch's layer")
    given = parser.parse_args()
    if given.torch:
        rows = map(json.loads, given.torch.read_text("utf-8").splitlines())
        broken = {row["name"]: set(row["clauses"].split()) for row in rows}
        there = [file for file in sorted(given.results.glob("*.jsonl")) if file.stem in broken]
        return report([place(file.stem, broken[file.stem], file) for file in there])
    listed = subprocess.run([given.build / "bin" / "tbk-mutants"], capture_output=True, check=True)
    mutants = {
        str(entry["name"]): set(str(entry["clause"]).split())
        for entry in map(json.loads, listed.stdout.splitlines())
        if entry["kind"] == "mutant" or (given.only and entry["kind"] == "frozen")
    }
    names = given.only.read_text().split() if given.only else list(mutants)
    given.results.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=given.jobs) as pool:
        files = list(
            pool.map(lambda name: run(given.build, name, given.results / f"{name}.jsonl"), names)
        )
    places = [
        place(name, mutants[name], file)
        for name, file in zip(names, files, strict=True)
        if file.exists()
    ]
    return report(places)


if __name__ == "__main__":
    sys.exit(main())
