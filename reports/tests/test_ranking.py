# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which cause comes first, and what is folded under it."""

from __future__ import annotations

from typing import Any

from tbk_reports.calls import asked, function_of, traced
from tbk_reports.causes import causes, unfolded
from tbk_reports.evidence import gather, held_against
from tbk_reports.model import Test
from tbk_reports.ranking import may_follow, reasons, subject

NAMES = ("memory_alloc", "upload", "download", "stream_create", "fill", "op:mm")


def case(index: int, clause: str, things: str, verdict: str = "pass", **changes: object) -> Test:
    """Returns a test of the C layer that asked some things, of a clause that speaks of the last of
    them."""
    found = tuple(things.split())
    made = Test(
        id=f"suite/test_{index}", verdict=verdict, index=index, clause=clause, level="must",
        layer="c", phase="body", recorded=verdict, asked=frozenset(found), about=found[-1:],
        cause=f"fail/{index}.c/x/", blame="backend", label="Ensures", clause_text="it holds.",
    )  # fmt: skip
    return Test(**{**made.__dict__, **changes})


PASSING = [case(90 + at, "MEM-001", "memory_alloc upload download") for at in range(9)]


def first(*tests: Test) -> str:
    return causes([test for test in tests if test.failed], among=tests)[0].first.clause


def test_digits_are_read_in_the_words_of_the_header() -> None:
    header = {"layers": {"c": {"traced": list(NAMES)}, "torch": {}}}
    found = asked("00010500000d01", traced(header))
    assert found == {"memory_alloc", "upload", "upload on a stream", "fill",
                     "fill on a stream", "fill on another device", "op:mm"}  # fmt: skip
    assert asked("nonsense", NAMES) == asked("", NAMES) == frozenset()
    assert traced({"traced": 3}) == traced({"layers": None}) == ()
    foreign, closed = " with what another thread made", " on a device that is not open"
    in_state = asked("000101", NAMES, "00000103")
    assert in_state == {"memory_alloc", "upload", f"upload{foreign}", f"download{foreign}",
                        f"download{closed}"}  # fmt: skip
    assert (function_of("upload on a stream"), function_of("op:mm")) == ("upload", "mm")


def test_what_explains_all_failures_comes_before_what_explains_some() -> None:
    fill = case(5, "CPY-018", "memory_alloc download fill", "fail")
    stream = case(1, "STR-001", "memory_alloc download fill stream_create", "fail")
    assert first(*PASSING, stream, fill) == "CPY-018"


def test_a_capability_that_is_required_and_missing_is_one_cause_and_the_first() -> None:
    lost = {"cause": "required/event", "phase": "none"}
    needs = [case(at, f"EVT-00{at}", "", "fail", **lost) for at in range(1, 6)]
    fill = case(9, "CPY-018", "memory_alloc upload download fill", "fail")
    found = causes([*needs, fill], among=[*PASSING, *needs, fill])
    assert [len(one.tests) for one in found] == [5, 1]
    assert found[0].title == "event is required, and the library does not declare it"


def test_the_function_that_passing_tests_use_too_is_not_accused() -> None:
    upload = case(1, "CPY-004", "memory_alloc fill download upload", "fail")
    fill = case(2, "CPY-018", "memory_alloc upload download fill", "fail")
    assert first(*PASSING, upload, fill) == "CPY-018"
    assert subject([fill], gather([*PASSING, upload, fill])) == "fill"


def test_of_several_functions_a_title_accuses_the_one_that_answered_wrongly_or_none() -> None:
    both = ("upload", "fill")
    bytes_differ = case(1, "STR-001", "memory_alloc upload fill", "fail", about=both, seen="0x51")
    refused = case(2, "STR-002", "memory_alloc upload fill", "fail", about=both,
                   call="upload", expected="INVALID", seen="OK (0)")  # fmt: skip
    evidence = gather([bytes_differ, refused])
    assert subject([bytes_differ], evidence) == ""
    assert subject([refused], evidence) == "upload"


