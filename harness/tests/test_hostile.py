# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Backends that crash, hang and worse: the right verdict, no orphan, other results intact."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from acts import FAST, IN_A_TEST, INERT, NO_START, SAID, SOME, STARTED, act, rounds
from answers import at_fault
from runs import HOSTILE, LIB, TEMPLATE, hostile, processes_with, run


def leaves_nothing(output: Path) -> bool:
    return not processes_with(str(output))


@pytest.mark.parametrize("name", NO_START)
def test_a_library_that_cannot_start_gets_one_line(output: Path, name: str) -> None:
    code, text = NO_START[name]
    done = act(output, name)
    assert done.code == code
    assert len(done.stderr.strip().splitlines()) == 1
    assert text in done.stderr
    assert "\x1b" not in done.stderr
    assert done.results().footer["exit_code"] == code
    assert leaves_nothing(output)


def test_a_line_that_it_prints_before_it_dies_is_the_reason(output: Path) -> None:
    """Of a death in the preflight nothing else is told: no test has run that shows it."""
    reason = act(output, "rule_in_open").results().footer["reason"]
    assert reason.endswith(SAID)
    probed = act(output, "rule_in_call", "--only", "LIB-001").results().footer["health"]
    assert probed.endswith(SAID)


def test_a_name_that_hostile_does_not_know_is_refused(output: Path) -> None:
    done = act(output, "crash_in_cal")
    assert done.code == 4
    assert "hostile= names nothing" in done.stderr


@pytest.mark.parametrize(
    ("name", "isolation"),
    [("hang_in_call", "fork"), ("hang_in_call", "batch"), ("hang_at_exit", "fork")],
)
def test_a_device_on_which_everything_hangs_costs_no_hours(
    output: Path, name: str, isolation: str
) -> None:
    """Some hangs get the whole deadline; what is cut short later is not called a hang."""
    cut = ("--timeout", "1.5", "--most-hangs", "2", "--jobs", "2", "--isolation", isolation)
    wide = ("--only", "memory", "--only", "library")
    done = run(HOSTILE, output, *cut, *wide, *hostile(name))
    results = done.results()
    assert done.code == 1
    assert len(results.tests) == results.footer["planned"]
    hung = [r for r in results.tests if r["verdict"] == "hang"]
    assert hung
    assert len(hung) <= 2 + 2  # those that were running when the second one hung
    assert all(r["wall_ns"] >= 1.5e9 for r in hung)
    short = [r for r in results.tests if r["cause"] == "not-reached/after-hangs"]
    assert short
    assert all(r["verdict"] == "not-reached" for r in short)
    assert all("hung or nearly did" in r["seen"] for r in short)
    assert results.counts()["pass"] > 0
    assert leaves_nothing(output)


@pytest.mark.parametrize("how", ["crash", "hang", "exit_0"])
def test_a_constructor_goes_wrong_without_any_option(output: Path, how: str) -> None:
    done = run(LIB / "hostile" / f"libtbk_hostile_constructor_{how}.so", output, *FAST)
    assert done.code == 4
    assert "loading it" in done.stderr


