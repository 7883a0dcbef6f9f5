# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sequences of allocations: the model that says which are legal, how they are drawn and written."""

from __future__ import annotations

import pytest
from tbk_contracts.torch.lifetime import calls, draw, model

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
