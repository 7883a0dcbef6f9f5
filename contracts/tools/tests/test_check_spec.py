# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each disagreement, seeded into a checkout in which nothing disagrees, is found and named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from check_spec import find_faults
from spec_checks import CHECKS, THREE_MUTANTS, THREE_MUTANTS_TOO
from spec_world import load_world
from tbk_contracts import clause_files, load_clauses

TOOLS = Path(__file__).resolve().parent.parent
HEADER = "contracts/include/tbk/core.h"
BACKEND = "contracts/include/tbk/backend.h"
MEMORY = "contracts/spec/memory.yml"
THREAD = "contracts/spec/thread.yml"
PAIRS = "contracts/spec/pairs.yml"
TORCH = "contracts/spec/torch/memory.yml"
LOCK = "contracts/spec/ids.lock.yml"
MEMORY_TEST = "contracts/tests/memory/memory_test.c"
THREAD_TEST = "contracts/tests/error/thread_test.c"
SUITES = "contracts/tests/suites.c"
MUTANTS = "mutants.jsonl"
TORCH_TEST = "contracts/python/tbk_contracts/torch/test_memory.py"
TORCH_MUTANTS = "bridge/tests/mutants/tbk_torch_mutants/memory.py"
TEMPLATE = "reference_backends/template/template.c"

