# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from pathlib import Path
from typing import Any

import synthetic
from tbk_harness.judge import Known
from tbk_harness.layers import Part, compose
from tbk_harness.outcome import verdict_on
from tbk_harness.runner import Ended
from tbk_harness.selectors import split
from tbk_harness.verify import verify
from tbk_reports.html import render_html
from tbk_reports.model import ResultFile, read_results
from tbk_reports.terminal import render_terminal

C = [synthetic.case(index) for index in range(5)]
TORCH = [synthetic.torch_case(index, "fail" if index == 2 else "pass") for index in range(7)]


def _composed(folder: Path, first: Any, second: Any, *more: Any) -> ResultFile:
    compose([first, second], more, folder / "whole.jsonl")
    return read_results(folder / "whole.jsonl")


def _parts(folder: Path, **changes: Any) -> tuple[Path, Path]:
    head = synthetic.header(len(TORCH), layer="torch")
    return (
        synthetic.write(folder / "c.jsonl", C, synthetic.header(len(C), layer="c")),
        synthetic.write(folder / "torch.jsonl", TORCH, head, **changes),
    )


def test_ledgers_add_up_and_the_worst_verdict_counts(tmp_path: Path) -> None:
    whole = _composed(tmp_path, *_parts(tmp_path))
    assert verify(tmp_path / "whole.jsonl") == []
    assert len(whole.tests) == 12
    assert [test.index for test in whole.tests] == list(range(12))
    assert whole.footer is not None
    assert (whole.footer["verdict"], whole.footer["exit_code"]) == ("fail", 1)
    assert whole.footer["counts"] == {"pass": 11, "fail": 1}
    assert whole.tests[5].facts["operator"] == "op_000"


def test_a_torn_part_tears_the_whole(tmp_path: Path) -> None:
    whole = _composed(tmp_path, *_parts(tmp_path, end=False))
    assert "the file has no footer: the run did not finish" in whole.problems


def test_a_changed_part_is_no_part_of_a_verdict(tmp_path: Path) -> None:
    first, second = _parts(tmp_path)
    second.write_bytes(second.read_bytes().replace(b'"verdict": "fail"', b'"verdict": "pass"', 1))
    whole = _composed(tmp_path, first, second)
    assert whole.footer is not None
    assert (whole.footer["verdict"], whole.footer["exit_code"]) == ("error", 6)
    assert "digest" in whole.footer["reason"]


def test_a_shard_may_be_empty_in_one_layer_only(tmp_path: Path) -> None:
    empty = {"verdict": "error", "exit_code": 3}
    first, _ = _parts(tmp_path)
    nothing = synthetic.write(tmp_path / "n.jsonl", [], synthetic.header(0), empty)
    whole = _composed(tmp_path, first, nothing)
    assert whole.footer is not None
    assert whole.footer["verdict"] == "pass"
    whole = _composed(tmp_path, nothing, nothing)
    assert whole.footer is not None
    assert whole.footer["exit_code"] == 3


def test_a_layer_that_the_budget_left_out_is_told_and_takes_no_verdict_away(tmp_path: Path) -> None:
    first, _ = _parts(tmp_path)
    late = [synthetic.torch_case(index, "left-out") for index in range(7)]
    head = synthetic.header(len(late), layer="torch")
    none = synthetic.write(tmp_path / "n.jsonl", late, head, {"verdict": "error", "exit_code": 3})
    whole = _composed(tmp_path, first, none)
    assert whole.footer is not None
    assert whole.footer["verdict"] == "pass"
    assert whole.footer["counts"] == {"pass": 5, "left-out": 7}


def test_a_selection_without_a_test_is_never_dropped(tmp_path: Path) -> None:
    first, _ = _parts(tmp_path)
    head = synthetic.header(0, selection=["AGD"])
    nothing = synthetic.write(
        tmp_path / "n.jsonl", [], head, {"verdict": "error", "exit_code": 3, "reason": "AGD"}
    )
    whole = _composed(tmp_path, first, nothing)
    assert whole.footer is not None
    assert (whole.footer["exit_code"], whole.footer["reason"]) == (3, "AGD")


def test_a_layer_that_never_came_is_told_in_every_report(tmp_path: Path) -> None:
    first, _ = _parts(tmp_path)
    compose([first], (), tmp_path / "whole.jsonl", not_begun=("torch",))
    found = read_results(tmp_path / "whole.jsonl")
    judged = verdict_on(found, Known())
    told = render_terminal(judged)
    assert "the torch layer was never begun" in told
    assert "PARTIAL (quick)" in told
    assert "the torch layer was never begun" in render_html(judged)


def test_further_records_stand_before_the_footer(tmp_path: Path) -> None:
    record = {"record": "substitution", "cause": "x", "test": "a/b", "on": "pytorch",
              "verdict": "pass"}  # fmt: skip
    whole = _composed(tmp_path, *_parts(tmp_path), record)
    assert whole.more == (record,)
    assert verify(tmp_path / "whole.jsonl") == []


def test_a_runner_that_ends_otherwise_than_its_file_is_not_believed(tmp_path: Path) -> None:
    first, second = _parts(tmp_path)
    assert Part("c", first, Ended(0, "")).disagreement() is None
    assert Part("torch", second, Ended(1, "")).disagreement() is None
    assert Part("torch", second, Ended(0, "odd")).disagreement() == (
        6, "tbk-run ended with status 0: odd",
    )  # fmt: skip
    assert Part("c", tmp_path / "none", Ended(8, "the disk is full")).disagreement() == (
        8, "the disk is full",
    )  # fmt: skip
    torn = synthetic.write(tmp_path / "torn.jsonl", C, end=False)
    assert Part("c", torn, Ended(-9, "")).disagreement() == (7, "tbk-run ended with status -9")


def test_words_go_to_the_layers_that_know_them() -> None:
    only = ("memory", "MEM-001", "torch_copy", "torch_copy/x", "memory/x", "AGD", "nonsense")
    assert split(only) == {
        "c": ("memory", "MEM-001", "memory/x", "nonsense"),
        "torch": ("memory", "torch_copy", "torch_copy/x", "AGD", "nonsense"),
    }
    assert split(("profile:torch", "profile:core")) == {
        "c": ("profile:core",), "torch": ("profile:torch",),
    }  # fmt: skip
