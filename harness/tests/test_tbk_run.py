# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tbk-run does with good backends, and which tests it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import (
    CPU,
    HOSTILE,
    TEMPLATE,
    hostile,
    processes_with,
    run,
)


def test_the_template_passes(output: Path) -> None:
    done = run(TEMPLATE, output)
    results = done.results()
    assert done.code == 0, done.stdout
    assert results.footer["verdict"] == "pass"
    assert results.footer["planned"] == results.footer["recorded"] == len(results.tests)
    assert set(results.counts()) <= {"pass", "unsupported", "not-shown"}
    assert done.line.startswith("tbk-run: PASS (quick)  ")
    assert str(output) in done.line
    assert not processes_with(str(output))


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("--only", "memory", "--only", "DEV"), "--only memory, DEV"),
        (("--shard", "1/3"), "shard 1/3"),
    ],
)
def test_a_pass_of_a_part_is_called_partial(
    output: Path, arguments: tuple[str, ...], missing: str
) -> None:
    done = run(TEMPLATE, output, *arguments)
    assert done.code == 0, done.stdout
    assert done.line.startswith("tbk-run: PARTIAL (quick)  ")
    assert f"partial: {missing}  " in done.line


def test_a_pass_says_what_was_checked(output: Path) -> None:
    for record in run(TEMPLATE, output).results().tests:
        if record["verdict"] == "pass":
            assert record["checks"] > 0
            assert record["evidence"] in {"proven", "trivial"}
        if record["verdict"] == "unsupported":
            assert record["needs_missing"]
            assert record["checks"] == 0


def test_the_same_verdicts_in_one_process_and_in_many(output: Path, tmp_path: Path) -> None:
    fork = run(TEMPLATE, output, "--isolation", "fork").results()
    batch = run(TEMPLATE, tmp_path / "batch.jsonl", "--isolation", "batch").results()
    assert fork.verdicts == batch.verdicts
    assert (fork.header["isolation"], batch.header["isolation"]) == ("fork", "batch")


def test_a_device_that_opens_slowly_is_kept_open(output: Path) -> None:
    slow = ("--backend-option", "open_ms=80", "--only", "MEM-002")
    assert run(CPU, output, *slow).results().header["isolation"] == "batch"


def test_the_list_names_tests_and_runs_none(output: Path) -> None:
    done = run(TEMPLATE, output, "--list", "--only", "MEM-002")
    words = done.stdout.splitlines()[0].split()
    assert done.code == 0
    assert words[0].startswith("memory")
    assert words[1:3] == ["MEM-002", "must"]
    assert not output.exists()


@pytest.mark.parametrize(
    ("selector", "member", "value"),
    [
        ("memory_free", "suite", "memory_free"),
        ("MEM-005", "clause", "MEM-005"),
        ("profile:async", "profile", "async"),
    ],
)
def test_what_is_selected_is_what_runs(
    output: Path, selector: str, member: str, value: str
) -> None:
    tests = run(TEMPLATE, output, "--only", selector).results().tests
    assert tests
    assert {record[member] for record in tests} == {value}


def test_shards_are_a_partition(tmp_path: Path) -> None:
    whole = run(TEMPLATE, tmp_path / "whole.jsonl", "--only", "memory").results().verdicts
    parts: list[str] = []
    for i in (1, 2, 3):
        part = tmp_path / f"{i}.jsonl"
        parts += run(TEMPLATE, part, "--only", "memory", "--shard", f"{i}/3").results().verdicts
    assert sorted(parts) == sorted(whole)


def test_shuffling_changes_the_order_alone(tmp_path: Path) -> None:
    def order(name: str, *arguments: str) -> list[str]:
        done = run(TEMPLATE, tmp_path / name, "--only", "memory", "--jobs", "1", *arguments)
        tests = sorted(done.results().tests, key=lambda record: int(record["index"]))
        return [record["id"] for record in tests]

    plain, one, again = order("a"), order("b", "--shuffle", "7"), order("c", "--shuffle", "7")
    assert one == again
    assert one != plain
    assert sorted(one) == sorted(plain)


def test_each_repetition_has_a_record(output: Path) -> None:
    tests = run(TEMPLATE, output, "--only", "MEM-002", "--repeat", "5").results().tests
    names = {record["id"] for record in tests}
    assert sorted((r["id"], r["repeat"]) for r in tests) == sorted(
        (name, i) for name in names for i in range(5)
    )


def test_differing_verdicts_are_unstable(output: Path, tmp_path: Path) -> None:
    once = f"once={tmp_path / 'marker'}"
    options = hostile("crash_in_call", "at=4", once)
    done = run(HOSTILE, output, "--only", "copy", "--repeat", "3", *options)
    assert done.code == 1
    assert done.results().counts().get("unstable", 0) > 0


SWEEP = "sweep_memory/memory_comes_and_goes"


def test_a_thorough_test_runs_in_its_tier_or_named_by_its_id(output: Path) -> None:
    quick = run(TEMPLATE, output, "--list").stdout
    thorough = run(TEMPLATE, output, "--list", "--tier", "thorough").stdout
    assert SWEEP not in quick
    assert SWEEP in thorough
    assert set(quick.splitlines()) < set(thorough.splitlines())
    done = run(TEMPLATE, output, "--only", "sweep_memory/")
    assert done.code == 3
    assert "is of the thorough tier" in done.stderr
    results = run(TEMPLATE, output, "--only", SWEEP).results()
    assert results.verdicts == {SWEEP: "pass"}
    assert (results.header["tier"], results.footer["tier"]) == ("quick", "quick")


def test_one_case_of_a_sweep_runs_alone(output: Path) -> None:
    whole = run(TEMPLATE, output, "--only", SWEEP).results().tests[0]
    line = "size=1 blocks=1 turns=1 freed=first_first sizes=equal device=0 thread=main error=given"
    alone = run(TEMPLATE, output, "--only", SWEEP, "--case", line).results().tests[0]
    assert int(whole["notes"].split()[0]) > 20
    assert alone["notes"].split()[0] == "1"
    none = run(TEMPLATE, output, "--only", SWEEP, "--case", "size=none").results().tests[0]
    assert "names no case of this sweep" in none["notes"]
    assert none["verdict"] == "not-shown"