@pytest.mark.parametrize("isolation", ["fork", "batch"])
@pytest.mark.parametrize("name", IN_A_TEST)
def test_one_test_is_hit_and_no_other(
    output: Path, tmp_path: Path, name: str, isolation: str
) -> None:
    """The act happens in one process of the run, at its 4th upload or its end."""
    verdict, cause = IN_A_TEST[name]
    at_the_end = cause.startswith(("close", "exit"))
    marker = tmp_path / "marker"
    if at_the_end:  # the preflight's process would be the first
        hit_all = act(output, name, *SOME, "--isolation", "fork").results()
        # On a busy machine one may hang before its test begins, which tells nothing of where.
        hit = [r for r in hit_all.tests if r["verdict"] == verdict and "/none" not in r["cause"]]
        assert hit
        seen = {r["verdict"] for r in hit_all.tests}
        # Where everything hangs, the deadlines of the rest are cut short.
        assert seen <= {verdict, "pass", "unsupported", "not-reached"}
    else:
        options = (f"at={4}", f"once={marker}")
        done = act(output, name, *SOME, "--isolation", isolation, options=options)
        assert marker.exists()
        assert done.code == 1
        results = done.results()
        hit = [r for r in results.tests if r["verdict"] not in {"pass", "unsupported"}]
        assert len(hit) == 1
        assert len(results.tests) == results.footer["planned"]
    # The same test passes when it runs again alone: the verdict stays a finding.
    expected = {verdict} if isolation == "fork" or at_the_end else {"polluted", "unstable", verdict}
    assert hit[0]["verdict"] in expected
    assert hit[0]["cause"].startswith(f"{verdict}/")
    # A row that opens the device itself has it closed while it cleans up.
    assert cause in hit[0]["cause"].replace("/clean", "/close")
    assert hit[0]["blame"] == "backend"
    assert leaves_nothing(output)


@pytest.mark.parametrize("name", INERT)
def test_what_changes_its_process_alone_changes_no_verdict(output: Path, name: str) -> None:
    assert rounds()[name](output) == []


@pytest.mark.parametrize("name", ["markup", "long_names"])
def test_what_it_calls_itself_is_cut_and_inert(output: Path, name: str) -> None:
    done = act(output, name, "--only", "library", "--only", "MEM-002")
    results = done.results()
    assert done.code == 1
    assert len(results.header["backend"]["name"]) <= 256
    assert len(results.header["backend"]["version"]) <= 256
    assert not any(ord(c) < 32 and c != "\n" for c in done.stdout + done.stderr)
    assert len(results.tests) == results.footer["planned"]


@pytest.mark.parametrize("name", STARTED)
def test_what_is_started_too_early_is_one_finding(output: Path, name: str) -> None:
    assert rounds()[name](output) == []


def test_what_it_leaves_behind_is_killed(output: Path) -> None:
    done = act(output, "daemonise", *SOME)
    noted = [r for r in done.results().tests if "left 1 process behind" in (r["notes"] or "")]
    assert done.code == 0
    assert noted
    assert leaves_nothing(output)


def test_megabytes_of_output_are_cut_and_inert(output: Path) -> None:
    done = act(output, "print_megabytes", *SOME)
    assert done.code == 0
    loud = [r for r in done.results().tests if r["output_bytes"] > 0]
    assert loud
    for record in loud:
        assert record["output_bytes"] >= 16 << 20
        assert len(record["output"].encode()) <= 3 * (4096 + 64)
        assert "bytes cut)" in record["output"]
    assert output.stat().st_size < 4 << 20


def test_the_other_verdicts_are_those_of_the_template(output: Path, tmp_path: Path) -> None:
    plain = run(TEMPLATE, tmp_path / "plain.jsonl", *SOME).results().verdicts
    spoilt = act(output, "crash_in_call", *SOME, options=("at=4",)).results().verdicts
    differing = {name for name in plain if plain[name] != spoilt[name]}
    assert differing
    assert {spoilt[name] for name in differing} == {"crash"}


def test_what_the_backend_says_is_valid_utf8(output: Path) -> None:
    act(output, "print_megabytes", "--only", "MEM-006")
    for line in output.read_bytes().splitlines():
        json.loads(line.decode("utf-8", errors="strict"))


@pytest.mark.parametrize("name", ["kill_parent", "crash_in_call", "daemonise", "scribble"])
def test_under_load_the_verdict_is_the_same(output: Path, name: str) -> None:
    rounds = int(os.environ.get("TBK_HOSTILE_ROUNDS", "3"))
    seen = {
        tuple(sorted(act(output, name, *SOME).results().verdicts.items())) for _ in range(rounds)
    }
    assert len(seen) == 1


