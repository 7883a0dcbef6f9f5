# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json
from pathlib import Path

import pytest
import synthetic
from judged import judged
from tbk_reports.document import judged_document, judged_from_document
from tbk_reports.model import (
    read_record,
    read_results,
)


def test_a_sound_file_has_no_problems(tmp_path: Path) -> None:
    found = read_results(synthetic.write(tmp_path / "r.jsonl", synthetic.failing()))
    assert found.problems == ()
    assert len(found.tests) == 300
    assert found.footer is not None
    assert found.header["backend"]["name"] == "acme"


def test_a_missing_footer_is_told(tmp_path: Path) -> None:
    found = read_results(synthetic.write(tmp_path / "r.jsonl", synthetic.passing(), end=False))
    assert found.problems == ("the file has no footer: the run did not finish",)


def test_a_changed_byte_is_told(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", synthetic.failing())
    path.write_bytes(path.read_bytes().replace(b'"checks": 12', b'"checks": 13', 1))
    assert any("digest" in problem for problem in read_results(path).problems)


@pytest.mark.parametrize("cut", [1, 40, 400, 5_000])
def test_a_torn_file_keeps_what_is_whole(tmp_path: Path, cut: int) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", synthetic.passing(50), end=False)
    path.write_bytes(path.read_bytes()[:-cut])
    found = read_results(path)
    assert found.tests
    assert len(found.tests) >= 50 - 1 - cut // 300
    assert found.problems


def test_a_test_that_counts_twice_is_told(tmp_path: Path) -> None:
    records = [synthetic.case(1), synthetic.case(1)]
    found = read_results(synthetic.write(tmp_path / "r.jsonl", records))
    assert any("recorded 2 times" in problem for problem in found.problems)


def test_a_lost_record_is_told(tmp_path: Path) -> None:
    records = synthetic.passing(9)
    path = synthetic.write(tmp_path / "r.jsonl", records, synthetic.header(10))
    assert any("10 tests were planned, 9" in item for item in read_results(path).problems)


def test_counts_that_lie_are_told(tmp_path: Path) -> None:
    path = synthetic.write(
        tmp_path / "r.jsonl", synthetic.failing(), foot={"counts": {"pass": 300}}
    )
    assert "the counts in the footer do not fit the records" in read_results(path).problems


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"\x00\xff\xfe", b"[]\n1\nnull\n", b"{" * 100_000, b'{"record": "test"}\n'],
)
def test_any_bytes_can_be_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    assert read_results(path).problems


def test_an_unknown_verdict_is_the_suites_error() -> None:
    test = read_record({"id": "a/b", "verdict": "splendid", "checks": -3, "seed": None})
    assert test.verdict == "suite-error"
    assert "splendid" in test.notes
    assert test.checks == 0


def test_the_judged_document_can_be_read_back() -> None:
    made = judged(synthetic.failing())
    document = json.loads(json.dumps(judged_document(made)))
    again = judged_from_document(document)
    assert judged_document(again) == document
    assert [test.verdict for test in again.tests] == [test.verdict for test in made.tests]
