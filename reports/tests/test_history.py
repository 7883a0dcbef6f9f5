# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json
from pathlib import Path

import history_files as files
import pytest
import synthetic
from tbk_reports import history_file
from tbk_reports.history import History, Series
from tbk_reports.history_file import summarize
from tbk_reports.history_page import history_document, lint_history, render_history
from tbk_reports.history_read import collect, result_files


def _history(folder: Path) -> History:
    return History(collect(result_files([folder])))


def _days(folder: Path, *verdicts: str) -> Series:
    for day, letters in enumerate(verdicts):
        files.one_day(folder, day, letters)
    (series,) = _history(folder).series
    return series


def test_a_cause_has_a_first_and_a_last_day(tmp_path: Path) -> None:
    series = _days(tmp_path, "pppp", "fppp", "fppp", "pppp", "pppp")
    (one,) = series.causes
    assert (one.first, one.last, one.state, one.since, one.seen) == (
        "2026-01-02", "2026-01-03", "mended", "2026-01-04", (1, 2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("causes", "changes"),
    [
        (("x" * 200 + "1", "x" * 200 + "2"), {}),  # a title is shorter
        (("fail/a.c/f()/1", "fail/a.c/f()/2"), {"clause": "MEM-001", "clause_text": "It holds."}),
    ],
)
def test_causes_of_one_title_are_told_apart(
    tmp_path: Path, causes: tuple[str, ...], changes: dict[str, str]
) -> None:
    records = [files.case(at, "fail", cause=one, **changes) for at, one in enumerate(causes)]
    files.write(tmp_path / "results.jsonl", records, files.header(0, 2))
    (series,) = _history(tmp_path).series
    titles = [one.failures.title for one in series.causes]
    assert [title.rpartition(", as in ")[2] for title in titles] == [one["id"] for one in records]
    assert not any("., as in" in title for title in titles)


@pytest.mark.parametrize(
    ("last", "state"),
    [("f", "open"), ("p", "mended"), ("c", "moved"), ("l", "not tested since"),
     ("u", "not tested since"), ("n", "not tested since")],
)  # fmt: skip
def test_what_became_of_a_cause(tmp_path: Path, last: str, state: str) -> None:
    series = _days(tmp_path, "fp", last + "p")
    assert next(one.state for one in series.causes if one.seen[0] == 0) == state


def test_a_cause_of_the_latest_run_alone_is_new(tmp_path: Path) -> None:
    series = _days(tmp_path, "pp", "pp", "fp")
    assert [one.first for one in series.new] == ["2026-01-03"]


def test_a_test_that_changes_on_equal_digests_is_told(tmp_path: Path) -> None:
    series = _days(tmp_path, "ppppp", "fpplp", "ppnpp", "fpppp")
    (one,) = series.flaky  # neither what was left out nor what showed nothing
    assert (one.test, one.flips, one.runs, one.verdicts) == (
        synthetic.case(0)["id"], 3, 4, ("fail", "pass"),
    )  # fmt: skip


def test_a_test_that_changes_with_the_backend_is_not(tmp_path: Path) -> None:
    for day, letters in enumerate(("pp", "fp")):
        backend = {**synthetic.header(2)["backend"], "digest": f"{day:064x}"}
        files.one_day(tmp_path, day, letters, backend=backend)
    assert _history(tmp_path).series[0].flaky == ()


def test_it_says_what_else_was_not_equal(tmp_path: Path) -> None:
    for day, letters in enumerate(("pp", "fp")):
        files.one_day(tmp_path, day, letters, seed=day)
    assert _history(tmp_path).series[0].flaky[0].differ == ("seed",)


def test_simulated_and_real_runs_are_apart_and_so_are_tiers(tmp_path: Path) -> None:
    simulated = [{"name": "soft", "simulated": True}]
    files.one_day(tmp_path, 0, "pp")
    files.one_day(tmp_path, 1, "fp", devices=simulated)
    files.one_day(tmp_path, 2, "pp", tier="thorough")
    told = [(one.title, len(one.runs), len(one.causes)) for one in _history(tmp_path).series]
    assert told == [
        ("acme (thorough), C layer", 1, 0), ("acme (quick, simulated), C layer", 1, 1),
        ("acme (quick), C layer", 1, 0),
    ]  # fmt: skip


def test_shards_are_one_run_and_a_missing_one_is_told(tmp_path: Path) -> None:
    for day in range(2):
        for number in (1, 2, 3)[: 3 - day]:
            records = [files.case(at, "fail" if at == 0 else "pass")
                       for at in range(number - 1, 12, 3)]  # fmt: skip
            head = files.header(day, len(records), shard=f"{number}/3")
            files.write(tmp_path / f"{day}-{number}.jsonl", records, head)
    (series,) = _history(tmp_path).series
    assert [run.extent.recorded for run in series.runs] == [12, 8]
    assert series.partial == (False, True)
    assert series.runs[1].extent.missing == ("shard 3/3 is missing",)
    assert sum(series.runs[0].clauses.values()) == len({synthetic.case(at)["clause"]
                                                        for at in range(12)})  # fmt: skip


def test_one_torn_file_of_a_hundred_is_named_and_counts_nowhere(tmp_path: Path) -> None:
    series = _days(tmp_path, *["pppp"] * 99, "fppp")
    torn = Path(series.runs[40].path)
    torn.write_bytes(torn.read_bytes()[:-700])
    found = _history(tmp_path)
    assert [one.path for one in found.torn] == [str(torn)]
    assert (found.runs, len(found.series[0].causes)) == (99, 1)
    page = render_history(found, tmp_path, {})
    assert str(torn) in page
    assert lint_history(page) == []


def test_a_changed_file_is_torn_and_copies_and_other_files_are_not(tmp_path: Path) -> None:
    series = _days(tmp_path, "pp", "pf")
    first, second = (Path(run.path) for run in series.runs)
    (tmp_path / "copy.jsonl").write_bytes(first.read_bytes())
    (tmp_path / "mutants.jsonl").write_text('{"mutant": "x"}\n')
    (second.parent / "parts").mkdir()
    (second.parent / "parts" / "c.jsonl").write_bytes(second.read_bytes())
    second.write_bytes(second.read_bytes().replace(b'"fail"', b'"pass"', 1))
    found = _history(tmp_path)
    assert (found.runs, found.copies, len(found.torn)) == (1, 1, 1)
    assert [Path(one).name for one in found.others] == ["mutants.jsonl"]


@pytest.mark.parametrize("spaced", [False, True])
def test_a_file_is_read_alike_in_part_and_whole(
    tmp_path: Path, spaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = [one["verdict"] for one in synthetic.every_verdict()] * 3
    records = [synthetic.case(at, word) for at, word in enumerate(verdicts)]
    records[0] |= {"evidence": "trivial"}
    records[15] |= {"evidence": "not-shown", "evidence_reason": 'said "no"'}
    path = tmp_path / "results.jsonl"
    if spaced:
        synthetic.write(path, records)
    else:
        files.write(path, records, files.header(0, len(records)))
    fast, table = summarize(path)
    monkeypatch.setattr(history_file, "_records", lambda _: None)
    slow, same = summarize(path)
    assert (fast.states, fast.clauses, fast.failures, fast.area_ns, fast.extent) == (
        slow.states, slow.clauses, slow.failures, slow.area_ns, slow.extent,
    )  # fmt: skip
    assert (table, fast.problem) == (same, "")


def test_repeats_are_one_test_with_the_worst_of_them(tmp_path: Path) -> None:
    records = [synthetic.case(1, word, repeat=at) for at, word in enumerate(("pass", "fail"))]
    path = files.write(tmp_path / "r.jsonl", records, files.header(0, 2))
    summary, table = summarize(path)
    assert (len(table.tests), summary.clauses) == (1, {"fail": 1})


def test_the_page_says_what_its_data_says(tmp_path: Path) -> None:
    _days(tmp_path, "ppppl", "fpppp", "ffppp", "pfpup")
    found = _history(tmp_path)
    page = render_history(found, tmp_path, {"MEM-001": "a sentence."})
    assert lint_history(page) == []
    assert "http" not in page.replace("http-equiv", "")
    wrong = page.replace('data-state="open"', 'data-state="mended"', 1)
    assert wrong != page
    assert lint_history(wrong)
    document = history_document(found)
    assert document["series"][0]["runs"][0]["partial"]
    json.dumps(document)


def test_what_a_backend_wrote_is_text_and_nothing_else(tmp_path: Path) -> None:
    record = synthetic.case(0, "fail", cause=synthetic.HOSTILE, seen=synthetic.HOSTILE)
    files.write(tmp_path / "h.jsonl", [record], files.header(0, 1))
    page = render_history(_history(tmp_path), tmp_path, {})
    assert "<script>alert" not in page
    assert "<img" not in page


def test_many_files_are_read_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbk_reports.history_read._processes", lambda: 2)
    series = _days(tmp_path, *["pf"] * 9)
    assert len(series.runs) == 9
    assert series.causes[0].seen == tuple(range(9))
