# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sequences of allocations: the model that says which are legal, and the command that runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tbk_contracts.torch.lifetime import calls, draw, model

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

MUTANTS = Path(__file__).resolve().parents[1] / "mutants"
WORDS = ("memory_stats", "oom")
TOTAL = 1 << 30

LEGAL = (
    "alloc a 100 s0; read a s0; free a",
    "alloc a 100 s0; wait s1 s0; read a s1; record a s1; free a",
    "alloc a 100 s0; wait s1 s0; record a s1; read a s1; free_in_thread a",
    "alloc a 100 s0; wait s1 s0; read a s1; wait s0 s1; resize_to_0 a",
    "alloc a 100 s0; wait s1 s0; read a s1; synchronize s1; free a",
    "alloc a 100 s0; settle; write a s3; settle; free a",
    "alloc a 100 s0; wait s1 s0; wait s2 s1; read a s2; record a s2; free a",
)
ILLEGAL = (
    ("free a", "does not live"),
    ("alloc a 100 s0; alloc a 100 s0", "lives"),
    ("alloc a 100 s0; read a s1", "race"),
    ("alloc a 100 s0; wait s0 s1; read a s1", "race"),
    ("alloc a 100 s0; wait s1 s0; read a s1; write a s0", "race"),
    ("alloc a 100 s0; wait s1 s0; write a s0; read a s1", "race"),
    ("alloc a 100 s0; wait s1 s0; read a s1; free a", "not recorded"),
    ("alloc a 100 s0; wait s1 s0; read a s1; record a s2; free a", "not recorded"),
    ("alloc a 100 s0; wait s1 s0; wait s0 s1; read a s1; free a", "not recorded"),
    ("alloc a 100 s0; wait s1 s0; synchronize s1; read a s1; free a", "not recorded"),
    ("alloc a 100 s0; record a s1; free a; alloc a 100 s0; wait s1 s0; read a s1; free a",
     "not recorded"),
    ("alloc a 9000000 s0; read a s0; read a s0", "more is read"),
)  # fmt: skip


@pytest.mark.parametrize("line", LEGAL)
def test_what_is_ordered_is_legal(line: str) -> None:
    assert model.legal(calls.parse(line))


@pytest.mark.parametrize(("line", "reason"), ILLEGAL)
def test_what_races_or_is_not_recorded_is_illegal(line: str, reason: str) -> None:
    made = calls.parse(line)
    model.Model(made[:-1])
    with pytest.raises(ValueError, match=reason):
        model.Model(made)


def test_what_is_drawn_is_legal_and_goes_through_its_line() -> None:
    drawn = [draw.draw(3, number, WORDS, TOTAL) for number in range(200)]
    assert all(model.legal(one) and calls.parse(calls.line(one)) == one for one in drawn)
    assert {call.name for one in drawn for call in one} == set(calls.FORMS)
    assert drawn[:9] == [draw.draw(3, number, WORDS, TOTAL) for number in range(9)]


def test_a_device_of_little_memory_gets_small_tensors() -> None:
    sizes = {one.bytes for number in range(99) for one in draw.draw(1, number, WORDS, 1 << 20)}
    assert max(sizes) <= (1 << 20) // draw.SHARE


@pytest.mark.parametrize(
    "text", ["", "alloc a", "alloc i 3 s0", "alloc a x s0", "alloc a 3 s9", "free a s1", "fly a"]
)
def test_a_line_that_is_none_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (call|slot|bytes|stream)"):
        calls.parse(text)


def run(library: Path, device: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command on a device that forgets to free."""
    environment = {
        **os.environ, "PYTHONPATH": str(MUTANTS), "TBK_TORCH_LIBRARY": str(library),
        "TBK_TORCH_MUTANT": "allocate_forgets_to_free",
    }  # fmt: skip
    command = [
        sys.executable, "-m", "tbk_contracts.torch.lifetime", f"--device={device}",
        "--import=tbk_torch_device", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_finding_is_small_and_runs_again(library: Path, backend: DeviceModule) -> None:
    found = run(library, backend.backend_name, "--sequences=20")
    assert found.returncode == 1, found.stderr
    assert "clause: MEM-535" in found.stdout
    assert "showed 10 of 10 times" in found.stdout
    line = found.stdout.partition('--case "')[2].partition('"')[0]
    assert len(calls.parse(line)) == 1
    again = run(library, backend.backend_name, f"--case={line}")
    assert (again.returncode, again.stdout.splitlines()[0]) == (1, "it showed 10 of 10 times")


def test_a_case_that_is_illegal_is_refused(library: Path) -> None:
    refused = run(library, "cpu", "--case=alloc a 5 s0; wait s1 s0; read a s1; free a")
    assert refused.returncode == 2
    assert "not recorded" in refused.stderr
