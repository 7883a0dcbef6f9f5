# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from tbk_harness.blame import attributed
from tbk_harness.judge import Known, judge
from tbk_harness.waivers import Waiver, WaiverError, parse_waivers
from tbk_reports.model import Judged, read_record, read_results
from tbk_reports.view import View
from tbk_reports.words import fingerprint

TODAY = datetime.date(2026, 3, 1)


def _waiver(**changes: Any) -> Waiver:
    values: dict[str, Any] = {
        "owner": "ada",
        "reason": "driver bug",
        "link": "https://example.invalid/7",
        "versions": ("1.4.*",),
        "kind": "fail",
        "expires": datetime.date(2026, 12, 31),
        "test": "memory/holds_for_one_byte_4",
    }
    return Waiver(**{**values, **changes})


def _judged(folder: Path, records: list[synthetic.Record], *waivers: Waiver, **more: Any) -> Judged:
    path = synthetic.write(folder / "r.jsonl", records, **more)
    return judge(read_results(path), Known(waivers), TODAY)


def _one(verdict: str) -> list[synthetic.Record]:
    return [synthetic.case(4, verdict), synthetic.case(5)]


@pytest.mark.parametrize("verdict", ["pass", "unsupported", "not-shown", "warning"])
def test_what_fails_nothing_passes(tmp_path: Path, verdict: str) -> None:
    judged = _judged(tmp_path, _one(verdict))
    assert (judged.verdict, judged.exit_code) == ("pass", 0)


@pytest.mark.parametrize(
    "verdict", ["fail", "crash", "hang", "poisoned", "polluted", "not-reached", "unstable", "xpass"]
)
def test_everything_else_is_a_finding(tmp_path: Path, verdict: str) -> None:
    judged = _judged(tmp_path, _one(verdict))
    assert (judged.verdict, judged.exit_code) == ("fail", 1)


def test_a_waiver_covers_a_recommendation_that_is_not_met(tmp_path: Path) -> None:
    records = _one("warning")
    judged = _judged(tmp_path, records, _waiver(test=records[0]["id"]))
    assert judged.counts == {"pass": 1, "xfail": 1}
    assert judged.exit_code == 0


def test_the_suites_own_error_hides_no_finding(tmp_path: Path) -> None:
    records = [synthetic.case(1, "fail"), synthetic.case(2, "suite-error")]
    judged = _judged(tmp_path, records)
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert judged.problems[0].startswith(f"1 test ended in a suite error, first {records[1]['id']}")


def test_the_suites_own_error_is_no_pass(tmp_path: Path) -> None:
    judged = _judged(tmp_path, [synthetic.case(1, "pass"), synthetic.case(2, "suite-error")])
    assert (judged.verdict, judged.exit_code) == ("error", 6)


def test_beside_waived_findings_the_suites_own_error_stands(tmp_path: Path) -> None:
    records = [synthetic.case(1, "fail"), synthetic.case(2, "suite-error")]
    judged = _judged(tmp_path, records, _waiver(test=records[0]["id"]))
    assert (judged.verdict, judged.exit_code) == ("error", 6)


@pytest.mark.parametrize("code", [3, 4, 5, 6, 7, 8])
def test_a_run_without_a_verdict_keeps_its_exit_code(tmp_path: Path, code: int) -> None:
    foot = {"verdict": "error", "exit_code": code, "reason": "why"}
    judged = _judged(tmp_path, [], foot=foot)
    assert (judged.verdict, judged.exit_code, judged.problems[0]) == ("error", code, "why")


def test_no_footer_is_an_interrupted_run(tmp_path: Path) -> None:
    judged = _judged(tmp_path, _one("pass"), end=False)
    assert (judged.verdict, judged.exit_code) == ("error", 7)


def test_nothing_recorded_is_never_a_pass(tmp_path: Path) -> None:
    judged = _judged(tmp_path, [], foot={"verdict": "pass", "exit_code": 0})
    assert (judged.verdict, judged.exit_code) == ("error", 3)


def test_a_ledger_that_does_not_add_up_is_an_error(tmp_path: Path) -> None:
    judged = _judged(tmp_path, _one("pass"), head=synthetic.header(3))
    assert (judged.verdict, judged.exit_code) == ("error", 6)


