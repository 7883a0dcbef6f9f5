# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The units of proof, pairs of clause and function: each has kinds of fault and a test."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from spec_world import World
from tbk_contracts.pairs import WORDS, Kind, Pairs, is_traced, words_of

AREAS = ("errors", "order", "lifetime", "threads")
OF_CLAUSE = {"states", "names_error"}
CALLED = 1  # the bit that every traced call has


def pairs_sense(world: World) -> Iterator[str]:
    """Each kind of fault is of one of the areas and of known words, and befalls some function."""
    for name, count in Counter(kind.name for kind in world.pairs.kinds).items():
        if count > 1:
            yield f"spec/pairs.yml: {name} stands there {count} times"
    for kind in world.pairs.kinds:
        place = f"spec/pairs.yml: {kind.name}"
        if kind.area not in AREAS:
            yield f"{place} is of {kind.area}, which is none of {', '.join(AREAS)}"
        for word in sorted({*kind.of, *kind.unless} - {*WORDS, *OF_CLAUSE}):
            yield f"{place} asks for {word}, which the header does not say of functions"
        for word, reason in kind.unless.items():
            if not reason:
                yield f"{place} has no reason for leaving out {word}"
        if not kind.clause and not kind.lines:
            yield f"{place} names neither a clause nor lines of the header"
        befallen = list(world.pairs.of_kind(kind))
        if not befallen:
            yield f"{place} befalls no function"
        for clause in dict.fromkeys(pair.clause.id for pair in befallen):
            if not world.by_id()[clause].checked_must:
                yield f"{place} is of {clause}, which is no checked must"


def pairs_complete(world: World) -> Iterator[str]:
    """Each function that shares a clause can be given a fault, or a rule says why not."""
    having = {(pair.clause.id, pair.function.name) for pair in world.pairs.all()}
    for clause, function in world.pairs.stated():
        if not world.pairs.is_shared(clause) or (clause.id, function.name) in having:
            continue
        if not any(_left_out(world.pairs, kind, clause.id, function.name)
                   for kind in world.pairs.kinds):  # fmt: skip
            yield (
                f"{function.file}: {clause.id} of {function.name} has no kind of fault in "
                "spec/pairs.yml, and no rule there says why"
            )


def _left_out(pairs: Pairs, kind: Kind, clause: str, function: str) -> bool:
    """Returns whether a rule with a reason takes the function from a kind that is of this
    clause.
    """
    words = words_of(pairs.interface.function(function))
    return kind.clause == clause and bool(words & set(kind.unless))


def pairs_mutants(world: World) -> Iterator[str]:
    """What the library of mutants offers is what the rules make."""
    if world.pair_mutants is None:
        return
    made = {pair.name for pair in world.pairs.all()}
    for name in sorted(made - world.pair_mutants):
        yield f"the pair {name} has no mutant"
    for name in sorted(world.pair_mutants - made):
        yield f"the mutant {name} is of no pair"


Called = set[tuple[str, str]]
"""Clauses and the functions that a test citing them called."""


def called_in(results: Path) -> Called:
    """Returns what the tests of a run called, by the result file."""
    found: Called = set()
    names: list[str] = []
    for line in results.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["record"] == "header":
            names = record["traced"]
        if record["record"] == "test" and record["calls"]:
            bits = bytes.fromhex(record["calls"])[1:]
            found |= {
                (record["clause"], name)
                for name, bit in zip(names, bits, strict=False)
                if bit & CALLED
            }
    return found


def run_reference(runner: Path, library: Path, pairs: Pairs) -> Called:
    """Runs the quick tests on the reference, as it is and with each option that a pair needs."""
    found: Called = set()
    needed: dict[str, set[str]] = {"": set()}
    for pair in pairs.all():
        if pair.options:
            needed.setdefault(pair.options, set()).add(pair.clause.id)
    with tempfile.TemporaryDirectory(prefix="tbk-spec-") as folder:
        for number, (options, clauses) in enumerate(needed.items()):
            output = Path(folder) / f"{number}.jsonl"
            command = [str(runner), str(library), "--quiet", f"--output={output}"]
            command += [f"--backend-option={options}"] if options else []
            command += [f"--only={clause}" for clause in sorted(clauses)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if not output.exists():
                raise ValueError(f"{runner.name} left no results: {ran.stderr.strip()}")
            found |= called_in(output)
    return found


def pairs_tested(world: World) -> Iterator[str]:
    """A test that cites the clause calls the function, for each pair, in the quick tier."""
    if world.called is None:
        return
    shared = [(one.id, function) for one, function in world.pairs.stated()
              if world.pairs.is_shared(one)]  # fmt: skip
    wanted = [*shared, *((pair.clause.id, pair.function) for pair in world.pairs.all())]
    for clause, function in dict.fromkeys(wanted):
        left_out = any(_left_out(world.pairs, kind, clause, function.name)
                       for kind in world.pairs.kinds)  # fmt: skip
        tested = (clause, function.name) in world.called
        if is_traced(function) and not left_out and not tested:
            yield f"{function.file}: no quick test of {clause} calls {function.name}"
