# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What litmus programs find is a part of tbk run: verdicts, causes, waivers, baselines, reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fake_tbk_litmus
import pytest
from invoke import Tbk, starter
from tbk_harness import litmus_part
from tbk_harness.layers import had
from tbk_harness.litmus_part import ENDS, Subject, clause_of
from tbk_harness.litmus_runner import Hunted
from tbk_reports.changes import diff
from tbk_reports.finding import finding_of
from tbk_reports.lint import lint_reports
from tbk_reports.model import Test

LITMUS = str(Path(__file__).resolve().parent / "fake_tbk_litmus.py")
NAMES = [ENDS, "litmus/stream", "litmus/wait", "litmus/callback_after"]


@pytest.fixture
def run(tmp_path: Path) -> Tbk:
    """Returns tbk run, with a stand-in for tbk-litmus, too."""
    start = starter(tmp_path)
    return lambda *words, **more: start("run", *words, TBK_LITMUS=LITMUS, **more)


def judged(folder: Path) -> dict[str, Any]:
    assert lint_reports(folder / "tbk-report") == []
    found: dict[str, Any] = json.loads((folder / "tbk-report" / "judged.json").read_text())
    return found


def verdicts(folder: Path) -> dict[str, str]:
    every = judged(folder)["tests"]
    return {one["id"]: one["verdict"] for one in every if one["id"].startswith("litmus/")}


def test_nothing_found_is_a_pass_with_the_share_that_is_proven(run: Tbk, tmp_path: Path) -> None:
    ended = run("good.so")
    assert ended.returncode == 0, ended.stderr
    assert "2 of 2 kinds of order proven, by 100 programs and 30 controls" in ended.stdout
    assert verdicts(tmp_path) == dict.fromkeys(NAMES[:3], "pass") | {NAMES[3]: "unsupported"}
    page = (tmp_path / "tbk-report" / "index.html").read_text()
    assert 'data-edge="WAIT" data-state="proven"' in page
    assert starter(tmp_path)("verify", "tbk-report/results.jsonl").returncode == 0


def test_a_quick_run_is_one_process_and_a_thorough_one_is_several(run: Tbk, tmp_path: Path) -> None:
    def page(*words: str) -> str:
        run("good.so", *words)
        return (tmp_path / "tbk-report" / "index.html").read_text()

    assert "all ran in one process" in page()
    thorough = page("--tier", "thorough")
    assert "in 40 processes" in thorough
    assert "all ran in one process" not in thorough


def test_a_finding_is_a_cause_with_its_picture_and_its_program(run: Tbk, tmp_path: Path) -> None:
    ended = run("wrong.so")
    assert ended.returncode == 1
    assert "1. a read saw what no order of the work allows (STR-001 or EVT-018)" in ended.stdout
    assert "tbk litmus" in ended.stdout
    failing = [name for name, verdict in verdicts(tmp_path).items() if verdict == "fail"]
    assert failing == ["litmus/stream", "litmus/wait"]
    folder = tmp_path / "tbk-report"
    page = (folder / "index.html").read_text()
    assert page.count('<svg class="lanes"') == 1
    assert "int main(void) { return 1; }" in page
    assert "litmus" in (folder / "junit.xml").read_text()
    assert "### Order" in (folder / "summary.md").read_text()


def test_a_finding_whose_file_could_not_be_written_is_one_and_shows_no_other_file(
    run: Tbk, tmp_path: Path
) -> None:
    parts = tmp_path / "tbk-report" / "parts"
    parts.mkdir(parents=True)
    (parts / "litmus.c").write_text("int somebody_elses;\n")
    ended = run("unwritten.so")
    assert ended.returncode == 1, ended.stderr
    said = "its file is not there: litmus.c: could not be written"
    assert said in " ".join(ended.stdout.split())
    found = judged(tmp_path)
    assert (found["verdict"], sorted(set(verdicts(tmp_path).values()))) == (
        "fail", ["fail", "pass", "unsupported"],
    )  # fmt: skip
    footer = json.loads((parts / "litmus.jsonl").read_text().splitlines()[-1])
    assert (footer["counts"]["fail"], footer["exit_code"]) == (2, 1)
    assert said in footer["reason"]
    for page in (parts / "litmus.jsonl", tmp_path / "tbk-report" / "index.html"):
        assert "somebody_elses" not in page.read_text()
    assert said in (tmp_path / "tbk-report" / "index.html").read_text()
    assert starter(tmp_path)("verify", "tbk-report/results.jsonl").returncode == 0


