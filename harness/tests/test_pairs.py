# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The unit of proof is a clause at a function: each that states a clause is called by a test
of that clause. What a test called stands in its record; no list of functions is kept by hand.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
import tbk_contracts
from runs import CPU, LIB, TEMPLATE, run
from tbk_contracts.interface import Function
from tbk_reports.model import read_results

MUTANTS = LIB / "libtbk_mutants.so"
# Devices on which some clauses can be seen that the reference does not let be seen.
DEVICES = {
    "cpu": (CPU, ()),
    "template": (TEMPLATE, ()),
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


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Returns the functions that the passing tests of each clause called."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, (library, options) in DEVICES.items():
        output = tmp_path_factory.mktemp(name) / "results.jsonl"
        given = [f"--backend-option={option}" for option in options]
        assert run(library, output, "--tier", "quick", *given).code == 0
        for test in read_results(output).tests:
            if test.verdict == "pass":
                found[test.clause] |= test.asked
    return found


def test_each_function_that_states_a_clause_is_called_by_a_test_of_it(
    called: dict[str, set[str]],
) -> None:
    interface = tbk_contracts.interface()
    pairs = [
        (clause.id, function)
        for clause in tbk_contracts.clauses()
        if clause.checked_must and "c" in clause.layer
        for function in clause.functions
        if function not in UNSEEN and not says_nothing(clause.id, interface.function(function))
    ]
    assert len(pairs) > 250
    missing = [
        f"{clause} {function}" for clause, function in pairs if function not in called[clause]
    ]
    assert " ".join(missing) == ""
