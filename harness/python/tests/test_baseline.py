# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import synthetic
from invoke import Tbk
from tbk_harness import baseline
from tbk_harness.baseline import BaselineError, Entry
from tbk_harness.judge import Known, judge
from tbk_reports.model import Judged, read_results

TODAY = datetime.date(2026, 3, 1)


def _failing(index: int, cause: str = "one", verdict: str = "fail", **more: Any) -> Any:
    return synthetic.torch_case(index, verdict, **{"cause": cause, "facts": {}, **more})


RECORDS = [synthetic.torch_case(0), _failing(1), _failing(2), _failing(3, "two"),
           _failing(4, "crash/body/SIGSEGV", "crash")]  # fmt: skip


def _judged(folder: Path, records: list[Any], *entries: Entry, **head: Any) -> Judged:
    path = synthetic.write(folder / "r.jsonl", records, synthetic.header(len(records), **head))
    return judge(read_results(path), Known((), entries), TODAY)


def _known(folder: Path, records: list[Any] = RECORDS) -> tuple[Entry, ...]:
    path = synthetic.write(folder / "before.jsonl", records)
    judged = judge(read_results(path), Known(), TODAY)
    return baseline.parse(baseline.document(judged, TODAY), "b.toml")


def test_what_is_written_can_be_read_and_excuses_all_of_it(tmp_path: Path) -> None:
    entries = _known(tmp_path)
    assert [(entry.cause, entry.kind, entry.tests) for entry in entries] == [
        ("one", "fail", 2), ("crash/body/SIGSEGV/OPR-505", "crash", 1), ("two", "fail", 1),
    ]  # fmt: skip
    judged = _judged(tmp_path, RECORDS, *entries)
    assert (judged.verdict, judged.exit_code) == ("pass", 0)
    assert judged.counts == {"pass": 1, "xfail": 4}
    assert judged.tests[1].recorded == "fail"
    assert judged.tests[1].waiver.startswith("known cause: ")
    assert {told["outcome"] for told in judged.baseline} == {"used"}


def test_a_new_cause_fails(tmp_path: Path) -> None:
    judged = _judged(tmp_path, [*RECORDS, _failing(5, "three")], *_known(tmp_path))
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert [test.cause for test in judged.tests if test.failed] == ["three"]


@pytest.mark.parametrize(("index", "verdict"), [(4, "hang"), (5, "crash")])
def test_another_kind_and_a_crash_elsewhere_are_new(
    tmp_path: Path, index: int, verdict: str
) -> None:
    records = [*RECORDS[:4], _failing(index, "crash/body/SIGSEGV", verdict)]
    judged = _judged(tmp_path, records, *_known(tmp_path))
    assert [test.recorded for test in judged.tests if test.failed] == [verdict]


def test_an_entry_that_no_longer_occurs_fails_until_it_is_removed(tmp_path: Path) -> None:
    entries = _known(tmp_path)
    mended = [record for record in RECORDS if record["cause"] != "two"]
    judged = _judged(tmp_path, mended, *entries)
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert judged.problems == ("the baseline's two no longer occurs: remove it",)
    assert _judged(tmp_path, mended, *(e for e in entries if e.cause != "two")).exit_code == 0


@pytest.mark.parametrize(
    "part", [{"selection": ["x"]}, {"shard": "1/2"}, {"layer": "c"}, {"layers": {"c": {}}}, {}]
)
def test_a_part_of_the_suite_cannot_say_that_a_cause_is_gone(
    tmp_path: Path, part: dict[str, Any]
) -> None:
    left = [] if part else [synthetic.torch_case(9, "left-out")]
    judged = _judged(tmp_path, [RECORDS[0], *left], *_known(tmp_path), **part)
    assert judged.exit_code == 0
    assert {told["outcome"] for told in judged.baseline} == {"not exercised"}


@pytest.mark.parametrize(
    "verdict", ["suite-error", "poisoned", "polluted", "unstable", "not-reached", "xpass"]
)
def test_no_baseline_excuses_anything_else(tmp_path: Path, verdict: str) -> None:
    entries = (Entry("one", verdict, 1), Entry("one", "fail", 1))
    judged = _judged(tmp_path, [_failing(1, verdict=verdict), _failing(2)], *entries)
    assert judged.verdict != "pass"
    assert judged.tests[0].verdict == verdict


def test_growth_is_told(tmp_path: Path) -> None:
    judged = _judged(tmp_path, [*RECORDS, _failing(7)], *_known(tmp_path))
    assert judged.exit_code == 0
    assert "3 tests, and 2 in the baseline" in judged.notes[0]


def test_any_text_survives_the_file(tmp_path: Path) -> None:
    odd = synthetic.HOSTILE + "\x7f\\ \U0001f600"
    entries = _known(tmp_path, [_failing(1, odd, seen=odd)])
    assert _judged(tmp_path, [_failing(1, odd, seen=odd)], *entries).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("causes = 1", "unknown key 'causes'"),
        ("[[cause]]\nkind = 'fail'", "cause must be a text"),
        ("[[cause]]\ncause = 'x'\nkind = 'suite-error'", "kind must be one of crash, fail, hang"),
        ("[[cause]]\ncause = 'x'\nkind = 'fail'\nreason = 'y'", "unknown key 'reason'"),
        ("[[cause]]\ncause = 'x'\nkind = 'fail'\ntests = true", "tests must be a number"),
        ("[[cause]]\ncause = 'x'\nkind = 'fail'\n" * 2, "stands there twice"),
        ("cause = 1", "entries are [[cause]] tables"),
        ("cause = [1]", "not a table"),
        ("[[cause", "b.toml: "),
    ],
)
def test_a_file_that_cannot_be_taken_as_it_stands(text: str, said: str) -> None:
    with pytest.raises(BaselineError, match=r"b\.toml") as found:
        baseline.parse(text, "b.toml")
    assert said in str(found.value)


def test_from_the_first_run_to_a_gate(tbk: Tbk, tmp_path: Path) -> None:
    first = tbk("check", "--device", "half", "--no-blame", "--write-baseline", "b.toml")
    assert first.returncode == 1
    assert 'cause = "missing/aten::add.out"' in (tmp_path / "b.toml").read_text()
    gate = ("check", "--no-blame", "--baseline", "b.toml", "--device")
    assert tbk(*gate, "half").returncode == 0
    worse = tbk(*gate, "acme")
    assert worse.returncode == 1
    assert "wrong-everywhere" in worse.stdout
    assert "is missing" not in worse.stdout
    better = tbk(*gate, "sound")
    assert better.returncode == 1
    assert "no longer occurs: remove it" in better.stdout
    assert tbk("lint-reports").returncode == 0
    again = tbk("report", "tbk-report/results.jsonl", "--baseline", "b.toml")
    assert again.returncode == 1
    (tmp_path / "b.toml").write_text("[[cuase]]")
    assert tbk(*gate, "half").returncode == 2
    assert tbk(*gate[:-3], "--baseline", "none", "--device", "half").returncode == 2


def test_a_run_without_a_verdict_leaves_no_baseline(tbk: Tbk, tmp_path: Path) -> None:
    ended = tbk("check", "--device", "nosuch", "--write-baseline", "b.toml")
    assert ended.returncode == 5
    assert not (tmp_path / "b.toml").exists()
    assert "b.toml is not written" in ended.stderr
