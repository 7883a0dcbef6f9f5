# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from judged import judged
from tbk_reports.clauses import clause_state
from tbk_reports.html import render_html
from tbk_reports.junit import render_junit
from tbk_reports.markdown import render_markdown
from tbk_reports.model import Judged
from tbk_reports.terminal import render_terminal
from tbk_reports.view import View
from tbk_reports.words import ENDINGS, FOUND_BESIDE, difference_words

RUNNER = Path(__file__).resolve().parents[2] / "harness" / "src"


def _causes(*records: synthetic.Record) -> list[str]:
    return [cause.title for cause in View(judged(list(records))).causes]


def test_failures_with_one_cause_are_one_line() -> None:
    view = View(judged(synthetic.failing()))
    assert len(view.causes) == 4
    assert sum(len(cause.tests) for cause in view.causes) == len(view.failing)


def test_what_blocks_everything_comes_first() -> None:
    early = synthetic.case(3, "crash", phase="open", cause="SIGSEGV in device_open")
    many = [synthetic.case(index, "fail", cause="often") for index in (0, 1, 2, 4)]
    assert _causes(*many, early)[0] == "SIGSEGV in device_open"


def test_a_device_that_does_not_compute_is_said_first() -> None:
    said = "not sound before the first test: what is copied there and back differs"
    bad = judged(synthetic.failing())
    bad.footer["health"] = said
    assert View(bad).health == said
    assert View(bad).unsound_from_the_start
    bad.footer["health"] = "ok"
    assert View(bad).health == ""


def test_where_the_device_does_not_compute_core_comes_first() -> None:
    rest = [synthetic.case(i, "fail", profile="compute", cause="kernels") for i in range(9)]
    run = judged([*rest, synthetic.case(20, "fail", profile="core", cause="copies")])
    assert [cause.title for cause in View(run).causes] == ["kernels", "copies"]
    run.footer["health"] = "what is copied there and back differs"
    assert [cause.title for cause in View(run).causes] == ["copies", "kernels"]


def test_must_comes_before_should_however_many() -> None:
    weak = [synthetic.case(i, "fail", level="should", cause="weak") for i in range(9)]
    assert _causes(*weak, synthetic.case(20, "fail", cause="strong")) == ["strong", "weak"]


def test_what_the_vendor_cannot_mend_comes_last() -> None:
    ours = [synthetic.case(i, "suite-error") for i in range(5)]
    assert _causes(*ours, synthetic.case(9, "fail", level="should", cause="theirs"))[0] == "theirs"


def test_fingerprints_are_told_in_words() -> None:
    said = _causes(
        synthetic.case(0, "crash", cause="crash/open/SIGSEGV", phase="open"),
        synthetic.case(1, "hang", cause="hang/body"),
        synthetic.case(2, "crash", cause="crash/body/exited"),
        synthetic.case(3, "fail", cause="fail/a_test.c/x == y/0", clause="MEM-001"),
    )
    assert said[0] == "Crash (SIGSEGV) while the device was opened"
    assert "Hang in the test" in said
    assert "The process exits in the test" in said
    assert any(title.startswith("MEM-001: ") for title in said)


def test_the_check_of_one_clause_comes_before_the_symptom_of_many() -> None:
    shared = [
        synthetic.case(i, "fail", cause="fail/order.c/seen/", clause=f"STR-{i:03d}", level="must")
        for i in range(1, 6)
    ]
    named = [
        synthetic.case(i, "fail", cause="fail/wait.c/done/", clause="STR-019", level="must")
        for i in (10, 11)
    ]
    assert _causes(*shared, *named)[0].startswith("STR-019: ")


def test_a_cause_of_many_clauses_is_told_by_what_was_seen() -> None:
    many = [
        synthetic.case(
            i, "fail", cause="fail/fixture.c/upload()/FAILED", clause=f"MEM-{i:03d}",
            expected="OK", seen="FAILED (7): no DMA engine",
        )
        for i in range(1, 6)
    ]  # fmt: skip
    assert _causes(*many) == ["expected OK, seen FAILED (7): no DMA engine (in 5 clauses)"]