def test_an_area_of_many_functions_and_a_check_after_a_test_come_last() -> None:
    thread = case(1, "THR-001", "memory_alloc fill", "fail")
    after = case(2, "CPY-001", "memory_alloc fill", "fail", phase="clean")
    plain = case(3, "CPY-018", "memory_alloc fill", "fail")
    found = causes([thread, after, plain], among=[*PASSING, thread, after, plain])
    assert found[0].first is plain
    assert [test.clause for test in found[0].tests] == ["CPY-018", "THR-001", "CPY-001"]


def test_what_did_not_ask_the_accused_function_is_a_cause_of_its_own() -> None:
    fills = [case(at, "CPY-018", "memory_alloc fill", "fail") for at in range(3)]
    follows = case(7, "CPY-019", "memory_alloc download fill", "fail", about=("download",))
    other = case(8, "KRN-001", "memory_alloc op:mm", "fail")
    tests = [*PASSING, *fills, follows, other]
    found = causes([*fills, follows, other], among=tests)
    assert [cause.clauses for cause in found] == [("CPY-018",), ("KRN-001",)]
    assert found[0].following == (follows,)
    assert found[0].count_words == "3 tests; 1 failure of 1 clause may follow from it"
    assert sum(len(cause.tests) for cause in found) == 5


def test_nothing_follows_from_what_explains_little_or_is_another_ones_to_blame() -> None:
    one = case(1, "CPY-018", "memory_alloc fill", "fail")
    rest = [case(at, "CPY-004", "memory_alloc upload", "fail") for at in range(2, 9)]
    assert not may_follow(rest[:1], [one], gather([one, *rest]))
    harness = case(3, "CPY-019", "memory_alloc fill", "fail", blame="harness")
    assert not may_follow([harness], [one], gather([one, harness]))


def test_failures_without_calls_are_grouped_by_their_check() -> None:
    made = [case(at, f"MEM-00{at}", "upload", "fail", asked=frozenset(), cause="fail/a.c/x/")
            for at in range(3)]  # fmt: skip
    assert len(causes(made, among=made)) == 1


def test_a_clause_of_which_all_tests_fail_comes_before_one_of_which_some_do() -> None:
    some = case(1, "CPY-018", "memory_alloc fill", "fail")
    passes = [case(at, "CPY-018", "memory_alloc fill") for at in range(2, 8)]
    every = case(9, "CPY-019", "memory_alloc fill", "fail")
    assert first(*PASSING, some, *passes, every) == "CPY-019"


def test_a_failed_check_says_more_than_a_crash() -> None:
    crash = case(1, "CPY-018", "memory_alloc fill", "crash", cause="crash/body/SIGSEGV")
    check = case(2, "CPY-019", "memory_alloc fill", "fail")
    assert first(*PASSING, crash, check) == "CPY-019"


def test_the_function_that_answered_wrongly_is_suspected() -> None:
    changes = {"expected": "OK", "seen": "FAILED (7)", "call": "fill"}
    upload = case(1, "CPY-004", "memory_alloc fill upload", "fail", **changes)
    fill = case(2, "CPY-018", "memory_alloc upload fill", "fail", **changes)
    assert first(upload, fill) == "CPY-018"


def test_a_refusal_that_is_missing_comes_after_what_the_function_does() -> None:
    refusal = case(1, "CPY-001", "memory_alloc fill", "fail", label="Requires", expected="INVALID",
                   seen="OK (0)", clause_text="a size of 0; else INVALID.")  # fmt: skip
    does = case(2, "CPY-018", "memory_alloc fill", "fail", expected="byte 0 is 0x01", seen="0x00")
    assert first(*PASSING, refusal, does) == "CPY-018"


