# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Shards that are divided by time, through tbk-run and the pages."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import CPU, TEMPLATE, Results, run

COUNT = 3
AREA = ("--only", "memory", "--only", "copy")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the results of a whole run of two areas, one test at a time: with more
    jobs, a test that runs alone counts once for each."""
    path = tmp_path_factory.mktemp("old") / "old.jsonl"
    assert run(TEMPLATE, path, *AREA, "--jobs=1").code == 0
    return path


def _parts(folder: Path, old: Path) -> list[Results]:
    words = [*AREA, f"--timings={old}"]
    return [
        run(TEMPLATE, folder / f"{i}.jsonl", *words, "--shard", f"{i}/{COUNT}").results()
        for i in range(1, COUNT + 1)
    ]


def test_shards_by_time_are_a_partition_of_equal_parts(tmp_path: Path, old: Path) -> None:
    parts = _parts(tmp_path, old)
    records = [json.loads(line) for line in old.read_bytes().splitlines()]
    took = {one["id"]: one["wall_ns"] for one in records if one["record"] == "test"}
    ids = [one for part in parts for one in part.verdicts]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(took)
    loads = [sum(took[one] for one in part.verdicts) for part in parts]
    assert max(loads) <= max(1.15 * sum(loads) / COUNT, *took.values())
    digest = hashlib.sha256(old.read_bytes()).hexdigest()
    assert {part.header["timings"] for part in parts} == {digest}


def _report(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tbk_harness", "report", *names], capture_output=True, text=True,
        check=False, cwd=folder, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


def test_one_report_of_all_parts_and_none_of_parts_that_were_divided_otherwise(
    tmp_path: Path, old: Path
) -> None:
    _parts(tmp_path, old)
    whole = _report(tmp_path, "1.jsonl", "2.jsonl", "3.jsonl")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    two = _report(tmp_path, "1.jsonl", "3.jsonl")
    assert (two.returncode, "shard 2/3 is missing" in two.stdout) == (6, True)
    other = tmp_path / "other.jsonl"
    other.write_bytes(old.read_bytes() + b"\n")
    words = [*AREA, f"--timings={other}", "--shard", "2/3"]
    assert run(TEMPLATE, tmp_path / "2.jsonl", *words).code == 0
    mixed = _report(tmp_path, "1.jsonl", "2.jsonl", "3.jsonl")
    assert (mixed.returncode, "in timings" in mixed.stdout) == (6, True)


def test_another_division_is_not_gone_on_with(tmp_path: Path, old: Path) -> None:
    words = [*AREA, "--shard=1/3"]
    first = run(TEMPLATE, tmp_path / "a.jsonl", *words, f"--timings={old}")
    assert first.code == 0
    kept = first.output.read_bytes()
    again = run(TEMPLATE, first.output, *words, "--resume")
    assert again.code == 2
    assert "with another" in again.stderr
    assert first.output.read_bytes() == kept
    assert run(TEMPLATE, first.output, *words, f"--timings={old}", "--resume").code == 0


def test_times_of_results_in_one_file(tmp_path: Path, old: Path) -> None:
    parts = _parts(tmp_path, old)
    joined = tmp_path / "joined.jsonl"
    joined.write_bytes(b"".join(part.raw for part in parts))
    again = [
        run(
            TEMPLATE, tmp_path / "b.jsonl", *AREA, f"--timings={joined}", f"--shard={i}/2"
        ).results()
        for i in (1, 2)
    ]
    assert sum(len(part.tests) for part in again) == sum(len(part.tests) for part in parts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timings=none.jsonl", "--shard=1/2"], "none.jsonl: No such file"),
        (["--timings=/dev/null", "--shard=1/2"], "/dev/null: not a regular file"),
        (["--timings=/", "--shard=1/2"], "/: "),
        ([f"--timings={__file__}", "--shard=1/2"], "it holds no test"),
        (["--timings=/dev/null"], "--timings goes with --shard"),
        (["--timeout=1d"], "'1d' is not a time such as 90, 90s, 2m or 1h"),
        (["--budget=0s"], "'0s' is not a time"),
    ],
)
def test_what_cannot_be_understood(tmp_path: Path, words: list[str], said: str) -> None:
    done = run(CPU, tmp_path / "a.jsonl", *words)
    assert done.code == 2
    assert said in done.stderr
    assert not done.output.exists()


def test_phases_are_told_in_their_order(tmp_path: Path) -> None:
    phases = tmp_path / "phases"
    words = [
        "--only",
        "memory/live_allocations_share_no_byte",
        "--timeout=1m",
        "--open-timeout=90s",
    ]
    assert run(TEMPLATE, tmp_path / "a.jsonl", *words, f"--phases={phases}").code == 0
    assert phases.read_text().split() == ["start", "preflight", "tests"]
    nowhere = f"--phases={tmp_path}/no/such"  # is nobody's loss
    assert run(TEMPLATE, tmp_path / "a.jsonl", *words, nowhere).code == 0