ANY_THREAD = f"any thread.{' ' * 60}[THR-001]\n   * Ownership: none."
ONE_THREAD = ANY_THREAD.replace("any", "one")
LINE_OF_003 = (
    "   * Ensures:   the memory is there."
    "                                                   [MEM-003]\n"
)
# (file, what stands there, what is put there instead, what the checker says)
SEEDS = {
    "a label is missing": (HEADER, "   * Ordering:  none.\n   * Threads:   any thread.  ",
                           "   * Threads:   any thread.  ", "memory_alloc lacks the line Ordering"),
    "labels out of order": (HEADER, "   * Errors:    none.\n   * On error:  none.\n",
                            "   * On error:  none.\n   * Errors:    none.\n", "out of order"),
    "an unknown label": (HEADER, "Ownership: none.", "Property:  none.",
                         "has the unknown line Property"),
    "a line without an id": (HEADER, "[THR-001]", "", "Threads of memory_alloc ends in no id"),
    "Since is no version": (HEADER, "Since:     0", "Since:     ever", "is no ABI version"),
    "a function without a block": (HEADER, "} tbk_core_t", "void (*info)(tbk_instance_t* self);\n}",
                                   "info has no doc block"),
    "an id that the spec lacks": (HEADER, "[THR-001]", "[THR-033]", "THR-033 is not in the spec"),
    "other words at the second place": (HEADER, ANY_THREAD, ONE_THREAD,
                                        'says "one thread.", and at tbk/core.h:'),
    "another label at the second place": (HEADER, "   * Threads:   any", "   * Ordering:  any",
                                          "THR-001 is a line Threads, and at"),
    "a sentence for one that nobody states": (
        THREAD, "of: program", "of: memory_alloc", "which does not state it"),
    "a subject that is no function": (THREAD, "of: program", "of: memory_aloc",
                                      "is of memory_aloc, which is no function"),
    "an unknown level": (MEMORY, "level: must", "level: shall", "MEM-001 level"),
    "an unknown member": (MEMORY, "needs: null", "need: null", "MEM-001"),
    "no source": (TORCH, '["c10/core/Allocator.h: DataPtr"]', "[]", "MEM-501 source"),
    "a source without a symbol": (TORCH, "Allocator.h: DataPtr", "Allocator.h", "MEM-501 source"),
    "undefined without a reason": (MEMORY, '  reason: "nobody can tell"\n', "", "MEM-002 clause"),
    "checked with a reason": (MEMORY, "  kind: checked\n", '  kind: checked\n  reason: "so"\n',
                              "MEM-001 clause"),
    "the same id twice": (THREAD, "THR-002", "THR-001", "THR-001 stands 2 times"),
    "a clause in the wrong file": (THREAD, "THR-002", "MEM-009", "MEM-009 belongs into memory.yml"),
    "an unknown prefix": (THREAD, "THR-002", "XYZ-002", "XYZ-002 belongs into no area.yml"),
    "a torch number at the C layer": (THREAD, "THR-002", "THR-502", "has a number of the torch"),
    "a torch profile at the C layer": (THREAD, "profile: core", "profile: torch", "its profile is"),
    "a C number at the torch layer": (TORCH, "MEM-501", "MEM-099", "numbers from 501"),
    "a C profile at the torch layer": (TORCH, "profile: torch", "profile: core", "so is its"),
    "(checked) that is not": (MEMORY, "  kind: checked\n",
                              '  kind: untestable\n  reason: "no"\n', "MEM-001 says (checked)"),
    "(undefined) that is checked": (MEMORY, '  kind: undefined\n  reason: "nobody can tell"\n',
                                    "  kind: checked\n", "MEM-002: (undefined)"),
    "program and a function": (THREAD, "of: program", "of: [program, memory_free]",
                               "which does not state it"),
    "a retired id": (LOCK, "retired: {}", "retired:\n  MEM-003: x", "MEM-003 was used before"),
    "a new id": (LOCK, "  MEM-003:", "  MEM-333:", "MEM-003 is new"),
    "an id that has gone": (LOCK, "  MEM-003:", "  MEM-333:", "MEM-333 has gone"),
    "a changed sentence": (THREAD, "takes nothing", "takes something", "THR-002 has a changed"),
    "a sentence that names another": (THREAD, "takes nothing", "does as MEM-003 does",
                                      "THR-002 cannot be read alone: 'MEM-003'"),
    "a sentence that leans on the one before": (THREAD, "takes nothing", "waits for such a child",
                                                "THR-002 cannot be read alone: 'such a'"),
    "a base that is not there": (THREAD, "of: program", "of: program\n  builds_on: [MEM-009]",
                                 "THR-002 builds on MEM-009, which is no checked clause"),
    "a base that is undefined": (THREAD, "of: program", "of: program\n  builds_on: [MEM-002]",
                                 "THR-002 builds on MEM-002, which is no checked clause"),
    "a circle of bases": (MEMORY, "- id: MEM-003\n", "- id: MEM-003\n  builds_on: [THR-001]\n",
                          "a circle"),
    "a check of a clause without a test": (MEMORY_TEST, "{", '{ TBK_CHECKS("MEM-002");',
                                           "names MEM-002, which no test is of"),
    "a clause without a test": (MEMORY_TEST, "MEM-003", "MEM-001", "MEM-003 is checked, and no"),
    "a row that cites nothing": (MEMORY_TEST, "MEM-003", "MEM-088", "cites MEM-088, which is not"),
    "a row that cites the undefined": (MEMORY_TEST, "MEM-003", "MEM-002", "which is undefined"),
    "a row that cites the untestable": (MEMORY_TEST, "MEM-003", "MEM-004", "which is untestable"),
    "a row that cites the torch layer": (MEMORY_TEST, "MEM-003", "MEM-501", "cannot be seen at"),
    "a row without its function": (MEMORY_TEST, "static void it_gives_memory",
                                   "static void it_takes_memory", "is no test function"),
    "a row that cannot be read": (MEMORY_TEST, '"MEM-003", "flat_address !stream"',
                                  '"MEM-003" SUFFIX, NULL', "2 rows, of which 1 can be read"),
    "two rows of one name": (THREAD_TEST, "0, threads_may_end", "0, threads_may_call",
                             "thread/threads_may_call stands in 2 rows"),
    "a suite that never runs": (SUITES, "X(memory)", "X(copy)", "suite memory is not in suites.c"),
    "a suite without rows": (SUITES, "X(thread)", "X(thread) X(fork)", "suite fork is in suites.c"),
    "an unknown need in a row": (MEMORY_TEST, "flat_address !stream", "flat !stream",
                                 "needs flat, which"),
    "an unknown need in the spec": (MEMORY, "needs: flat_address", "needs: flat",
                                    "MEM-003 needs flat"),
    "an unknown operator": (THREAD_TEST, "op:mm", "op:nn", "needs op:nn"),
    "an unknown dtype": (THREAD, "dtype:FLOAT32", "dtype:FLOAT33", "needs dtype:FLOAT33"),
    "an unknown kind of need": (THREAD_TEST, "op:mm", "ip:mm", "needs ip:mm"),
    "a backend's name": (MEMORY_TEST, "CHECK(fx)", 'CHECK(!strcmp(name, "CPU"))', "backend CPU"),
    "a vendor's name": (THREAD_TEST, "CHECK(fx)", "CHECK(npu)", "names the backend npu"),
    "no mutant": (MUTANTS, '"clause": "THR-101"', '"clause": "MEM-001"', "THR-101 has 0 of 1"),
    "too few mutants": (MUTANTS, '"memory_went", "clause": "MEM-003"',
                        '"memory_went", "clause": "MEM-001"', "MEM-003 has 2 of 3 mutants"),
    "no narrow mutant": (MUTANTS, '"MEM-003", "kind": "mutant", "narrow": true',
                         '"MEM-003", "kind": "mutant", "narrow": false', "no narrow mutant"),
    "too few mutants of a listed clause": (MUTANTS, '"one_at_a_time", "clause": "THR-001"',
                                           '"one_at_a_time", "clause": "THR-101"',
                                           "THR-001 has 2 of 3 mutants"),
    "no narrow mutant of a listed clause": (MUTANTS, '"THR-001", "kind": "mutant", "narrow": true',
                                            '"THR-001", "kind": "mutant", "narrow": false',
                                            "THR-001 has no narrow mutant"),
    "a mutant of nothing": (MUTANTS, "THR-001", "THR-099", "which is not in the spec"),
    "two mutants of one name": (MUTANTS, '"memory_went"', '"memory_goes"', "memory_goes stands 2"),
    "an anti-mutant does not count": (MUTANTS, '"THR-101", "kind": "mutant"',
                                      '"THR-101", "kind": "anti"', "THR-101 has 0 of 1"),
    "a torch clause without a test": (TORCH, "- id: MEM-501", "- id: MEM-502",
                                      "MEM-502 is checked, and no test cites it"),
    "a torch test that cites nothing": (TORCH_TEST, '@clause("MEM-501"', '@clause("MEM-599"',
                                        "cites MEM-599, which is not in the spec"),
    "a torch test that cites the C layer": (TORCH_TEST, '"MEM-003"', '"MEM-001"', "cannot be seen"),
    "a torch test that cannot be read": (TORCH_TEST, "TABLE.get(kind", "other(kind", "cites ?"),
    "a kind of fault of nothing": (PAIRS, "THR-001", "THR-099", "befalls no function"),
    "a kind of fault of no area": (PAIRS, "threads", "weather", "is of weather, which is none"),
    "a rule that asks for an unknown word": (PAIRS, "[states]", "[states, slow]", "asks for slow"),
    "a pair without a fault": (PAIRS, "[states]", "[states, fallible]",
                               "THR-001 of memory_free has no kind of fault"),
    "a pair without a mutant": (PAIRS, "refuses_abroad", "refuses_company",
                                "memory_alloc/refuses_company/THR-001 has no mutant"),
    "a mutant without a pair": (PAIRS, "[states]", "[states, fallible]",
                                "memory_free/refuses_abroad/THR-001 is of no pair"),
    "an unknown capability": (TORCH_TEST, "!event", "!evnt", "needs !evnt, which capability.py"),
    "a need that cannot be read": (TORCH_TEST, "NEEDS +", "MORE +", "needs ?"),
    "two torch tests of one name": (TORCH_TEST, "def test(device)",
                                    "def test_it_is_there(device)", "is there 2 times"),
    "a vendor's name at the torch layer": (TORCH_TEST, '{1: "MEM-501"}', '{1: "MEM-501", 2: "npu"}',
                                           "names the backend npu"),
    "a torch mutant of nothing": (TORCH_MUTANTS, "MEM-003", "MEM-099", "breaks MEM-099, which"),
    "a torch mutant of the C layer": (TORCH_MUTANTS, "MEM-003", "MEM-001", "breaks MEM-001, which"),
    "two torch mutants of one name": (TORCH_MUTANTS, "nowhere", "not_there", "stands 2 times"),
    "a part that is too long": (HEADER, "typedef struct", "\n" * 300 + "typedef struct",
                                "300 are allowed"),
    "a mandatory function that comes late": (HEADER, "* Allocate.", "* Allocate. May be NULL.",
                                             "has a mandatory function behind one"),
    "a table that nobody can reach": (BACKEND, "  const tbk_core_t* core;\n", "",
                                      "memory_alloc is in tbk_core, which is no table"),
    "a need that is no table": (BACKEND, "needs stream", "needs streams", "event needs streams"),
    "a template that is too long": (TEMPLATE, "int main", "int\n" * 150 + " main", "has 151 lines"),
}  # fmt: skip


