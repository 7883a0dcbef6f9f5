# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import datetime
import json
from pathlib import Path

import jsonschema
import pytest
import synthetic
import tbk_contracts
from tbk_harness.enrich import enrich
from tbk_harness.judge import Known, judge
from tbk_harness.locate import result_schema
from tbk_harness.merge import merge, mixed
from tbk_harness.outcome import strict
from tbk_harness.verify import verify
from tbk_reports.changes import diff
from tbk_reports.extent import extent
from tbk_reports.model import ResultFile, Test, read_record, read_results

TODAY = datetime.date(2026, 3, 1)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(result_schema().read_text("utf-8")))


@pytest.mark.parametrize("records", [synthetic.failing(), synthetic.every_verdict(), []])
def test_sound_files_verify(tmp_path: Path, records: list[synthetic.Record]) -> None:
    assert verify(synthetic.write(tmp_path / "r.jsonl", records)) == []


@pytest.mark.parametrize(
    "changes",
    [{"verdict": "splendid"}, {"checks": -1}, {"checks": "many"}, {"level": "perhaps"}, {"id": ""},
     {"evidence": "strong"}, {"clause": None}],
)  # fmt: skip
def test_a_record_against_the_schema_is_found(tmp_path: Path, changes: synthetic.Record) -> None:
    records = [synthetic.case(1), synthetic.case(2, **changes)]
    assert any(
        "line 3" in problem for problem in verify(synthetic.write(tmp_path / "r.jsonl", records))
    )