def test_crashes_in_one_call_are_one_cause_whatever_their_clauses() -> None:
    tests = [case(at, f"STR-00{at}", f"upload {name}", "crash", cause="crash/body/SIGSEGV/in fill")
             for at, name in enumerate(("memory_alloc", "download", "fill"), 1)]  # fmt: skip
    [cause] = causes(tests, among=[*PASSING, *tests])
    assert cause.title == "Crash (SIGSEGV) in fill"
    assert len(cause.clauses) == 1
    assert len(cause.following) == 2


def test_of_what_it_names_an_error_a_clause_is_suspected_with_one() -> None:
    plain = case(1, "MEM-001", "memory_alloc", "fail")
    errors = case(2, "MEM-009", "memory_alloc", "fail", label="Errors")
    asked_of = frozenset({"memory_alloc", "memory_alloc with an error"})
    tests = [Test(**{**one.__dict__, "asked": asked_of}) for one in (plain, errors)]
    evidence = gather([*PASSING, *tests])
    assert evidence.suspect(tests[:1]) == "memory_alloc"
    assert evidence.suspect(tests[1:]) == "memory_alloc with an error"


def test_of_what_it_says_0_a_clause_is_suspected_with_nothing_where_that_is_meant() -> None:
    asked_of = frozenset({"memory_alloc", "memory_alloc with nothing"})
    texts = (
        "size 0 succeeds.",
        "0 is accepted.",
        "it is not 0.",
        "bytes from 0 to size - 1.",
        "0 <= it.",
    )
    tests = [case(at, f"MEM-00{at}", "memory_alloc", "fail", asked=asked_of, clause_text=text)
             for at, text in enumerate(texts, 1)]  # fmt: skip
    evidence = gather([*PASSING, *tests])
    meant = [evidence.suspect([test]).endswith("with nothing") for test in tests]
    assert meant == [True, True, False, False, False]


def test_a_failure_is_held_against_the_clause_of_its_check_where_that_fails_by_itself() -> None:
    inputs = case(1, "KRN-004", "memory_alloc op:mm", "fail", checked="KRN-004")
    product = case(2, "KRN-108", "memory_alloc op:mm", "fail", checked="KRN-004")
    elsewhere = case(3, "KRN-109", "memory_alloc op:mm", "fail", checked="STR-001")
    accused = held_against([inputs, product, elsewhere], {})
    assert list(accused.values()) == ["KRN-004", "KRN-004", "KRN-109"]
    tests = [inputs, product, elsewhere]
    cause, other = unfolded(tests, gather(tests))
    assert (cause.clauses, cause.first, len(cause.tests)) == (("KRN-004",), inputs, 2)
    assert other.clauses == ("KRN-109",)


def test_what_a_failed_call_implies_counts_where_more_than_a_few_tests_of_it_fail() -> None:
    once = case(1, "DEV-018", "memory_alloc fill", "fail")
    again = case(2, "DEV-022", "memory_alloc fill", "fail", checked="DEV-018", implied=True)
    opens = [case(at, "DEV-018", "memory_alloc fill") for at in range(10, 14)]
    key = again.key
    assert held_against([once, again], {"DEV-018": [once, *opens]})[key] == "DEV-022"
    assert held_against([once, again], {"DEV-018": [once, *opens[:2]]})[key] == "DEV-018"
    said = case(2, "DEV-022", "memory_alloc fill", "fail", checked="DEV-018")
    assert held_against([once, said], {"DEV-018": [once, *opens]})[said.key] == "DEV-018"


def test_of_two_clauses_alike_the_one_with_the_simpler_test_comes_first() -> None:
    long = case(1, "CPY-019", "memory_alloc upload download stream_create fill", "fail")
    short = case(2, "CPY-018", "memory_alloc fill", "fail")
    assert first(*PASSING, long, short) == "CPY-018"


def test_what_follows_from_its_base_comes_after_it() -> None:
    base = case(2, "CPY-018", "memory_alloc fill", "fail")
    follows = case(1, "CPY-019", "memory_alloc fill", "fail", bases=frozenset({"CPY-018"}))
    assert first(*PASSING, follows, base) == "CPY-018"


