# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a test called stands in its record, also where its process died."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import CPU, HOSTILE, LIB, Record, hostile, run

MUTANTS = LIB / "libtbk_mutants.so"
WITHOUT_STREAM, ON_STREAM, OTHER_DEVICE, OTHER_THREAD = 2, 4, 8, 16
WITH_AN_ERROR, WITH_NOTHING, AT_AN_OFFSET = 32, 64, 128


WITH_FOREIGN, WHILE_CLOSED = 1, 2


def calls(header: Record, test: Record, field: str = "calls") -> dict[str, int]:
    """Returns the bits of each call by its name."""
    bits = bytes.fromhex(test[field] or "")
    return {name: bit for name, bit in zip(["", *header["traced"]], bits, strict=False) if bit}


@pytest.mark.parametrize("isolation", ["fork", "batch"])
def test_the_calls_of_a_test_are_recorded(tmp_path: Path, isolation: str) -> None:
    only = ("--only", "copy", "--only", "kernel_values", "--only", "thread")
    done = run(CPU, tmp_path / "x.jsonl", *only, "--isolation", isolation)
    results = done.results()
    found = {test["id"]: calls(results.header, test) for test in results.tests}
    ran = [test["id"] for test in results.tests if test["verdict"] == "pass"]
    adds = [found[name] for name in ran if "op:add.Tensor" in found[name]]
    assert adds
    assert all("launch" in one and "kernel_find" in one for one in adds)
    uploads = [one["upload"] for one in found.values() if "upload" in one]
    assert any(bits & WITHOUT_STREAM for bits in uploads)
    assert any(bits & ON_STREAM for bits in uploads)
    assert any(bits & OTHER_THREAD for name in ran for bits in found[name].values())
    assert any(bits & OTHER_DEVICE for name in ran for bits in found[name].values())


def test_a_crash_names_the_call_that_it_happened_in(tmp_path: Path) -> None:
    done = run(HOSTILE, tmp_path / "x.jsonl", "--only", "copy", *hostile("crash_in_call"))
    results = done.results()
    crashed = next(test for test in results.tests if test["verdict"] == "crash")
    name = crashed["cause"].rpartition("/in ")[2]
    assert name in calls(results.header, crashed)
    assert crashed["call"] == name
    assert crashed["seen"].endswith(f", in {name}")


def test_what_a_call_was_given_and_answered_is_recorded(tmp_path: Path) -> None:
    only = ("--only", "copy/an_upload_of_no_bytes_does_nothing",
            "--only", "copy/an_upload_writes_its_range_only",
            "--only", "memory_refusal/alloc_refuses_a_null_result")  # fmt: skip
    results = run(CPU, tmp_path / "x.jsonl", *only).results()
    found = {test["id"].partition("/")[2]: calls(results.header, test) for test in results.tests}
    assert found["an_upload_of_no_bytes_does_nothing"]["upload"] & WITH_NOTHING
    assert not found["an_upload_writes_its_range_only"]["upload"] & WITH_NOTHING
    assert found["an_upload_writes_its_range_only"]["upload"] & AT_AN_OFFSET
    assert not found["an_upload_of_no_bytes_does_nothing"]["upload"] & AT_AN_OFFSET
    assert found["alloc_refuses_a_null_result"]["memory_alloc"] & WITH_AN_ERROR
    assert not found["an_upload_writes_its_range_only"]["memory_alloc"] & WITH_AN_ERROR
    assert all(test["call"] is None for test in results.tests)


def test_a_call_of_a_generic_kernel_is_recorded_by_the_kernels_name(tmp_path: Path) -> None:
    only = ("--only", "program_matmul_edge", "--only", "kernel_values")
    results = run(CPU, tmp_path / "x.jsonl", *only).results()
    for test in results.tests:
        if test["verdict"] == "pass":
            is_program = test["suite"] == "program_matmul_edge"
            assert ("op:tbk::matmul" in calls(results.header, test)) == is_program


def test_what_a_generic_kernel_is_asked_is_recorded_by_opcodes_and_flags(tmp_path: Path) -> None:
    only = ("--only", "program/numbers_are_arguments", "--only", "program_refusal",
            "--only", "program_sort", "--only", "kernel_values")  # fmt: skip
    results = run(CPU, tmp_path / "x.jsonl", *only).results()
    passed = [test for test in results.tests if test["verdict"] == "pass"]
    found = {test["id"]: {name for name in calls(results.header, test)
                          if name.startswith(("opcode:", "flag:"))} for test in passed}  # fmt: skip
    assert {"opcode:ADD", "opcode:LOAD"} <= found["program/numbers_are_arguments"]
    assert "opcode:SIN" not in found["program/numbers_are_arguments"]
    assert "flag:DESCENDING" in found["program_sort/the_greatest_come_first_where_it_descends"]
    others = [one for name, one in found.items() if name.startswith("kernel_values/")]
    assert others
    assert not any(others)