def test_verify_finds_a_forged_verdict(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", synthetic.failing())
    path.write_bytes(path.read_bytes().replace(b'"verdict": "crash"', b'"verdict": "pass"', 1))
    assert any("digest" in problem for problem in verify(path))


@pytest.mark.parametrize(
    "foot",
    [{"verdict": "fail", "exit_code": 4}, {"verdict": "pass", "exit_code": 1},
     {"verdict": "error", "exit_code": 1}, {"verdict": "error", "exit_code": 0}],
)  # fmt: skip
def test_verify_finds_a_verdict_with_another_exit_code(
    tmp_path: Path, foot: synthetic.Record
) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", synthetic.failing(), foot=foot)
    assert [one for one in verify(path) if "with the exit code" in one]


def _shards(folder: Path, count: int = 3) -> list[ResultFile]:
    records = synthetic.failing()
    found = []
    for index in range(count):
        part = records[index::count]
        head = synthetic.header(len(part), shard=f"{index + 1}/{count}")
        found.append(read_results(synthetic.write(folder / f"{index}.jsonl", part, head)))
    return found


def test_shards_make_one_whole(tmp_path: Path) -> None:
    whole = merge(_shards(tmp_path))
    assert whole.problems == ()
    judged = judge(whole, Known(), TODAY)
    assert len(judged.tests) == 300
    assert (judged.verdict, judged.exit_code) == ("fail", 1)
    assert not judged.header["shard"]


def test_a_shard_alone_is_partial_and_all_of_them_are_not(tmp_path: Path) -> None:
    parts = _shards(tmp_path)
    alone = extent(judge(parts[0], Known(), TODAY))
    assert alone.missing == ("shard 1/3",)
    whole = extent(judge(merge(parts), Known(), TODAY))
    assert (whole.partial, whole.planned, whole.recorded) == (False, 300, 300)


def test_a_partial_pass_fails_where_that_is_asked_for(tmp_path: Path) -> None:
    head = synthetic.header(60, selection=["memory"])
    path = synthetic.write(tmp_path / "r.jsonl", synthetic.passing(60), head)
    judged = judge(read_results(path), Known(), TODAY)
    assert (judged.verdict, judged.exit_code) == ("pass", 0)
    assert strict(judged, ()) is judged
    found = strict(judged, ("partial",))
    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert "--only memory" in found.problems[0]
    head = synthetic.header(60)
    path = synthetic.write(tmp_path / "whole.jsonl", synthetic.passing(60), head)
    assert strict(judge(read_results(path), Known(), TODAY), ("partial",)).exit_code == 0


@pytest.mark.parametrize(
    ("word", "record"),
    [
        ("warning", {"verdict": "warning", "level": "should"}),
        ("not-shown", {"verdict": "not-shown"}),
        ("not-shown", {"verdict": "pass", "evidence": "not-shown"}),
        ("left-out", {"verdict": "left-out"}),
    ],
)
def test_a_pass_fails_on_what_is_asked_for(
    tmp_path: Path, word: str, record: dict[str, str]
) -> None:
    records = [synthetic.case(0), {**synthetic.case(1), **record}]
    judged = judge(read_results(synthetic.write(tmp_path / "r.jsonl", records)), Known(), TODAY)
    assert (judged.verdict, judged.exit_code) == ("pass", 0)
    others = [one for one in ("warning", "not-shown", "left-out") if one != word]
    assert strict(judged, others) is judged
    found = strict(judged, [*others, word])
    assert (found.verdict, found.exit_code) == ("fail", 1)
    (said,) = found.problems
    assert said == f"1 test is {word}, which --fail-on {word} forbids; first {records[1]['id']}"


def test_what_fails_already_is_not_told_twice(tmp_path: Path) -> None:
    records = [synthetic.case(0, "fail"), synthetic.case(1, "left-out")]
    judged = judge(read_results(synthetic.write(tmp_path / "r.jsonl", records)), Known(), TODAY)
    assert strict(judged, ("left-out", "partial")) is judged


def test_a_missing_or_doubled_shard_is_an_error(tmp_path: Path) -> None:
    first, second, third = _shards(tmp_path)
    assert judge(merge([first, third]), Known(), TODAY).exit_code == 6
    assert "shard 2/3 is missing" in merge([first, third]).problems
    assert judge(merge([first, second, third, third]), Known(), TODAY).exit_code == 6


def test_files_of_two_backends_are_not_merged_quietly(tmp_path: Path) -> None:
    first, second, third = _shards(tmp_path)
    second.header["backend"] = {**second.header["backend"], "digest": "d" * 64}
    assert any("differs" in problem for problem in merge([first, second, third]).problems)


def test_simulated_and_real_results_are_not_mixed(tmp_path: Path) -> None:
    first, second, third = _shards(tmp_path)
    assert second.footer is not None
    second.footer["simulated"] = True
    assert any("simulated" in problem for problem in merge([first, second, third]).problems)
    assert mixed([second]) == mixed([first, third]) == []


def test_a_simulated_device_that_the_footer_leaves_out_is_found(tmp_path: Path) -> None:
    head = synthetic.header(3)
    head["devices"] = [{**device, "simulated": True} for device in head["devices"]]
    path = synthetic.write(tmp_path / "r.jsonl", synthetic.passing(3), head)
    assert any("simulated" in problem for problem in verify(path))


def test_an_interrupted_shard_interrupts_the_whole(tmp_path: Path) -> None:
    parts = _shards(tmp_path)
    path = synthetic.write(
        tmp_path / "torn.jsonl", synthetic.passing(5), parts[2].header, end=False
    )
    assert judge(merge([*parts[:2], read_results(path)]), Known(), TODAY).exit_code == 7


def _tests(**verdicts: str) -> list[Test]:
    return [
        read_record({"id": f"s/{name}", "clause": "MEM-001", "verdict": verdict.replace("_", "-")})
        for name, verdict in verdicts.items()
    ]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("pass", "fail", "regressions"),
        ("xfail", "xpass", "regressions"),
        ("unsupported", "crash", "regressions"),
        ("pass", "unsupported", "lost"),
        ("pass", "not_shown", "lost"),
        ("fail", "unsupported", "lost"),
        ("fail", "not_reached", "lost"),
        ("pass", "not_reached", "lost"),
        ("fail", "pass", "fixes"),
        ("crash", "xfail", "fixes"),
        ("unsupported", "pass", "other"),
        ("fail", "crash", "other"),
    ],
)
def test_what_a_change_is_called(before: str, after: str, kind: str) -> None:
    found = diff(_tests(a=before), _tests(a=after))
    assert [change.id for change in getattr(found, kind)] == ["s/a"]
    assert found.clean == (kind not in ("regressions", "lost"))


def test_tests_that_come_and_go() -> None:
    found = diff(_tests(a="fail", b="pass"), _tests(b="pass", c="pass", d="fail"))
    assert [change.id for change in found.lost] == ["s/a"]
    assert [change.id for change in found.new] == ["s/c"]
    assert [change.id for change in found.regressions] == ["s/d"]
    assert found.same == 1


def test_sentences_are_filled_in_only_where_the_wording_is_the_same() -> None:
    clause = tbk_contracts.clauses()[0]
    test = read_record({"id": "s/a", "clause": clause.id, "verdict": "pass"})
    digest = tbk_contracts.spec_digest(tbk_contracts.clauses())
    same = enrich(ResultFile("r", {"spec": {"digest": digest}}, (test,), None))
    other = enrich(ResultFile("r", {"spec": {"digest": "0" * 64}}, (test,), None))
    assert same.tests[0].clause_text == clause.text
    assert same.tests[0].clause_source
    assert other.tests[0].clause_text == other.tests[0].clause_source == ""