def test_nothing_follows_from_what_fails_only_with_something_more_suspicious() -> None:
    """All tests that wait for a failure provoke it, and waits work everywhere else."""
    waits = case(1, "ERR-005", "fault_enqueue stream_synchronize", "fail")
    changes = {"about": ("fault_enqueue",), "bases": frozenset({"ERR-005"})}
    reports = case(2, "FLT-002", "fault_enqueue stream_synchronize", "fail", **changes)
    sound = [case(at, "STR-019", "stream_synchronize") for at in range(20, 24)]
    evidence = gather([waits, reports, *sound])
    assert evidence.follows([reports]) == 0.0
    alone = case(3, "ERR-005", "stream_synchronize", "fail")
    assert gather([waits, alone, reports, *sound]).follows([reports]) == 1.0


def test_a_hang_breaks_a_clause_that_speaks_of_waiting() -> None:
    hangs = [case(at, clause, "stream_query", "hang", cause="hang/body/in stream_query",
                  call="stream_query", clause_text=text)
             for at, clause, text in ((1, "STR-015", "OK only if it is complete."),
                                      (2, "STR-016", "NOT_READY, without waiting."))]  # fmt: skip
    hangs[1] = Test(**{**hangs[1].__dict__, "bases": frozenset({"STR-015"})})
    assert first(*PASSING, *hangs) == "STR-016"


def test_warnings_alone_are_causes_too() -> None:
    warned = case(1, "FRK-002", "device_count", "warning", level="should", checked="FRK-002")
    assert causes([warned], among=[*PASSING, warned])[0].first.clause == "FRK-002"


def test_what_fails_on_another_thread_alone_is_held_against_threads() -> None:
    way = frozenset({"memory_alloc", "upload", "upload on another thread"})
    bases = frozenset({"CPY-004", "STR-019"})
    threads = case(8, "THR-001", "", "fail", bases=bases, asked=way,
                   about=("upload on another thread",))  # fmt: skip
    waits = [case(at, "STR-019", "stream_synchronize", "fail", asked=way | {"stream_synchronize"})
             for at in range(3)]  # fmt: skip
    uploads = [case(at, "CPY-004", "memory_alloc upload") for at in range(40, 60)]
    assert first(*PASSING, *uploads, *waits, threads) == "THR-001"


def test_what_fails_on_another_device_alone_is_compared_with_what_passes_there() -> None:
    there = frozenset({"memory_free", "memory_free on another device"})
    fill = there | {"fill", "fill on another device"}
    frees = case(1, "MEM-012", "memory_free", "fail", asked=fill, bases=frozenset({"CPY-018"}))
    fills = case(2, "CPY-018", "fill", "fail", asked=fill | {"download"})
    here = [case(at, "CPY-018", "memory_alloc fill") for at in range(20, 30)]
    assert first(*PASSING, *here, frees, fills) == "CPY-018"


def test_a_refusal_of_what_another_thread_made_is_not_held_against_the_function() -> None:
    """Else the clause of the function comes first, though nothing is wrong with it otherwise."""
    foreign = "fill with what another thread made"
    changes = {"expected": "OK", "seen": "INVALID (1)", "call": "fill", "checked": "CPY-018",
               "implied": True}  # fmt: skip
    handed = [case(at, "THR-004", f"upload fill {foreign}", "fail", about=(foreign,),
                   clause_text="what one thread made another may use", **changes)
              for at in range(3)]  # fmt: skip
    handed = [Test(**{**one.__dict__, "asked": frozenset({"upload", "fill", foreign})})
              for one in handed]  # fmt: skip
    own = case(7, "CPY-018", "upload fill", "fail", **{**changes, "checked": ""})
    own = Test(**{**own.__dict__, "asked": frozenset({"upload", "fill", foreign})})
    passing = [case(20 + at, "CPY-018", "upload fill") for at in range(12)]
    found = gather([*handed, own, *passing, *PASSING])
    assert {found.clause([one]) for one in handed} == {"THR-004"}
    plain = [Test(**{**one.__dict__, "asked": frozenset({"upload", "fill"})}) for one in handed]
    assert {gather([*plain, own, *PASSING]).clause([one]) for one in plain} == {"CPY-018"}


