# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The unit of proof is a clause at a function: each that states a clause is called by a test
of that clause. What a test called stands in its record; no list of functions is kept by hand.
"""

from __future__ import annotations

from pathlib import Path

import tbk_contracts
from runs import CPU, LIB, run
from tbk_contracts.interface import Function
from tbk_reports.model import read_results

MUTANTS = LIB / "libtbk_mutants.so"
# Devices on which some clauses can be seen that the reference does not let be seen.
DEVICES = {
    "cpu": (CPU, ()),
    "coarse": (CPU, ("granularity=64",)),
    "waits-at-home": (MUTANTS, ("mutant=no_cross_device_wait",)),
    "exclusive": (MUTANTS, ("mutant=exclusive",)),
    "plans-nothing": (MUTANTS, ("mutant=prepare_refuses",)),
}
# A test that makes its own instance, or ends it, is not seen by the trace.
UNSEEN = {"tbk_backend_create", "destroy"}


def says_nothing(clause: str, function: Function) -> bool:
    """Returns whether a shared clause has no meaning at a function; a rule each."""
    refusals = [line.text for line in function.lines if line.text.endswith("(checked).")]
    if (
        clause == "ERR-001"
    ):  # what a failing call leaves alone: it must have a way to fail, and an out
        return all(text.startswith("out_") for text in refusals)
    # Injected faults make other work fail: beside other threads, nothing is promised of that.
    return clause == "THR-001" and function.struct == "tbk_fault_ops"


Pair = tuple[str, str]  # clause, function


def stated() -> list[Pair]:
    """Returns the pairs that the C layer has to show."""
    interface = tbk_contracts.interface()
    return [
        (clause.id, function)
        for clause in tbk_contracts.clauses()
        if clause.checked_must and "c" in clause.layer
        for function in clause.functions
        if function not in UNSEEN and not says_nothing(clause.id, interface.function(function))
    ]


def shown(library: Path, output: Path, *arguments: str) -> set[Pair]:
    """Returns the functions that the passing tests of each clause called."""
    assert run(library, output, "--tier", "quick", *arguments).code == 0
    return {
        (test.clause, function)
        for test in read_results(output).tests
        if test.verdict == "pass"
        for function in test.asked
    }


def test_each_function_that_states_a_clause_is_called_by_a_test_of_it(tmp_path: Path) -> None:
    """The reference runs all tests; the others those of the clauses that are still missing."""
    missing = stated()
    assert len(missing) > 250
    for name, (library, options) in DEVICES.items():
        clauses = sorted({clause for clause, _ in missing}) if name != "cpu" else []
        given = [f"--backend-option={option}" for option in options]
        given += [f"--only={clause}" for clause in clauses]
        seen = shown(library, tmp_path / f"{name}.jsonl", *given)
        missing = [pair for pair in missing if pair not in seen]
        if not missing:
            break
    assert [f"{clause} {function}" for clause, function in missing] == []