def test_an_answer_is_told_with_the_function_that_gave_it() -> None:
    asked = {"call": "memory_info", "expected": "OK", "seen": "INVALID_STATE (2): it has failed"}
    given = synthetic.case(0, "fail", what="fx->core->memory_info(fx->self, &error)", **asked)
    read_back = synthetic.case(0, "fail", what="status == TBK_OK", **asked)
    words = [difference_words(one) for one in judged([given, read_back]).tests]
    assert words == [
        "expected OK from memory_info, seen INVALID_STATE (2): it has failed",
        "expected OK, seen INVALID_STATE (2): it has failed",
    ]


def test_what_is_found_after_the_test_is_not_told_as_its_clause() -> None:
    after = synthetic.case(
        0, "fail", cause="fail/clean.c/after the test/", phase="clean", clause="FRK-004",
        expected="nothing is written behind an allocation",
    )  # fmt: skip
    assert _causes(after) == [
        "Does not hold after the test: nothing is written behind an allocation"
    ]


def test_what_the_suite_finds_by_itself_is_told_in_a_sentence() -> None:
    """Without a check of a test there is no sentence of a clause; a name in the file is none."""
    for cause, said in FOUND_BESIDE.items():
        verdict = cause.partition("/")[0]
        record = synthetic.case(0, verdict, cause=cause, phase="clean", expected="x")
        (title,) = _causes({**record, "clause_text": ""})
        assert title == said
        assert cause not in title
    declared = _causes(synthetic.case(0, "fail", cause="declared/stream"))
    assert declared == ["stream is declared, and does not work as declared"]
    many = synthetic.case(0, "crash", cause="crash/body/processes/in upload")
    assert _causes(many) == ["Too many processes are started in upload"]


def test_each_name_that_the_runner_gives_has_a_sentence() -> None:
    """The names stand in the runner's sources: one that is new there must be told, too."""
    sources = "".join(one.read_text("utf-8") for one in sorted(RUNNER.glob("*.c")))
    named = set(re.findall(r'SAY\(\w+(?:->|\.)cause, "([a-z/-]+)"\)', sources))
    ends = set(re.findall(r'cause, "(?:crash|hang)/%s/([a-z-]+)"', sources))
    assert named == set(FOUND_BESIDE)
    assert ends == set(ENDINGS)


def test_a_required_capability_is_told_in_words() -> None:
    assert _causes(synthetic.case(0, "fail", cause="required/peer")) == [
        "peer is required, and the library does not declare it"
    ]


def test_a_clause_is_as_good_as_its_worst_test() -> None:
    assert clause_state(["pass", "fail"]) == "fail"
    assert clause_state(["pass", "trivial"]) == "trivial"
    assert clause_state(["pass", "unsupported"]) == "partly"
    assert clause_state(["unsupported", "not-shown"]) == "not-shown"
    assert clause_state(["pass"]) == "pass"


def test_a_part_of_the_suite_is_never_called_conforming() -> None:
    whole = View(judged(synthetic.passing(), header=synthetic.header(300, tier="thorough")))
    assert (whole.headline, whole.stamp) == ("acme 1.4.2 conforms", "PASS (thorough)")
    whole_head = synthetic.header(300, tier="thorough")
    parts: tuple[synthetic.Record, ...] = (
        {"selection": ["memory"]}, {"shard": "1/2"}, {"planned": 2_002},
    )  # fmt: skip
    for changes in parts:
        head = {**whole_head, **changes}
        part = View(judged(synthetic.passing(), header=head))
        assert "conforms" not in part.headline
        assert part.stamp == "PARTIAL (thorough)"
        assert part.partial_words
    left = [*synthetic.passing()[:-1], synthetic.case(299, "left-out")]
    assert View(judged(left)).word == "partial"


def test_a_quick_run_passes_its_tier_and_no_more() -> None:
    quick = View(judged(synthetic.passing()))
    assert (quick.headline, quick.stamp) == ("acme 1.4.2 passes the quick tier", "PASS (quick)")
    one = synthetic.header(300, tier="thorough", layer="c")
    assert View(judged(synthetic.passing(), header=one)).headline.endswith("in the C layer")
    mixed = {"c": {"tier": "thorough"}, "torch": {"tier": "quick"}}
    both = synthetic.header(300, tier="thorough", layers=mixed)
    assert View(judged(synthetic.passing(), header=both)).stamp == "PASS (quick)"


