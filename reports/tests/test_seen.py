# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a failed test says by itself."""

from __future__ import annotations

from typing import Any

from tbk_reports.evidence import gather
from tbk_reports.model import Test
from tbk_reports.ranking import reasons
from tbk_reports.seen import NOT_OF_IT, fits
from test_ranking import case


def test_what_was_seen_is_held_against_what_the_clause_promises() -> None:
    hang = case(1, "STR-016", "stream_query", "hang", clause_text="it never waits for work.")
    refused = case(2, "STR-001", "stream_query", "fail", expected="OK", seen="FAILED (7): no")
    named = case(3, "STR-015", "stream_query", "fail", expected="NOT_READY while held", seen="OK",
                 clause_text="NOT_READY until then.")  # fmt: skip
    assert (fits(hang), fits(refused), fits(named)) == (1.0, -0.5, 1.0)


def test_a_call_that_went_through_speaks_against_what_follows_an_error() -> None:
    through = case(1, "ERR-001", "memory_alloc", "fail", label="On error", expected="an error",
                   seen="OK from memory_alloc")  # fmt: skip
    written = case(2, "ERR-001", "memory_alloc", "fail", label="On error", expected="0", seen="7")
    early = case(3, "ERR-006", "stream_query", "fail", label="On error", expected="NOT_READY",
                 seen="OK")  # fmt: skip
    assert (fits(through), fits(written), fits(early)) == (-1.0, 0.0, 0.0)


def test_a_hang_breaks_a_clause_that_speaks_of_coming_to_an_end() -> None:
    hang = case(1, "STR-017", "stream_query", "hang", clause_text="it becomes OK.")
    assert fits(hang) > fits(Test(**{**hang.__dict__, "clause_text": "it holds."}))


def test_a_wrong_result_breaks_no_promise_to_take_a_call() -> None:
    text = "a call of a dtype that the device declares is not refused."
    wrong = case(1, "PRG-045", "launch", "fail", clause_text=text, expected="12", seen="-3")
    refused = case(2, "PRG-045", "launch", "fail", clause_text=text, expected="OK",
                   seen="UNSUPPORTED (3)")  # fmt: skip
    assert (fits(wrong), fits(refused)) == (NOT_OF_IT, 1.0)
    takes = "takes small contiguous FLOAT32 where it is declared."
    assert fits(case(3, "KRN-023", "launch", "fail", clause_text=takes, seen="-nan")) == NOT_OF_IT
    # What is accepted and does nothing may be accepted and do something.
    nothing = "0 is accepted and does nothing."
    assert fits(case(4, "MEM-014", "launch", "fail", clause_text=nothing, seen="0x01")) == 0.0


def test_a_legal_call_that_is_refused_breaks_no_clause_of_refusals() -> None:
    text = "INVALID where the stream belongs to another device."
    legal = case(1, "STR-002", "download", "fail", label="Errors", clause_text=text, expected="OK",
                 seen="INVALID (1): no")  # fmt: skip
    assert fits(legal) == NOT_OF_IT
    assert fits(Test(**{**legal.__dict__, "expected": "INVALID", "seen": "OK"})) == 0.0


def test_what_had_less_time_says_less_than_a_hang() -> None:
    hung, cut = (case(1, "KRN-003", "launch", verdict) for verdict in ("hang", "not-reached"))
    said = [reasons([one], gather([one]))["said by a check"] for one in (hung, cut)]
    assert said[0] > said[1]


def test_a_base_fails_as_such_in_what_is_the_most_suspicious_of_it() -> None:
    """Its other tests ask other opcodes: they say nothing for this one."""
    of_each: dict[str, Any] = {"about": ("opcode:ADD", "opcode:SIN")}
    sines = [case(20 + at, "PRG-002", "launch opcode:SIN", **of_each) for at in range(4)]
    added = case(2, "PRG-002", "launch opcode:ADD", "fail", **of_each)
    sets = case(1, "PRG-008", "launch opcode:ADD", "fail", bases=frozenset({"PRG-002"}))
    assert gather([*sines, added, sets]).follows([sets]) == 1.0
    assert gather([*sines, sets]).follows([sets]) == 0.0
