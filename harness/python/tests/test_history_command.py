# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tbk_harness.commands_history import history_command

HEAD = {"record": "header", "backend": {"name": "acme"}, "started": "2026-01-01T00:00:00Z",
        "planned": 1, "tier": "quick", "layer": "c"}  # fmt: skip
TEST = {"record": "test", "id": "memory/one", "clause": "MEM-001", "verdict": "pass"}
FOOT = {"record": "footer", "counts": {"pass": 1}, "planned": 1, "recorded": 1,
        "verdict": "pass", "exit_code": 0}  # fmt: skip


def _write(path: Path, *records: object) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def test_the_rest_is_shown_where_a_file_is_torn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path / "good.jsonl", HEAD, TEST, FOOT)
    _write(tmp_path / "torn.jsonl", HEAD, TEST)
    page = tmp_path / "out" / "page.html"
    ended = CliRunner().invoke(history_command, [str(tmp_path), "-o", str(page)])
    assert ended.exit_code == 1
    assert "torn.jsonl is not in it: the file has no footer" in ended.output
    assert "acme (quick), C layer: 1 run; in the latest 1 of 1 clause hold" in ended.output
    assert page.exists()


def test_json_is_all_that_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "good.jsonl", HEAD, TEST, FOOT)
    ended = CliRunner().invoke(history_command, [str(tmp_path), "--json"])
    assert ended.exit_code == 0
    assert json.loads(ended.output)["series"][0]["runs"][0]["verdict"] == "pass"
    assert not (tmp_path / "history.html").exists()


@pytest.mark.parametrize("there", [False, True])
def test_nothing_to_read_is_bad_usage(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "empty"
    if there:
        folder.mkdir()
    ended = CliRunner().invoke(history_command, [str(folder)])
    assert ended.exit_code == 2
    assert ended.output.count("\n") == 1
