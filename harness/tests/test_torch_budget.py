# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs under a budget: what is left out is named; some batches end as an interpreter does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from torch_runs import judge

pytest.importorskip("torch", reason="the torch layer is for machines that have PyTorch")

TESTS, IN_A_BATCH = 200, 16
ACT = """
import atexit, os
import pytest, torch
from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause

told = []

def tell() -> None:
    with open({file!r}, "a") as file:
        file.write("ended\\n")

@pytest.mark.parametrize("number", range({count}))
@clause("CPY-501")
def test_act(device: torch.device, number: int) -> None:
    if not told:
        told.append(atexit.register(tell))
    check.equal("a number", number, number)
"""


def ends(folder: Path, *more: str) -> int:
    """Returns how many workers ended as an interpreter does."""
    ended, acts = folder / "ended.txt", folder / "acts"
    acts.mkdir()
    (acts / "act_many.py").write_text(ACT.format(file=str(ended), count=TESTS))
    done = judge(folder / "results.jsonl", "--jobs", "1", *more, folder=acts)
    assert done.code == 0, done.stdout + done.stderr
    assert len(done.results().tests) == TESTS
    return len(ended.read_text().splitlines())


def test_a_budget_sees_the_ends_of_few_interpreters(tmp_path: Path) -> None:
    batches = math.ceil(TESTS / IN_A_BATCH)
    powers = math.floor(math.log2(batches)) + 1
    assert ends(tmp_path, "--isolation", "batch", "--budget", "600s") == powers


def test_without_one_each_end_is_seen(tmp_path: Path) -> None:
    assert ends(tmp_path, "--isolation", "batch") >= 1


def test_a_budget_names_what_it_left_out(tmp_path: Path) -> None:
    done = judge(tmp_path / "a.jsonl", "--budget", "0.001", "--only", "torch_act_poison")
    results = done.results()
    assert done.code == 3
    assert results.counts() == {"left-out": 4}
    assert "4 left out" in done.line
    again = judge(tmp_path / "a.jsonl", "--only", "torch_act_poison", "--budget", "600", "--resume")
    assert (again.code, again.results().counts()) == (0, {"pass": 4})