@pytest.mark.parametrize("isolation", ["fork", "batch"])
def test_the_state_in_which_a_call_was_made_is_recorded(tmp_path: Path, isolation: str) -> None:
    handed_on = "thread_relay/what_one_thread_made_another_uses_and_destroys"
    closed = "teardown_closed/events_can_be_destroyed_after_closing"
    plain = "copy/an_upload_writes_its_range_only"
    only = [word for name in (handed_on, closed, plain) for word in ("--only", name)]
    results = run(CPU, tmp_path / "x.jsonl", *only, "--isolation", isolation).results()
    found = {one["id"]: calls(results.header, one, "call_states") for one in results.tests}
    assert found[handed_on]["event_destroy"] & WITH_FOREIGN
    assert found[closed]["event_destroy"] & WHILE_CLOSED
    assert not found[plain]


def test_a_failed_check_names_the_call_before_it(tmp_path: Path) -> None:
    only = ("--only", "stream/eight_streams_exist_at_a_time", "--backend-option",
            "mutant=create_up_to_seven")  # fmt: skip
    [failed] = run(MUTANTS, tmp_path / "x.jsonl", *only).results().tests
    assert (failed["verdict"], failed["call"]) == ("fail", "stream_create")
    assert failed["checked"] is None  # the test's own


CHECKED = {  # by the test and the mutant that it meets: its clause, and that of the check
    ("kernel_values/mm_is_exact_where_the_result_is", "mm_spoils_second_input"):
        ("KRN-108", "KRN-004"),
    ("copy/a_copy_may_stay_inside_an_allocation", "copy_without_stream_is_late"):
        ("CPY-016", "CPY-006"),
    ("kernel_shapes/every_element_gets_its_value_after_an_error", "launch_writes_one_element_more"):
        ("KRN-003", "KRN-003"),
    # Bytes that came back wrong were looked at again.
    ("copy/an_upload_writes_its_range_only", "last_byte_reads_0"): ("CPY-004", "MEM-006"),
    ("copy/a_copy_writes_its_destination_only", "upload_drops_last_byte"): ("CPY-015", "CPY-004"),
    ("memory/every_byte_can_be_written_and_read", "download_drops_last_byte"):
        ("MEM-006", "CPY-009"),
    ("device/the_properties_stay", "name_null"): ("DEV-010", "DEV-011"),
    # The call behind the refusals was right, and what it adds was not.
    ("program_convolution_edge/what_does_not_fit_is_refused", "bias_is_left_out"):
        ("PRG-055", "PRG-049"),
    # The gate did not hold.
    ("event/eight_events_exist_at_a_time", "callback_detached"): ("EVT-003", "CBK-004"),
    ("memory/a_handle_is_not_0_after_an_error", "size_wraps_at_32_bits"): ("MEM-002", "MEM-009"),
}  # fmt: skip


@pytest.mark.parametrize("isolation", ["fork", "batch"])
@pytest.mark.parametrize(("test", "mutant"), CHECKED)
def test_a_check_of_another_clause_names_it(
    tmp_path: Path, test: str, mutant: str, isolation: str
) -> None:
    only = ("--only", test, "--isolation", isolation, "--backend-option", f"mutant={mutant}")
    [failed] = run(MUTANTS, tmp_path / "x.jsonl", *only).results().tests
    assert (failed["clause"], failed["checked"]) == CHECKED[test, mutant]


def test_what_a_test_calls_once_it_has_failed_is_no_reason(tmp_path: Path) -> None:
    only = ("--only", "stream/runs_work_in_order", "--isolation", "batch")
    refused = ("--backend-option", "mutant=first_upload_on_stream_refused")
    found = {}
    for library, more in ((CPU, ()), (MUTANTS, refused)):
        results = run(library, tmp_path / "x.jsonl", *only, *more).results()
        found[results.tests[0]["verdict"]] = calls(results.header, results.tests[0])
    assert found["fail"]["upload"] & WITH_AN_ERROR
    assert "stream_destroy" in found["pass"].keys() - found["fail"].keys()