def test_a_finding_that_is_in_no_file_is_told_by_the_command(run: Tbk, tmp_path: Path) -> None:
    (tmp_path / "nowhere.so").touch()
    told = "FOUND: a fault that is in no file"
    alone = starter(tmp_path)("litmus", "nowhere.so", TBK_LITMUS=LITMUS)
    assert (alone.returncode, alone.stdout.count(told)) == (8, 1)
    assert told in run("nowhere.so").stdout
    assert told not in run("nowhere.so", "--quiet").stdout


@pytest.mark.parametrize(
    ("library", "layer", "told", "again"),
    [
        ("wrong.so", "torch", "(not tried)", "--first=7 --programs=1 "),
        ("company.so", "torch", "(not shown by 3 runs of it: it needs what ran before)",
         "--first=2 --programs=6 "),
        ("company.so", "c", "it showed 20 of 20 times", "--first=7 --programs=1 "),
        ("never.so", "c", "it showed 0 of 20 times", "--first=2 --programs=6 "),
    ],
)  # fmt: skip
def test_a_file_is_said_to_show_what_it_showed(
    library: str, layer: str, told: str, again: str, tmp_path: Path
) -> None:
    (tmp_path / library).touch()
    words = ("litmus", library, f"--layer={layer}", "--first=2", "--backend-option=a=b")
    ended = starter(tmp_path)(*words, TBK_LITMUS=LITMUS)
    assert ended.returncode == 1, ended.stderr
    said = " ".join(ended.stdout.split())
    assert told in said
    assert again in said


def test_a_process_that_dies_fails_the_clause_of_its_last_call(run: Tbk, tmp_path: Path) -> None:
    assert run("dead.so").returncode == 1
    (dead,) = [one for one in judged(tmp_path)["tests"] if one["verdict"] == "crash"]
    assert (dead["id"], dead["clause"], dead["cause"]) == (
        ENDS, "EVT-018", "order/crash/EVT-018",
    )  # fmt: skip


def test_without_streams_all_is_unsupported(run: Tbk, tmp_path: Path) -> None:
    assert run("plain.so").returncode == 0
    assert set(verdicts(tmp_path).values()) == {"unsupported"}


def test_what_could_not_be_run_is_no_pass(run: Tbk, tmp_path: Path) -> None:
    assert run("idle.so").returncode == 0
    assert set(verdicts(tmp_path).values()) == {"not-shown"}
    ended = run("odd.so")
    assert ended.returncode == 4
    assert "cannot be loaded twice" in ended.stdout
    assert set(verdicts(tmp_path).values()) == {"not-reached"}


def test_a_baseline_knows_a_finding_and_does_not_miss_it(run: Tbk, tmp_path: Path) -> None:
    run("wrong.so", "--write-baseline", "known.toml")
    assert 'cause = "order/wrong/STR-001+EVT-018"' in (tmp_path / "known.toml").read_text()
    assert run("wrong.so", "--baseline", "known.toml").returncode == 0
    # That programs drawn at random did not find it again does not say that it is mended.
    assert run("good.so", "--baseline", "known.toml").returncode == 0