def test_a_simulated_run_says_so_wherever_it_is_named() -> None:
    device = {"name": "acme", "simulated": True}
    head = synthetic.header(300, tier="thorough", devices=[device])
    view = View(judged(synthetic.passing(), header=head))
    assert (view.stamp, view.title_name) == (
        "PASS (thorough, simulated)", "acme 1.4.2 (simulated)",
    )  # fmt: skip
    assert "conforms" not in view.headline
    nested = synthetic.header(300, layers={"c": {"devices": [device]}, "torch": {}})
    assert View(judged(synthetic.passing(), header=nested)).extent.simulated
    broken = View(judged(synthetic.passing(), header=head, verdict="error", exit_code=6))
    assert broken.stamp == "ERROR, simulated"
    part = synthetic.header(2_002, tier="thorough", devices=[device])
    assert View(judged(synthetic.passing(), header=part)).stamp == "PARTIAL (thorough, simulated)"


def test_what_the_devices_run_on_is_told_once() -> None:
    first = {"name": "acme", "driver": "driver 12.4 /opt/acme/libacme_driver.so.12.4"}
    other = {"name": "acme", "driver": "driver 12.5 /opt/new/libacme_driver.so.12.5"}
    layers = {"c": {"devices": [first, other]}, "torch": {"devices": [first, {"driver": 7}]}}
    told = judged(synthetic.passing(), header=synthetic.header(300, devices=[first], layers=layers))
    assert View(told).drivers == [first["driver"], other["driver"], "7"]
    assert render_junit(told).count('name="tbk.driver"') == 3
    assert first["driver"] in render_html(told)
    assert View(judged(synthetic.passing())).drivers == []


@pytest.mark.parametrize("render", [render_html, render_markdown, render_terminal, render_junit])
def test_each_report_of_a_simulated_run_tells_what_it_cannot_show(
    render: Callable[[Judged], str],
) -> None:
    device = {"name": "acme", "simulated": True}
    told = judged(synthetic.passing(), header=synthetic.header(300, devices=[device]))
    assert "weak memory" in " ".join(render(told).split())
    assert "weak memory" not in render(judged(synthetic.passing()))


@pytest.mark.parametrize("render", [render_html, render_markdown, render_terminal, render_junit])
def test_each_report_lists_what_the_backend_relies_on_unverified(
    render: Callable[[Judged], str],
) -> None:
    head = synthetic.header(300)
    head["backend"] = {**head["backend"], "unverified": ["Copies take any <b>alignment</b>."] * 40}
    told = render(judged(synthetic.passing(), header=head))
    words = "alignment"
    assert told.count(words) == 32  # of a backend that does not end
    assert "any <b>" not in told or render is render_terminal
    assert words not in render(judged(synthetic.passing()))


def test_what_a_signal_left_out_is_told() -> None:
    head, records = synthetic.header(2_002), synthetic.passing()
    found = View(judged(records, header=head, verdict="error", exit_code=7, problems=("ended",)))
    assert "after 300 of 2,002 tests" in found.lead
    assert "300 of 2,002 planned tests are recorded" in found.partial_words


def test_what_was_not_tested_is_grouped_by_reason() -> None:
    view = View(judged(synthetic.passing()))
    assert {reason.subject for reason in view.not_tested} == {"peer", "random"}
    assert [reason.words for reason in view.trivial] == ["one queue serves all streams"]
    assert sum(len(reason.tests) for reason in view.not_shown) == view.counts["not-shown"]


@pytest.mark.parametrize(
    ("path", "device", "code", "why", "advice"),
    [
        ("./libacme.so", None, 4, "The library is no backend.", "tbk_backend_create"),
        ("./libacme.so", "acme", 4, "The library is no backend.", "tbk_backend_create"),
        ("./libacme.so", "acme", 5, "No device can be used.", "the driver sees the device, and"),
        ("acme", "acme", 4, "What makes PyTorch know the device cannot be imported.", "Import the"),
        ("acme", "acme", 5, "No device can be used.", "look at --import"),
    ],
)
def test_only_a_device_without_a_library_is_told_of_modules(
    path: str, device: str | None, code: int, why: str, advice: str
) -> None:
    run = judged([], exit_code=code)
    run.header["backend"] = {"path": path}  # as the bridge writes it, and tbk check
    run.header["torch"] = {"device": device}
    view = View(run)
    assert (view.lead, advice in view.advice) == (why, True)
    assert ("import" in view.advice.lower()) == (path == device)
