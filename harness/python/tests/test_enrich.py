# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the spec adds to a record: the clause whose promise was not kept, and its bases."""

from __future__ import annotations

from pathlib import Path

import tbk_contracts
from tbk_harness.enrich import enrich
from tbk_reports.facts import meaning
from tbk_reports.model import ResultFile, Test

UPLOADS = tbk_contracts.main_clause("upload")


def enriched(clause: str, **changes: str) -> Test:
    text = next(one.text for one in tbk_contracts.clauses() if one.id == clause)
    said = {"verdict": "fail", "recorded": "fail", "layer": "c", "clause_text": text, **changes}
    test = Test(id="suite/test", clause=clause, **said)  # type: ignore[arg-type]
    return enrich(ResultFile(str(Path()), {}, (test,), None)).tests[0]


def test_a_call_that_fails_in_a_test_of_something_else_broke_what_it_promises() -> None:
    refused = {"expected": "OK", "seen": "FAILED (7)", "call": "upload"}
    assert enriched("EVT-018", **refused).checked == UPLOADS == "CPY-004"
    assert enriched("CPY-005", **refused).checked == ""  # of the same function
    assert enriched("ERR-010", **refused).checked == ""  # of all functions
    assert enriched("EVT-018", expected="byte 0 is 0x01", call="upload").checked == ""
    assert enriched("EVT-018", checked="STR-001", **refused).checked == "STR-001"


def test_a_refusal_that_a_clause_excludes_is_a_breach_of_that_one() -> None:
    full = {"expected": "OK", "seen": "OUT_OF_MEMORY (4): no more", "call": "event_wait"}
    assert enriched("EVT-018", **full).checked == "EVT-020"  # any number of streams may wait
    assert enriched("EVT-018", **full).implied
    assert enriched("EVT-018", **{**full, "seen": "FAILED (7)"}).checked == ""
    refused = {"expected": "OK", "seen": "UNSUPPORTED (3)", "call": "launch_plan"}
    assert enriched("KRN-013", **refused).checked == "KRN-014"  # it is not answered any more


def test_a_call_that_its_own_sentence_names_is_held_against_the_clause_itself() -> None:
    refused = {"expected": "OK", "seen": "INVALID (1): no workspace", "call": "launch_plan"}
    assert enriched("KRN-010", **refused).checked == ""  # "is what launch_plan needs"
    assert enriched("EVT-018", **refused).checked == tbk_contracts.main_clause("launch_plan")


def test_any_refusal_breaks_the_promise_that_a_call_succeeds() -> None:
    refused = {"expected": "OK", "seen": "INVALID_STATE (2)", "call": "device_synchronize"}
    assert enriched("MEM-006", **refused).checked == "STR-023"
    assert enriched("STR-022", **refused).checked == "STR-023"
    lost = {**refused, "seen": "DEVICE_LOST (8)"}
    assert enriched("MEM-006", **lost).checked != "STR-023"


def test_any_refusal_breaks_the_promise_that_a_call_works() -> None:
    refused = {"expected": "OK", "seen": "UNSUPPORTED (3)", "call": "peer_copy"}
    assert enriched("PER-006", **refused).checked == "PER-005"
    assert enriched("PER-006", expected="7", seen="8", call="peer_copy").checked == ""


def test_what_stays_not_ready_breaks_the_promise_that_it_comes_to_an_end() -> None:
    pending = {"expected": "OK", "seen": "NOT_READY (5)"}
    assert enriched("STR-004", call="stream_query", **pending).checked == "STR-017"
    assert enriched("EVT-018", call="event_query", **pending).checked == "EVT-025"
    assert enriched("STR-017", call="stream_query", **pending).checked in ("", "STR-017")


def test_what_is_answered_on_a_closed_device_breaks_what_opening_promises() -> None:
    closed = {"call": "pinned_alloc", "seen": "INVALID_STATE (2): no context"}
    assert enriched("PIN-002", expected="OK", **closed).checked == "DEV-018"
    assert enriched("PIN-007", expected="OUT_OF_MEMORY", **closed).checked == "DEV-018"
    either = enriched("PIN-007", expected="OUT_OF_MEMORY or INVALID_STATE", **closed)
    assert either.checked == ""
    assert {"device_open", "pinned_alloc", "upload"} < set(enriched("DEV-018").about)


def test_so_did_a_call_that_did_not_come_back() -> None:
    crash = {"recorded": "crash", "cause": "crash/body/SIGSEGV/in upload", "call": "upload"}
    assert enriched("EVT-018", **crash).checked == UPLOADS
    after = {**crash, "cause": "crash/body/SIGSEGV"}
    assert enriched("EVT-018", **after).checked == ""


def test_a_crash_where_enqueued_work_runs_is_not_held_against_the_wait() -> None:
    crash = {"recorded": "crash", "call": "stream_synchronize",
             "cause": "crash/body/SIGSEGV/in stream_synchronize"}  # fmt: skip
    assert enriched("KRN-007", **crash).checked == ""
    hang = {**crash, "recorded": "hang", "cause": "hang/body/in stream_synchronize"}
    assert enriched("KRN-007", **hang).checked == tbk_contracts.main_clause("stream_synchronize")


def test_a_clause_knows_what_it_builds_on() -> None:
    assert "EVT-018" in enriched("EVT-019").bases  # a later line of the same function
    assert UPLOADS in enriched("STR-001").bases
    assert enriched(UPLOADS).bases == tbk_contracts.all_bases(UPLOADS)


def test_a_verb_of_a_sentence_is_no_function() -> None:
    assert len(enriched("THR-004").about) > 1  # "may use and destroy" is not of destroy() alone
    assert enriched("TDN-008").about == ("destroy",)
    assert "device_open" in enriched("FRK-001").about


def test_every_capability_of_the_interface_is_told_in_words() -> None:
    told = [word for word in tbk_contracts.interface().words if ":" not in word]
    assert len(told) > 10
    assert [word for word in told if not meaning(word, "c")] == []


def test_what_a_function_does_is_no_promise_that_builds_on_another_one_of_it() -> None:
    assert tbk_contracts.main_clause("peer_copy") == "PER-006"
    assert "PER-006" in tbk_contracts.bases_of("PER-005")
    assert tbk_contracts.main_clause("random_bits") == "RNG-007"


def test_a_clause_of_what_a_generic_kernel_is_asked_speaks_of_opcodes_and_flags() -> None:
    assert set(enriched("PRG-002").about) == {f"opcode:{one}" for one in tbk_contracts.opcodes()}
    assert enriched("PRG-003").about == ("opcode:CAST",)
    assert enriched("PRG-007").about == ("opcode:NUMBER",)
    assert enriched("PRG-012").about == ("op:tbk::pointwise",)  # of no opcode more than of others
    assert enriched("PRG-018").about == (
        "opcode:COORDINATE in a reduction", "opcode:LINEAR_INDEX in a reduction")  # fmt: skip
    assert enriched("PRG-068").about == ("flag:REVERSE",)
    assert enriched("PRG-069").about == (  # "also with REVERSE"
        "opcode:COORDINATE in a scan", "opcode:LINEAR_INDEX in a scan")  # fmt: skip
    assert enriched("PRG-070").about == ("op:tbk::scan",)
    assert {"DESCENDING", "STABLE", "REVERSE", "NEGATIVE"} < set(tbk_contracts.flags())