def test_what_was_never_begun_says_nothing() -> None:
    """A device that is gone leaves hundreds of tests that nobody ran."""
    failed = case(1, "CPY-018", "memory_alloc fill", "fail")
    gone = [case(at, "STR-001", "", "not-reached") for at in range(2, 40)]
    evidence = gather([*PASSING, failed, *gone])
    assert evidence.failing == 1
    assert causes([failed, *gone], among=[*PASSING, failed, *gone])[0].first is failed


def test_a_crash_where_enqueued_work_runs_speaks_of_what_enqueued_it() -> None:
    changes = {"call": "stream_synchronize", "asked": frozenset({"fill", "fill on a stream"})}
    crash = case(1, "CPY-018", "fill", "crash", **changes)
    other = case(2, "CPY-004", "upload", "crash", call="stream_synchronize")
    evidence = gather([*PASSING, crash, other])
    assert (
        reasons([crash], evidence)["said by a check"]
        > reasons([other], evidence)["said by a check"]
    )


def test_what_the_checks_of_several_clauses_name_is_broken_though_no_test_of_it_fails() -> None:
    """Sweeps look at each function in many circumstances: one that fails in all is not of them."""
    waits = [case(20 + at, "STR-019", "stream_synchronize") for at in range(9)]
    name = {"checked": "STR-019", "call": "stream_synchronize"}
    sweeps = [case(at, clause, "stream_synchronize device_open", "fail", **name)
              for at, clause in enumerate(("FLT-002", "FLT-004", "DEV-018"))]  # fmt: skip
    cause = causes(sweeps, among=[*PASSING, *waits, *sweeps])[0]
    assert (cause.clause, list(cause.tests)) == ("STR-019", sweeps)
    alike = [Test(**{**one.__dict__, "clause": "FLT-002"}) for one in sweeps]
    assert causes(alike, among=[*PASSING, *waits, *alike])[0].clause == "FLT-002"
    implied = [Test(**{**one.__dict__, "implied": True}) for one in sweeps]
    assert causes(implied, among=[*PASSING, *waits, *implied])[0].clause != "STR-019"


def test_a_check_of_another_clause_speaks_against_its_tests_own() -> None:
    """It comes to nothing: what was prepared for it was refused."""
    things = "memory_alloc upload fill"
    refused = case(1, "CBK-003", things, "fail", checked="CPY-004", implied=True, call="upload")
    own = case(2, "CPY-018", things, "fail")
    uploads = [case(at, "CPY-004", "memory_alloc upload") for at in range(20, 29)]
    run = [*PASSING, *uploads, refused, own]
    assert first(*run) == "CPY-018"
    evidence = gather(run)
    assert reasons([refused], evidence)["of another"] == -1
    assert reasons([own], evidence)["of another"] == 0


def test_what_checks_of_other_tests_name_counts_where_its_own_tests_bear_it_out() -> None:
    """Else a clause of which few cases fail stands before that of those cases."""
    named = {"checked": "EVT-018"}
    sweeps = [case(at, clause, "event_wait stream_create", "fail", **named)
              for at, clause in enumerate(("FLT-002", "FLT-004"))]  # fmt: skip
    one = case(7, "EVT-018", "event_wait", "fail")
    passing = [case(20 + at, "EVT-018", "event_wait") for at in range(8)]
    alone, shared = gather([*sweeps, one, *PASSING]), gather([*sweeps, one, *passing, *PASSING])
    held = [one, *sweeps]
    assert {alone.clause([test]) for test in held} == {"EVT-018"}
    assert alone.named_by_checks(held) > 2 * shared.named_by_checks(held) > 0