# ------------------------------------------------------------ a device that computes no more

POISON = LIB / "hostile" / "libtbk_poison.so"
DOMINOES = ("--only", "memory", "--only", "copy", "--jobs", "1")


def test_who_poisons_a_process_is_named_and_who_follows_is_not_blamed(output: Path) -> None:
    """A failed allocation leaves the process unable to copy; alone, most tests pass."""
    results = run(POISON, output, *DOMINOES, "--isolation", "batch").results()
    culprits = [r for r in results.tests if r["cause"] == "fail/poisons-the-device"]
    assert culprits
    assert all(r["verdict"] == "fail" for r in culprits)
    assert all(r["blame"] == "backend" for r in culprits)
    assert {"poisoned", "polluted"} & set(results.counts())
    assert "unstable" not in results.counts()
    for record in results.tests:
        if record["verdict"] == "polluted":
            assert "passes alone" in record["notes"]
        if record["verdict"] == "poisoned":
            assert "left the device unable to compute" in record["seen"]


def test_a_polluted_test_says_how_to_see_it_again(output: Path) -> None:
    results = run(POISON, output, *DOMINOES, "--isolation", "batch").results()
    named = [r for r in results.tests if "fails after " in (r["notes"] or "")]
    assert named
    replay = named[0]["replay"].split()
    again = run(POISON, output.with_name("again.jsonl"), *replay[2:], "--jobs", "1").results()
    assert again.verdicts[named[0]["id"]] == "polluted"


def test_a_lost_device_ends_the_run(output: Path, tmp_path: Path) -> None:
    env = {"POISON_ACROSS_PROCESSES": str(tmp_path / "marker")}
    done = run(POISON, output, *DOMINOES, env=env)
    results = done.results()
    assert done.code == 1
    assert results.footer["health"].startswith("lost since ")
    assert results.counts()["not-reached"] > results.counts().get("fail", 0)
    assert len(results.tests) == results.footer["planned"]


def test_in_one_process_an_early_exit_is_no_success() -> None:
    """tbk-cunit has no supervisor; what it can notice by itself, it does."""
    tool = LIB.parent / "bin" / "tbk-cunit"
    acts = ["--option", "hostile=exit_0_in_call", "--option", "at=4"]
    done = subprocess.run(
        [tool, HOSTILE, *acts, "--only", "memory"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Run Summary" not in done.stdout
    assert "ended before its last test" in done.stderr


def test_what_was_not_reached_is_run_when_resumed(output: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    run(POISON, output, *DOMINOES, env={"POISON_ACROSS_PROCESSES": str(marker)})
    marker.unlink()
    done = run(POISON, output, *DOMINOES, "--resume")
    results = done.results()
    assert done.code == 1
    assert results.footer["health"].startswith("lost since ")  # that it was lost stays a finding
    assert "not-reached" not in results.counts()
    assert len(results.verdicts) == len(results.tests) == results.footer["planned"]


# ------------------------------------------------------------ answers that no test is prepared for


@pytest.mark.parametrize(
    ("call", "answer"), [("kernel_find", 16), ("device_properties", 0), ("prepare", 16)]
)
def test_no_answer_of_a_library_is_an_error_of_the_suite(
    output: Path, call: str, answer: int
) -> None:
    """`answers.py` tries each function and status; ci/nightly runs it."""
    assert at_fault(output, call, answer, 0, "--only", "kernel_values", "--only", "KRN-021") == []


def test_who_takes_a_test_s_descriptors_is_named(output: Path) -> None:
    done = act(output, "no_descriptors", "--only", "FRK-004", "--isolation", "fork")
    taken = [r for r in done.results().tests if "RLIMIT_NOFILE is 3" in (r["seen"] or "")]
    assert done.code == 1
    assert taken
    assert {(r["verdict"], r["blame"]) for r in taken} == {("fail", "backend")}
