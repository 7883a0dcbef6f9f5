# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A test that could not be run does not fail again, and a torn file is never good news."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from invoke import STAND_IN, Tbk, starter
from tbk_harness import replays
from tbk_harness.replays import End
from tbk_reports.litmus import LAYER
from tbk_reports.model import Test, read_record

LITMUS = str(STAND_IN.with_name("fake_tbk_litmus.py"))
NAMES = [str(synthetic.case(at)["id"]) for at in range(12)]


@pytest.fixture
def tbk(tmp_path: Path) -> Tbk:
    return starter(tmp_path)


def _failing(at: int, library: str) -> synthetic.Record:
    command = f"tbk-run {library} --only {NAMES[at]}"
    return synthetic.case(at, "fail", cause=f"fail/{at}", replay=command)


def _last(printed: str) -> str:
    return printed.splitlines()[-1]


@pytest.mark.parametrize(
    ("library", "code"),
    [("moved", 4), ("absent.so", 5), ("narrow.so", 3), ("broken.so", 6), ("silent.so", 8),
     ("usage.so", 2), ("killed.so", 6)],
)  # fmt: skip
def test_what_could_not_be_run_does_not_fail_again(
    tbk: Tbk, tmp_path: Path, library: str, code: int
) -> None:
    synthetic.write(tmp_path / "r.jsonl", [_failing(4, library)])
    ended = tbk("replay", "r.jsonl")
    assert ended.returncode == code, ended.stdout
    assert f"{NAMES[4]}: could not be run: " in ended.stdout
    assert _last(ended.stdout) == "0 of 1 fail again, 1 could not be run"


def test_a_failure_counts_more_than_what_could_not_be_run(tbk: Tbk, tmp_path: Path) -> None:
    records = [_failing(4, "moved"), _failing(5, "bad.so"), _failing(6, "absent.so")]
    synthetic.write(tmp_path / "r.jsonl", records)
    ended = tbk("replay", "r.jsonl", NAMES[4], NAMES[6])
    assert (ended.returncode, _last(ended.stdout)) == (
        4, "0 of 2 fail again, 2 could not be run",
    )  # fmt: skip
    known = next(one["id"] for one in synthetic.failing(60) if one["verdict"] == "fail")
    again = synthetic.case(NAMES.index(str(known)), "fail", replay=f"tbk-run bad.so --only {known}")
    synthetic.write(tmp_path / "r.jsonl", [again, _failing(11, "moved")])
    ended = tbk("replay", "r.jsonl", "--all")
    assert (ended.returncode, _last(ended.stdout)) == (
        1, "1 of 2 fail again, 1 could not be run",
    )  # fmt: skip


@pytest.mark.parametrize(("library", "code"), [("odd.so", 4), ("idle.so", 3)])
def test_programs_that_could_not_be_run_do_not_fail_again(
    tbk: Tbk, tmp_path: Path, library: str, code: int
) -> None:
    command = f"tbk litmus {library} --seed=1 --first=7 --programs=1"
    record = {**synthetic.case(0, "fail", replay=command), "id": "litmus/wait", "layer": LAYER}
    synthetic.write(tmp_path / "r.jsonl", [record])
    ended = tbk("replay", "r.jsonl", TBK_LITMUS=LITMUS)
    assert (ended.returncode, _last(ended.stdout)) == (
        code, "0 of 1 fail again, 1 could not be run",
    )  # fmt: skip
    ended = tbk("replay", "r.jsonl")
    assert (ended.returncode, ended.stdout.count("could not be run: tbk-litmus was not")) == (6, 1)


def _test(verdict: str, cause: str = "") -> Test:
    return read_record(synthetic.case(4, verdict, cause=cause))


@pytest.mark.parametrize(
    ("before", "now", "code", "end"),
    [
        ("fail", ["fail"], 1, End(again=True)),
        ("fail", ["crash", "pass"], 1, End(again=True)),
        ("fail", ["fail", "not-reached"], 7, End(again=True, code=7)),
        ("fail", ["pass"], 0, End()),
        ("fail", ["not-shown"], 0, End()),
        ("fail", [], 0, End(code=6)),
        ("fail", [], -9, End(code=6)),
        ("fail", ["unsupported"], 3, End(code=3)),
        ("fail", ["not-reached"], 1, End(code=1)),
        ("fail", ["pass", "not-reached"], 7, End(code=7)),
        ("fail", ["suite-error"], 6, End(code=6)),
        ("suite-error", ["suite-error"], 6, End(again=True)),
    ],
)
def test_each_end_of_a_replay(before: str, now: list[str], code: int, end: End) -> None:
    assert replays.of_run(_test(before), [_test(one) for one in now], code) == end


def test_without_a_process_a_test_is_not_at_fault_again() -> None:
    none = _test("suite-error", replays.NO_PROCESS[0])
    assert replays.of_run(none, [none], 6) == End(code=6)


def test_an_interruption_ends_it() -> None:
    ends = [End(again=True), End(code=7)]
    assert replays.summary(ends, 5) == "1 of 5 fail again, 4 could not be run"
    assert replays.exit_code(ends) == 7


@pytest.mark.parametrize(
    ("keep", "code", "why"),
    [("header", 7, "has no footer"), ("half", 7, "has no footer"), ("changed", 6, "the digest"),
     ("no header", 6, "has no header")],
)  # fmt: skip
def test_a_torn_file_is_told_of_and_never_ends_with_0(
    tbk: Tbk, tmp_path: Path, keep: str, code: int, why: str
) -> None:
    """The code is that of tbk report, also where nothing fails again."""
    path = synthetic.write(tmp_path / "r.jsonl", [_failing(4, "good.so"), synthetic.case(5)])
    lines = path.read_bytes().splitlines(keepends=True)
    kept = {"header": lines[:1], "half": lines[:2], "no header": lines[1:],
            "changed": [lines[0].replace(b"1", b"2", 1), *lines[1:]]}[keep]  # fmt: skip
    path.write_bytes(b"".join(kept))
    ended = tbk("replay", "r.jsonl")
    assert (ended.returncode, tbk("report", "r.jsonl").returncode) == (code, code)
    assert "r.jsonl is not a whole run: " in _last(ended.stdout)
    assert why in _last(ended.stdout)
    assert "0 of 0" not in ended.stdout


def test_a_torn_file_may_fail_again(tbk: Tbk, tmp_path: Path) -> None:
    record = next(one for one in synthetic.failing(60) if one["verdict"] == "fail")
    record["replay"] = f"tbk-run bad.so --only {record['id']}"
    synthetic.write(tmp_path / "r.jsonl", [record], end=False)
    ended = tbk("replay", "r.jsonl")
    assert ended.returncode == 1
    assert _last(ended.stdout).startswith("1 of 1 fail again; r.jsonl is not a whole run: ")


def test_a_file_without_a_failure_runs_nothing(tbk: Tbk, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "r.jsonl", [synthetic.case(5)])
    ended = tbk("replay", "r.jsonl")
    assert (ended.returncode, ended.stdout) == (0, "nothing was run: no test of this file failed\n")
