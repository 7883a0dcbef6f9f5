# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which shard a process is, by the variables of CI systems."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from invoke import Tbk
from tbk_harness.shards import ShardError, from_environment

BAZEL = {"TEST_SHARD_INDEX": "1", "TEST_TOTAL_SHARDS": "4"}
GITLAB = {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "4"}
BUILDKITE = {"BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "4"}


@pytest.mark.parametrize("variables", [BAZEL, GITLAB, BUILDKITE, {**BAZEL, **GITLAB}])
def test_each_system_counts_in_its_own_way(variables: dict[str, str]) -> None:
    assert from_environment(variables) == "2/4"


@pytest.mark.parametrize(
    ("variables", "shard"),
    [
        ({"CI_NODE_TOTAL": "1"}, "1/1"),  # GitLab, of a job that is not parallel
        ({"CI_NODE_TOTAL": "1", **BAZEL}, "2/4"),  # which starts Bazel
        ({**BAZEL, "CI_NODE_INDEX": ""}, "2/4"),
        ({"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "1"}, "1/1"),
    ],
)
def test_a_job_that_is_not_parallel_contradicts_nothing(
    variables: dict[str, str], shard: str
) -> None:
    assert from_environment(variables) == shard


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "none of TEST_SHARD_INDEX"),
        ({**BAZEL, **GITLAB, "CI_NODE_INDEX": "3"}, "Bazel says 2/4, GitLab says 3/4; --shard"),
        ({"TEST_SHARD_INDEX": "1"}, "Bazel sets TEST_SHARD_INDEX and not TEST_TOTAL_SHARDS"),
        ({"CI_NODE_TOTAL": "3"}, "GitLab sets CI_NODE_TOTAL and not CI_NODE_INDEX"),
        ({**GITLAB, "CI_NODE_INDEX": "0"}, "GitLab counts from 1"),
        ({**BUILDKITE, "BUILDKITE_PARALLEL_JOB": "4"}, "Buildkite counts from 0"),
        ({**BAZEL, "TEST_SHARD_INDEX": "-1"}, "TEST_SHARD_INDEX is '-1', and no number"),
        ({**BAZEL, "TEST_TOTAL_SHARDS": "0"}, "Bazel counts from 0"),
    ],
)
def test_variables_that_say_nothing_or_two_things(variables: dict[str, str], said: str) -> None:
    with pytest.raises(ShardError, match=said):
        from_environment(variables)


def test_auto_on_the_command_line(tbk: Tbk, tmp_path: Path) -> None:
    status = tmp_path / "status"
    ended = tbk("run", "good.so", "--shard=auto", TEST_SHARD_STATUS_FILE=str(status), **BAZEL)
    assert ended.returncode == 0, ended.stderr
    assert status.exists()  # or Bazel would say that nobody here knows of shards
    ended = tbk("run", "good.so", "--shard=auto", **{**BAZEL, **BUILDKITE, "TEST_SHARD_INDEX": "0"})
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "Bazel says 1/4, Buildkite says 2/4; --shard I/N decides" in ended.stderr


@pytest.mark.parametrize(
    "words", [["--timings=none.jsonl", "--shard=1/2"], ["--timings=old.jsonl"]]
)
def test_timings_that_can_divide_nothing_leave_the_last_results_alone(
    tbk: Tbk, tmp_path: Path, words: list[str]
) -> None:
    assert tbk("run", "good.so").returncode == 0
    before = (tmp_path / "tbk-report" / "results.jsonl").read_bytes()
    (tmp_path / "old.jsonl").write_text("")
    ended = tbk("run", "good.so", *words)
    assert ended.returncode == 2
    assert "--timings" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert (tmp_path / "tbk-report" / "results.jsonl").read_bytes() == before


def _shards(folder: Path, count: int) -> list[str]:
    names = []
    for index in range(1, count + 1):
        records = [synthetic.case(i) for i in range(60) if i % count == index - 1]
        head = synthetic.header(len(records), shard=f"{index}/{count}", timings="7" * 64)
        names.append(synthetic.write(folder / f"s{index}.jsonl", records, head).name)
    return names


def test_a_report_names_the_shard_that_is_missing(tbk: Tbk, tmp_path: Path) -> None:
    names = _shards(tmp_path, 3)
    assert tbk("report", *names).returncode == 0
    ended = tbk("report", *names[:2])
    assert ended.returncode == 6
    assert "shard 3/3 is missing" in ended.stdout


@pytest.mark.parametrize("torn", ["", "no result\n", "cut", "gone"])
def test_one_torn_shard_takes_nothing_from_the_others(tbk: Tbk, tmp_path: Path, torn: str) -> None:
    names = _shards(tmp_path, 3)
    path = tmp_path / names[1]
    if torn == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-300] if torn == "cut" else torn.encode())
    ended = tbk("report", *names)
    assert ended.returncode in (6, 7)
    assert names[1] in ended.stdout
    assert (tmp_path / "tbk-report" / "index.html").exists()
    if torn != "cut":
        assert "shard 2/3 is missing" in ended.stdout
        assert "40 of 40" in ended.stdout or "40 tests" in ended.stdout


def test_shards_that_were_divided_differently_are_no_whole(tbk: Tbk, tmp_path: Path) -> None:
    names = _shards(tmp_path, 2)
    path = tmp_path / names[1]
    path.write_bytes(path.read_bytes().replace(b"7" * 64, b"8" * 64))
    ended = tbk("report", *names)
    assert ended.returncode == 6
    assert "differs from s1.jsonl in timings" in ended.stdout


def test_no_file_at_all(tbk: Tbk) -> None:
    assert tbk("report", "none.jsonl", "nor.jsonl").returncode == 2