def test_a_missing_refusal_explains_no_failure_of_a_legal_call() -> None:
    unrefused = case(1, "KRN-008", "memory_alloc fill", "fail", label="Errors",
                     expected="UNSUPPORTED", seen="OK (0)")  # fmt: skip
    legal = [case(at, "CPY-018", "memory_alloc fill", "fail") for at in range(2, 5)]
    evidence = gather([*PASSING, unrefused, *legal])
    assert evidence.explained_by(unrefused, 1.0) == 0.25
    assert evidence.explained_by(legal[0], 1.0) == 1
    assert gather([*PASSING, unrefused]).explained_by(unrefused, 1.0) == 1


def test_what_several_functions_state_is_seen_in_what_they_have_in_common() -> None:
    """Of each function few tests fail, of all together those that call any of them in that way."""
    names = ("upload", "fill", "copy", "memory_info")
    closed = tuple(f"{name} on a device that is not open" for name in names)
    of_each = [case(at, "DEV-021", f"memory_alloc {name}", "fail", about=names, call=name,
                    asked=frozenset({"memory_alloc", name, f"{name} on a device that is not open"}),
                    label="Requires", clause_text="the instance has got the device open")
               for at, name in enumerate(names)]  # fmt: skip
    passing = [
        case(40 + at, "CPY-004", "memory_alloc upload fill copy memory_info") for at in range(9)
    ]
    several = gather([*passing, *of_each])
    assert several.at_several(of_each) == [set(names), set(closed)]
    assert several.together(set(closed)) == (1.0, 1.0)
    assert reasons(of_each, several)["suspicious"] > reasons(of_each[:1], several)["suspicious"]
    assert gather([*passing, of_each[0]]).at_several(of_each[:1]) == []
    assert several.together({"device_open"}) == (0.0, 0.0)


def test_a_fault_of_an_opcode_is_seen_in_the_programs_that_have_it() -> None:
    """A program is one thing, however much it computes."""
    of_each: dict[str, Any] = {"about": ("op:tbk::pointwise", "opcode:ADD", "opcode:SIN")}
    sines = [case(20 + at, "PRG-002", "launch op:tbk::pointwise opcode:SIN", **of_each)
             for at in range(3)]  # fmt: skip
    added = case(2, "PRG-002", "launch op:tbk::pointwise opcode:LOAD opcode:ADD", "fail", **of_each)
    other = case(3, "PRG-012", "opcode:LOAD opcode:ADD launch op:tbk::pointwise", "fail")
    assert first(*PASSING, *sines, added, other) == "PRG-002"
    evidence = gather([*PASSING, *sines, added, other])
    assert subject([added], evidence) == "ADD"
    assert reasons([added], evidence)["simple"] == reasons([other], evidence)["simple"]


def test_an_error_that_a_legal_call_answered_is_not_what_was_asked() -> None:
    """Else each refusal of a legal call accuses what is said of calls that are not legal."""
    asked = frozenset({"memory_alloc", "upload", "upload with an error"})
    refused = [case(at, "CPY-004", "upload", "fail", call="upload", expected="OK", asked=asked,
                    seen="INVALID (1)") for at in range(3)]  # fmt: skip
    refusal = case(5, "STR-002", "upload", "fail", call="upload", expected="INVALID", asked=asked,
                   seen="OK (0)")  # fmt: skip
    evidence = gather([*PASSING, *refused, refusal])
    assert evidence.failed_of["upload with an error"] == 1
    assert evidence.failed_of["upload"] == 4


def test_what_was_given_up_has_a_title_with_its_clause() -> None:
    cut = case(1, "EVT-025", "event_query", "not-reached", cause="not-reached/after-hangs",
               clause_text="it becomes OK.")  # fmt: skip
    found = causes([cut], among=[cut, *PASSING])[0]
    assert found.title == ("EVT-025, event_query: no end in the time that was left; it becomes OK.")