def faults(root: Path) -> list[str]:
    """Returns what the checks say, without running the generators."""
    world = load_world(root, root / MUTANTS)
    return [fault for check in CHECKS for fault in check(world)]


def test_nothing_disagrees_where_nothing_does(checkout: Path) -> None:
    assert find_faults(load_world(checkout, checkout / MUTANTS)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_disagreement_is_found(checkout: Path, seed: str) -> None:
    file, old, new, said = SEEDS[seed]
    path = checkout / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    found = faults(checkout)
    assert any(said in fault for fault in found), found
    assert all("\n" not in fault for fault in found)


def test_the_listed_clauses_are_checked_ones_of_other_areas() -> None:
    known = {clause.id for clause in load_clauses(TOOLS.parent) if clause.checked_must}
    assert known >= THREE_MUTANTS_TOO
    assert not {clause for clause in THREE_MUTANTS_TOO if clause[:3] in THREE_MUTANTS}


def test_a_torch_clause_that_nothing_breaks_is_found(checkout: Path) -> None:
    path = checkout / TORCH_MUTANTS
    path.write_text(path.read_text().replace("MEM-501", "MEM-003"))
    assert "spec/torch/memory.yml: MEM-501 has no mutant" in faults(checkout)


@pytest.mark.parametrize(
    "file",
    [
        "tests/generated/clauses.c",
        "include/tbk/tbk_operators.h",
        "include/tbk/tables.h",
        "include/tbk/tbk_aten.h",
        "../bridge/csrc/generic/pointwise_rows.cpp",
    ],
)
def test_a_stale_file_is_found(checkout: Path, file: str) -> None:
    path = checkout / "contracts" / file
    path.write_text(path.read_text() + "\n")
    found = find_faults(load_world(checkout, checkout / MUTANTS))
    assert len(found) == 1
    assert "is stale" in found[0]


def test_a_spec_without_clauses_is_no_good_spec(checkout: Path) -> None:
    for path in clause_files(checkout / "contracts"):
        path.unlink()
    assert "spec: there is no clause" in faults(checkout)


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The checker as a program."""
    return subprocess.run(
        [sys.executable, str(TOOLS / "check_spec.py"), "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_agrees(checkout: Path) -> None:
    ran = run(checkout, "--mutants", str(checkout / MUTANTS))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "7 clauses at the C layer (4 must and checked)" in ran.stdout
    assert ran.stdout.rstrip().endswith("all agree")


def test_the_program_does_not_leave_mutants_out_silently(checkout: Path) -> None:
    assert run(checkout).returncode == 2
    ran = run(checkout, "--no-mutants")
    assert ran.returncode == 0
    assert "mutants: not compared" in ran.stdout


def test_accept_takes_changes_in_and_retires_what_has_gone(checkout: Path) -> None:
    thread = checkout / THREAD
    text = thread.read_text().replace("takes nothing", "takes something")
    thread.write_text(text.replace("THR-002", "THR-003"))
    row = checkout / THREAD_TEST
    row.write_text(row.read_text().replace("THR-002", "THR-003"))
    header = checkout / HEADER
    header.write_text(header.read_text().replace("the memory is there.", "the memory is here. "))
    ran = run(checkout, "--accept")
    assert "retired: THR-002" in ran.stdout
    assert "changed: MEM-003; review memory/it_gives_memory" in ran.stdout
    assert [fault for fault in faults(checkout) if "THR" in fault or "changed" in fault] == []
    thread.write_text(thread.read_text().replace("THR-003", "THR-002"))
    assert any("retired" in fault for fault in faults(checkout))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (HEADER, LINE_OF_003, "   * Ensures:   none.\n", "MEM-003 lacks 'of', and the header"),
        (TORCH, '  text: "memory lies on the current device."\n', "", "MEM-501 lacks 'text', and"),
    ],
)
def test_a_clause_without_a_sentence_is_named(
    checkout: Path, file: str, old: str, new: str, said: str
) -> None:
    path = checkout / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    ran = run(checkout, "--mutants", str(checkout / MUTANTS))
    assert ran.returncode == 2
    assert said in ran.stderr


def test_a_sentence_that_stands_in_the_spec_too_is_taken_out(checkout: Path) -> None:
    path = checkout / MEMORY
    before = path.read_text()
    repeated = '- id: MEM-003\n  of: memory_alloc\n  line: Ensures\n  text: "the memory is here."\n'
    path.write_text(before.replace("- id: MEM-003\n", repeated))
    found = find_faults(load_world(checkout, checkout / MUTANTS))
    assert f"{MEMORY} is stale" in found[-1]
    tool = [sys.executable, str(TOOLS / "generate_spec.py"), "--root", str(checkout / "contracts")]
    assert subprocess.run(tool, check=True).returncode == 0
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("file", "text"),
    [(MEMORY, "- id: [\n"), (MEMORY, "text\n"), (MEMORY, "- id: MEM-001\n"), (MUTANTS, "{}\n")],
)
def test_a_file_that_cannot_be_read_is_one_line(checkout: Path, file: str, text: str) -> None:
    (checkout / file).write_text(text)
    ran = run(checkout, "--mutants", str(checkout / MUTANTS))
    assert ran.returncode == 2
    assert ran.stderr.startswith("check_spec: ")
    assert ran.stderr.count("\n") == 1