def test_a_failure_that_stands_in_the_footer_alone_counts(tmp_path: Path) -> None:
    foot = {"verdict": "fail", "exit_code": 1, "reason": "stream is required, and not declared"}
    judged = _judged(tmp_path, _one("pass"), foot=foot)
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert "stream is required, and not declared" in judged.problems


def test_a_waiver_of_a_test_without_parameters_covers_it_with_any(tmp_path: Path) -> None:
    records = [synthetic.torch_case(at, "fail") for at in (0, 1, 8)]  # the last of another operator
    judged = _judged(tmp_path, records, _waiver(test="torch_operators/op_000"))
    assert [test.verdict for test in judged.tests] == ["xfail", "xfail", "fail"]
    assert not judged.problems
    judged = _judged(tmp_path, records, _waiver(test="torch_operators/op_00"))
    assert any("matches no test" in problem for problem in judged.problems)


def test_no_waiver_covers_a_device_that_was_lost(tmp_path: Path) -> None:
    lost = "lost since memory/holds_for_one_byte_4, or shortly before: it adds wrongly"
    foot = {"verdict": "fail", "exit_code": 1, "health": lost, "reason": lost}
    records = [synthetic.case(4, "crash"), synthetic.case(5)]
    judged = _judged(tmp_path, records, _waiver(kind="crash"), foot=foot)
    assert [test.verdict for test in judged.tests] == ["xfail", "pass"]
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert lost in judged.problems
    assert View(judged).health.startswith("lost since")


def test_tests_that_pass_make_no_sound_device(tmp_path: Path) -> None:
    unsound = "not sound before the first test: it adds wrongly"
    foot = {"verdict": "fail", "exit_code": 1, "health": unsound, "reason": unsound}
    judged = _judged(tmp_path, _one("pass"), foot=foot)
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert unsound in judged.problems
    assert View(judged).health == unsound


def test_judging_twice_gives_the_same(tmp_path: Path) -> None:
    records = synthetic.failing()
    waivers = (_waiver(kind="fail"),)
    assert _judged(tmp_path, records, *waivers) == _judged(tmp_path, records, *waivers)


@pytest.mark.parametrize("kind", ["fail", "crash", "hang"])
def test_a_waived_failure_of_its_kind_is_expected(tmp_path: Path, kind: str) -> None:
    judged = _judged(tmp_path, _one(kind), _waiver(kind=kind))
    assert judged.tests[0].verdict == "xfail"
    assert judged.tests[0].recorded == kind
    assert "driver bug" in judged.tests[0].waiver
    assert judged.verdict == "pass"


def test_another_kind_of_failure_is_not_covered(tmp_path: Path) -> None:
    judged = _judged(tmp_path, _one("crash"), _waiver(kind="fail"))
    assert judged.tests[0].verdict == "crash"
    assert judged.verdict == "fail"


def test_an_unexpected_pass_fails(tmp_path: Path) -> None:
    judged = _judged(tmp_path, _one("pass"), _waiver())
    assert judged.tests[0].verdict == "xpass"
    assert (judged.verdict, judged.exit_code) == ("fail", 1)


def test_an_expired_waiver_covers_nothing_and_fails(tmp_path: Path) -> None:
    judged = _judged(tmp_path, _one("fail"), _waiver(expires=TODAY - datetime.timedelta(1)))
    assert judged.tests[0].verdict == "fail"
    assert any("expired" in problem for problem in judged.problems)
    assert _judged(tmp_path, _one("fail"), _waiver(expires=TODAY)).verdict == "pass"


def test_a_waiver_that_matches_nothing_fails(tmp_path: Path) -> None:
    judged = _judged(tmp_path, _one("pass"), _waiver(test="memory/gone"))
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert any("matches no test" in problem for problem in judged.problems)


@pytest.mark.parametrize("changes", [{"selection": ["memory"]}, {"shard": "1/2"}, {"layer": "c"}])
def test_what_was_not_selected_is_not_missed(tmp_path: Path, changes: dict[str, Any]) -> None:
    head = synthetic.header(2, **changes)
    waiver = _waiver(test="torch_copy/x")
    assert _judged(tmp_path, _one("pass"), waiver, head=head).verdict == "pass"


