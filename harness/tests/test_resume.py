# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A run that was interrupted or killed, and one that goes on: each test counts once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from runs import (
    HOSTILE,
    PATIENCE,
    TEMPLATE,
    command,
    hostile,
    processes_with,
    read,
    run,
    wait_for,
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_7(output: Path, number: signal.Signals) -> None:
    hang = hostile("hang_in_call", "at=4")
    arguments = ["--only", "copy", "--jobs", "1", *hang]
    with subprocess.Popen(
        command(HOSTILE, output, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: output.exists() and output.stat().st_size > 0)
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE) == 7
    results = read(output)
    assert results.footer["exit_code"] == 7
    assert results.footer["verdict"] == "error"
    assert len(results.tests) == results.footer["recorded"] < results.footer["planned"]
    assert not processes_with(str(output))


def test_killed_at_random_and_resumed_each_test_counts_once(output: Path) -> None:
    plain = run(TEMPLATE, output.with_name("plain.jsonl")).results()
    rounds = int(os.environ.get("TBK_KILL_ROUNDS", "10"))
    random_source = random.Random(1)  # noqa: S311
    for _ in range(rounds):
        output.unlink(missing_ok=True)
        for _ in range(20):
            with subprocess.Popen(
                command(TEMPLATE, output, "--resume"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as process:
                try:
                    process.wait(timeout=random_source.uniform(0.01, 0.4))
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
            wait_for(lambda: not processes_with(str(output)))
        done = run(TEMPLATE, output, "--resume")
        results = read(output)
        assert done.code == 0, done.stderr
        assert len(results.tests) == results.footer["planned"]
        assert results.verdicts == plain.verdicts


def test_resuming_a_complete_run_changes_nothing(output: Path) -> None:
    run(TEMPLATE, output, "--only", "memory")
    before = output.read_bytes()
    done = run(TEMPLATE, output, "--only", "memory", "--resume")
    assert done.code == 0
    assert output.read_bytes() == before


def test_a_torn_last_line_runs_again(output: Path) -> None:
    run(TEMPLATE, output, "--only", "memory")
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:9]) + lines[9][:30])
    results = run(TEMPLATE, output, "--only", "memory", "--resume").results()
    assert results.raw.startswith(b"".join(lines[:9]))
    assert len(results.verdicts) == len(results.tests) == results.footer["planned"]


def test_a_failure_is_kept_whatever_stands_before_it(output: Path, tmp_path: Path) -> None:
    """A backend that crashes once: resumed, the crash must not become a second try."""
    options = ["--only", "memory_free", "--only", "MEM-002"]
    for option in ("hostile=crash_in_call", "at=4", f"once={tmp_path / 'crashed'}"):
        options += ["--backend-option", option]
    assert run(HOSTILE, output, *options).code == 1
    head, *records, _ = output.read_bytes().splitlines(keepends=True)
    records.sort(key=lambda line: b'"verdict":"pass"' not in line)
    records[0] = records[0].replace(b'"verdict":"pass"', b'"verdict":"not-reached"')
    assert b"not-reached" in records[0]
    output.write_bytes(b"".join([head, *records]))
    done = run(HOSTILE, output, *options, "--resume")
    results = done.results()
    assert done.code == 1
    assert "crash" in results.verdicts.values()
    assert len(results.verdicts) == len(results.tests) == results.footer["planned"]
    assert not list(output.parent.glob("*.resumed"))


@pytest.mark.parametrize(
    "other",
    [
        ["--seed", "5"],
        ["--only", "copy"],
        ["--repeat", "2"],
        ["--shuffle", "1"],
        ["--budget", "100"],
        ["--tier", "thorough"],
        ["--require", "memory_info"],
    ],
)
def test_another_run_is_not_resumed(output: Path, other: list[str]) -> None:
    run(TEMPLATE, output, "--only", "MEM-002")
    before = output.read_bytes()
    base = [] if other[0] == "--only" else ["--only", "MEM-002"]
    done = run(TEMPLATE, output, "--resume", *base, *other)
    assert done.code == 2
    assert "cannot resume" in done.stderr
    assert output.read_bytes() == before