def test_a_waiver_covers_a_finding_and_does_not_miss_it(run: Tbk, tmp_path: Path) -> None:
    row = '[[waiver]]\ntest = "litmus/{}"\nkind = "fail"\nreason = "r"\nowner = "o"\n'
    row += 'link = "https://acme.example/1"\nexpires = 2999-01-01\nversions = ["1.*"]\n'
    (tmp_path / "w.toml").write_text(row.format("stream") + row.format("wait"))
    assert run("wrong.so", "--waivers", "w.toml").returncode == 0
    assert set(verdicts(tmp_path).values()) == {"pass", "xfail", "unsupported"}
    assert run("good.so", "--waivers", "w.toml").returncode == 0


def test_a_selection_and_later_shards_have_none(run: Tbk, tmp_path: Path) -> None:
    run("good.so", "--only", "memory")
    assert not verdicts(tmp_path)
    run("good.so", "--shard", "2/2")
    assert not verdicts(tmp_path)
    run("good.so", "--shard", "1/2")
    assert verdicts(tmp_path)


def test_a_budget_leaves_them_out_in_words(run: Tbk, tmp_path: Path) -> None:
    ended = run("good.so", "--budget", "0.5s")
    assert "PARTIAL" in ended.stdout
    assert set(verdicts(tmp_path).values()) == {"left-out"}


def test_a_run_without_them_says_so(tmp_path: Path) -> None:
    ended = starter(tmp_path)("run", "good.so")
    assert "tbk-litmus was not found" in ended.stdout
    assert "no litmus programs were run" in ended.stdout


def test_resume_keeps_what_they_said(run: Tbk, tmp_path: Path) -> None:
    run("wrong.so")
    first = verdicts(tmp_path)
    assert run("wrong.so", "--resume", TBK_LITMUS_STOPS="1").returncode == 1
    assert verdicts(tmp_path) == first


def test_a_finding_is_run_again_and_nothing_else_is(run: Tbk, tmp_path: Path) -> None:
    run("wrong.so")
    start, file = starter(tmp_path), tmp_path / "tbk-report" / "results.jsonl"
    ended = start("replay", str(file), TBK_LITMUS=LITMUS)
    assert (ended.returncode, ended.stdout.count("fails again")) == (1, 1)
    assert "1 of 1 fail again" in ended.stdout
    file.write_text(file.read_text().replace("--programs=1", "--output=/etc/passwd"))
    assert start("replay", str(file), TBK_LITMUS=LITMUS).returncode == 2


KINDS = tuple(
    fake_tbk_litmus.kind(name, clause, needs=needs) for name, clause, needs in fake_tbk_litmus.KINDS
)


@pytest.mark.parametrize("code", range(9))
def test_every_end_has_the_same_tests(code: int) -> None:
    found = litmus_part.tests(KINDS, Hunted(code, "said", ()), Subject())
    assert [one["id"] for one in found] == NAMES
    if code not in (0, 1):
        assert not {"pass", "unsupported"} & {one["verdict"] for one in found}


@pytest.mark.parametrize(
    ("outcome", "call", "clause"),
    [("miscounted", 0, "CBK-002"), ("stuck", 1, "EVT-025"), ("stuck", 2, "STR-017"),
     ("hang", 3, "STR-019"), ("hang", -1, "STR-022"), ("wrong", 0, "MEM-006")],
)  # fmt: skip
def test_what_no_edge_explains_breaks_the_clause_of_its_call(
    outcome: str, call: int, clause: str
) -> None:
    calls = ["callback(sets mark 1 to 0x20, s0)", "event_query(e0) until OK",
             "stream_query(s0) until OK", "stream_synchronize(s0)"]  # fmt: skip
    record = {"outcome": outcome, "call": call, "program": calls, "clauses": []}
    assert clause_of(finding_of(record)) == clause


def test_what_programs_show_by_chance_is_no_regression() -> None:
    def made(verdict: str) -> list[Test]:
        return [Test("litmus/wait", verdict, clause="EVT-018")]

    assert diff(made("pass"), made("not-shown")).clean
    assert not diff(made("pass"), made("fail")).clean
    assert not diff(made("pass"), made("unsupported")).clean
    assert not had({"layer": "c"}, "litmus/wait", ("EVT-018",))