def test_another_version_is_left_alone(tmp_path: Path) -> None:
    failing = _judged(tmp_path, _one("fail"), _waiver(versions=("1.3.*", "2.*")))
    passing = _judged(tmp_path, _one("pass"), _waiver(versions=("1.3.*", "2.*")))
    assert (failing.verdict, passing.verdict) == ("fail", "pass")


def test_a_clause_is_waived_as_a_whole(tmp_path: Path) -> None:
    records = [
        synthetic.case(i, v, clause="MEM-007") for i, v in enumerate(("fail", "pass", "crash"))
    ]
    waiver = _waiver(test="", clause="MEM-007")
    found = [test.verdict for test in _judged(tmp_path, records, waiver).tests]
    assert found == ["xfail", "pass", "crash"]
    fine = [synthetic.case(i, clause="MEM-007") for i in range(3)]
    assert [test.verdict for test in _judged(tmp_path, fine, waiver).tests] == ["xpass"] * 3


GOOD = """
[[waiver]]
test = "memory/alloc"
owner = "ada"
reason = "driver bug 7"
link = "https://example.invalid/7"
versions = "1.4.*"
kind = "fail"
expires = 2026-12-31
"""


def test_a_good_file_is_read() -> None:
    (waiver,) = parse_waivers(GOOD, "w.toml")
    assert waiver == Waiver(
        "ada", "driver bug 7", "https://example.invalid/7", ("1.4.*",), "fail",
        datetime.date(2026, 12, 31), test="memory/alloc",
    )  # fmt: skip
    assert parse_waivers("", "w.toml") == ()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('owner = "ada"', "", "owner is missing"),
        ('owner = "ada"', 'owner = " "', "owner must be"),
        ('owner = "ada"', 'ownr = "ada"', "unknown key 'ownr'"),
        ('kind = "fail"', 'kind = "poisoned"', "kind must be one of"),
        ("expires = 2026-12-31", 'expires = "2026-12-31"', "must be a date"),
        ("expires = 2026-12-31", "expires = 2026-12-31T00:00:00Z", "must be a date"),
        ('versions = "1.4.*"', "versions = []", "versions must be"),
        ('versions = "1.4.*"', "versions = [1]", "versions must be"),
        ('test = "memory/alloc"', "", "either clause or test"),
        ('test = "memory/alloc"', 'test = "a/b"\nclause = "MEM-001"', "either clause or test"),
        ('test = "memory/alloc"', 'clause = "memory"', "is no clause id"),
        ("[[waiver]]", "[[waivers]]", "unknown key 'waivers'"),
        ("[[waiver]]", "[waiver]", "entries are"),
        ("[[waiver]]", "[[waiver", "w.toml"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(before: str, after: str, said: str) -> None:
    assert before in GOOD
    with pytest.raises(WaiverError) as refused:
        parse_waivers(GOOD.replace(before, after), "w.toml")
    assert said in str(refused.value)
    assert str(refused.value).startswith("w.toml")


def test_one_subject_is_waived_once() -> None:
    with pytest.raises(WaiverError, match="twice"):
        parse_waivers(GOOD + GOOD, "w.toml")


@pytest.mark.parametrize(
    ("here", "there", "blamed"),
    [
        ("fail", "fail", "pytorch"),
        ("warning", "warning", "pytorch"),
        ("fail", "warning", "backend"),
    ],
)
def test_a_warning_of_pytorch_excuses_no_failure(
    tmp_path: Path, here: str, there: str, blamed: str
) -> None:
    test = read_record(synthetic.torch_case(1, here))
    record = {"record": "substitution", "cause": fingerprint(test), "test": test.id,
              "on": "pytorch", "device": "cpu", "verdict": there, "seen": "0"}  # fmt: skip
    path = synthetic.write(tmp_path / "r.jsonl", [synthetic.torch_case(1, here)])
    results = replace(read_results(path), more=(record,))
    assert [one.blame for one in attributed(results)] == [blamed]
    other = read_record(synthetic.torch_case(1, "warning" if here == "fail" else "fail"))
    assert fingerprint(other) != fingerprint(test)
