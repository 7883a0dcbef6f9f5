#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fail on any disagreement of header, spec, tests and mutants, each in one line.

With --accept, writes the sentences of the spec into the lock file first: new ids are taken in, ids
that have gone are retired for good, and the tests of changed sentences are listed for review.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

from spec_checks import CHECKS  # noqa: E402
from spec_pairs import run_reference  # noqa: E402
from spec_world import LOCK, Lock, World, load_world  # noqa: E402
from tbk_contracts import SpecError, text_digest  # noqa: E402

LOCK_HEAD = """\
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# Every id that was ever used, with a digest of its sentence. Written by check_spec.py --accept.
"""


def stale_files(root: Path) -> Iterator[str]:
    """Generated files that are not what their generators write."""
    contracts = root / "contracts"
    spec, include = contracts / "spec", contracts / "include" / "tbk"
    commands = [
        ["generate_clauses.py", "--root", str(contracts)],
        ["generate_spec.py", "--root", str(contracts)],
        ["generate_tables.py", "--root", str(contracts)],
        ["generate_suites.py", "--root", str(contracts)],
        ["generate_areas.py", "--root", str(root)],
        ["generate_capability_words.py", "--root", str(root)],
        ["generate_trace.py", "--root", str(contracts)],
        ["generate_words.py", "--root", str(contracts)],
        ["generate_pairs.py", "--root", str(root)],
        ["generate_rows.py", "--root", str(root)],
        ["generate_overloads.py", "--root", str(contracts)],
        ["generate_named.py", "--root", str(root)],
        [
            "generate_operators.py",
            *("--source", str(spec / "operators.yml")),
            *("--header", str(include / "tbk_operators.h")),
        ],
    ]
    for command in commands:
        ran = subprocess.run(
            [sys.executable, str(TOOLS / command[0]), "--check", *command[1:]],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            yield (ran.stdout + ran.stderr).strip() or f"{command[0]} exits {ran.returncode}"


def accept(world: World) -> Lock:
    """Takes the spec as it is into the lock, and says what that changes."""
    ids = world.by_id()
    retired = dict(world.lock.retired)
    for clause_id, digest in world.lock.current.items():
        if clause_id not in ids:
            print(f"retired: {clause_id}")
            retired[clause_id] = digest
        elif digest != text_digest(ids[clause_id].text):
            tests = [row.id for row in world.rows if row.clause == clause_id]
            print(f"changed: {clause_id}; review {', '.join(tests) or 'no test'}")
    current = {clause_id: text_digest(one.text) for clause_id, one in ids.items()}
    return Lock({k: v for k, v in current.items() if k not in retired}, retired)


def write_lock(path: Path, lock: Lock) -> None:
    """Writes the lock file, sorted, so that two branches merge."""
    text = yaml.safe_dump({"current": lock.current, "retired": lock.retired}, sort_keys=True)
    path.write_text(LOCK_HEAD + text)


def find_faults(world: World) -> list[str]:
    """Returns all disagreements."""
    faults = [fault for check in CHECKS for fault in check(world)]
    return faults + list(stale_files(world.root))


def summary(world: World) -> str:
    """Returns what was compared, so that an empty comparison does not look like a good one."""
    c_clauses = world.c_clauses()
    must = sum(clause.checked_must for clause in c_clauses)
    mutants = "not compared" if world.mutants is None else str(len(world.mutants))
    pairs = world.pairs.all()
    units = {(pair.clause.id, pair.function.name) for pair in pairs}
    traced = "not traced" if world.called is None else "traced"
    return (
        f"check_spec: {len(c_clauses)} clauses at the C layer ({must} must and checked), "
        f"{len(world.clauses) - len(c_clauses)} at the torch layer; {len(world.blocks)} functions, "
        f"{len(world.rows)} tests, mutants: {mutants}; {len(units)} pairs of clause and function "
        f"with {len(pairs)} faults, {traced}; of the torch layer {len(world.torch.tests)} "
        f"test functions, mutants: {len(world.torch.mutants)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=TOOLS.parent.parent, help="the checkout")
    parser.add_argument("--accept", action="store_true", help="write the lock file first")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--mutants", type=Path, help="the output of tbk-mutants")
    group.add_argument("--no-mutants", action="store_true", help="compare no mutants")
    parser.add_argument(
        "--trace", nargs=2, type=Path, metavar=("TBK-RUN", "LIB"),
        help="run the quick tests on the reference, and look that each pair has a test",
    )  # fmt: skip
    options = parser.parse_args()
    if options.mutants is None and not options.no_mutants and not options.accept:
        parser.error("give --mutants FILE (the output of tbk-mutants), or --no-mutants")
    try:
        world = load_world(options.root, options.mutants)
        if options.accept:
            world.lock = accept(world)
            write_lock(world.contracts / LOCK, world.lock)
        if options.trace:
            world.called = run_reference(options.trace[0], options.trace[1], world.pairs)
        faults = find_faults(world)
    except (SpecError, OSError, ValueError, KeyError, yaml.YAMLError) as error:
        print(f"check_spec: {error}", file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    print(summary(world) + (f"; {len(faults)} disagreements" if faults else "; all agree"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
