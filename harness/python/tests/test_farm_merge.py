# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a layer as one file, from synthetic result files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tbk_harness.farm.merge import Shard, compose
from tbk_harness.farm.parts import OtherRunError, divide
from tbk_reports.model import read_results

FARM = {"where": "auto", "takes": "acme=1", "lost": []}


def _part(path: Path, shard: str, tests: dict[str, str], **more: Any) -> Path:
    header = {
        "record": "header", "format": 1, "layer": "c", "suite": {"version": "1"}, "seed": 1,
        "backend": {"path": "/tmp/copy/liba.so", "digest": ""}, "command": ["tbk-run"],
        "started": "2026-03-01T12:00:00Z", "planned": len(tests), "shard": shard, **more,
    }  # fmt: skip
    records = [
        {
            "record": "test", "index": at, "id": name, "suite": "s", "clause": "MEM-001",
            "level": "must", "verdict": verdict,
            "replay": f"tbk-run /tmp/copy/liba.so --only {name}",
        }
        for at, (name, verdict) in enumerate(tests.items())
    ]  # fmt: skip
    failed = any(verdict != "pass" for verdict in tests.values())
    verdict = "fail" if failed else "pass" if tests else "error"
    footer = {
        "record": "footer", "planned": len(tests), "recorded": len(tests), "verdict": verdict,
        "exit_code": {"pass": 0, "fail": 1, "error": 3}[verdict],
        "counts": {one: list(tests.values()).count(one) for one in tests.values()},
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in (header, *records, footer)))
    return path


def _shard(folder: Path, number: int, tests: dict[str, str], of: int = 3, **more: Any) -> Shard:
    path = _part(folder / f"{number}.jsonl", f"{number}/{of}", tests, **more)
    return Shard(number, path, f"board-{number % 2}", "/tmp/copy/liba.so", 1.5)


def test_parts_become_the_file_of_one_machine(tmp_path: Path) -> None:
    parts = [
        _shard(tmp_path, 2, {"s/b": "fail", "s/c": "pass"}), _shard(tmp_path, 1, {"s/a": "pass"}),
        _shard(tmp_path, 3, {}),
    ]  # fmt: skip
    output = tmp_path / "c.jsonl"
    assert compose(parts, 3, "./liba.so", FARM, output, 7) == 1
    found = read_results(output)
    assert [(one.id, one.index, one.node) for one in found.tests] == [
        ("s/a", 0, "board-1"), ("s/b", 1, "board-0"), ("s/c", 2, "board-0"),
    ]  # fmt: skip
    assert found.problems == ()
    assert found.footer is not None
    assert (found.footer["planned"], found.footer["recorded"]) == (3, 3)
    assert found.footer["counts"] == {"pass": 2, "fail": 1}
    assert found.header["backend"]["path"] == "./liba.so"
    assert "/tmp/copy" not in output.read_text()
    assert found.header["farm"]["nodes"]["board-0"] == {"parts": 1, "tests": 2, "seconds": 1.5}


def test_a_missing_part_leaves_the_whole_without_a_verdict(tmp_path: Path) -> None:
    output = tmp_path / "c.jsonl"
    assert compose([_shard(tmp_path, 1, {"s/a": "pass"})], 3, "./liba.so", FARM, output, 7) == 7
    found = read_results(output)
    assert found.footer is None
    assert [one.id for one in found.tests] == ["s/a"]
    assert found.header["farm"]["missing"] == 2


@pytest.mark.parametrize(
    ("second", "more", "said"),
    [
        ({"s/a": "pass"}, {}, "s/a is in more than one file"),
        ({"s/b": "pass"}, {"seed": 2}, "differs from"),
    ],
)
def test_parts_that_do_not_fit_together_are_a_suite_error(
    tmp_path: Path, second: dict[str, str], more: dict[str, Any], said: str
) -> None:
    parts = [_shard(tmp_path, 1, {"s/a": "pass"}, 2), _shard(tmp_path, 2, second, 2, **more)]
    output = tmp_path / "c.jsonl"
    assert compose(parts, 2, "./liba.so", FARM, output, 7) == 6
    footer = read_results(output).footer
    assert footer is not None
    assert said in footer["reason"]


def test_only_parts_without_a_verdict_run_again(tmp_path: Path) -> None:
    identity = {"arguments": ["x"]}
    made = divide("c", 1, 3, tmp_path, identity, False)
    for number, tests in ((1, {"s/a": "fail"}), (2, {"s/b": "pass"})):
        path = _part(tmp_path / made.name(number) / "results.jsonl", f"{number}/3", tests)
        path.with_name("reply.json").write_text('{"node": "n"}')
    torn = tmp_path / made.name(2) / "results.jsonl"
    torn.write_text(torn.read_text().rpartition('{"record": "footer"')[0])
    again = divide("c", 9, None, tmp_path, identity, True)
    assert (again.of, again.left()) == (3, [2, 3])
    with pytest.raises(OtherRunError):
        divide("c", 1, None, tmp_path, {"arguments": ["y"]}, True)
