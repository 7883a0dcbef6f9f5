# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import synthetic
from invoke import Tbk
from tbk_harness.judge import Known
from tbk_harness.outcome import verdict_on
from tbk_reports.model import read_results
from tbk_reports.view import View

WAIVER = """
[[waiver]]
clause = "MEM-001"
owner = "ada"
reason = "known"
link = "https://example.invalid/1"
versions = "*"
kind = "fail"
expires = 2999-12-31
"""


def test_a_run_ends_with_verdict_and_page(tbk: Tbk, tmp_path: Path) -> None:
    ended = tbk("run", "good.so")
    assert ended.returncode == 0, ended.stderr
    verdict, page = ended.stdout.rstrip().splitlines()[-2:]
    assert verdict.startswith("PASS (quick)  acme 1.4.2: 60 tests (")
    assert page == "tbk-report/index.html"
    assert (tmp_path / page).stat().st_size > 10_000
    assert sorted(path.name for path in (tmp_path / "tbk-report").iterdir()) == [
        "badge.json", "badge.svg", "index.html", "judged.json", "junit.xml", "results.jsonl",
        "summary.md", "terminal.txt",
    ]  # fmt: skip
    assert tbk("lint-reports").returncode == 0
    assert tbk("verify", "tbk-report/results.jsonl").returncode == 0


def test_a_backend_of_the_suite_goes_by_its_name(tbk: Tbk, tmp_path: Path) -> None:
    library = tmp_path / "build" / "lib" / "libtbk_good.so"
    library.parent.mkdir(parents=True)
    library.touch()
    named = tbk("run", "good", TBK_BUILD=str(tmp_path / "build"))
    assert named.returncode == 0, named.stderr
    (tmp_path / "good").touch()  # not what is meant by it any more, and not a library either
    assert tbk("run", "good", TBK_BUILD=str(tmp_path / "build")).returncode != 0


def test_findings_are_exit_code_one(tbk: Tbk) -> None:
    ended = tbk("run", "bad.so", "--report-dir", "r")
    assert ended.returncode == 1
    assert "FAIL (quick)  acme 1.4.2" in ended.stdout
    assert "event_wait returns before" in ended.stdout


def test_usage_errors_come_through(tbk: Tbk) -> None:
    ended = tbk("run", "usage.so", "--jobs", "x")
    assert ended.returncode == 2
    assert ended.stderr == "tbk: tbk-run: --jobs: 'x' is not a number\n"
    assert (
        tbk("run").returncode
        == tbk("frobnicate").returncode
        == tbk("run", "a", "--nope").returncode
        == 2
    )


def test_what_tbk_run_says_before_it_can_write(tbk: Tbk) -> None:
    ended = tbk("run", "silent.so")
    assert ended.returncode == 8
    assert "the disk is full" in ended.stdout
    assert "\x1b" not in ended.stdout


def test_a_mistyped_word_is_bad_usage_and_keeps_the_last_results(tbk: Tbk, tmp_path: Path) -> None:
    assert tbk("run", "good.so").returncode == 0
    ended = tbk("run", "good.so", "--only", "memroy")
    assert ended.returncode == 2
    assert "'memroy' is no clause, area, profile or test; did you mean memory?" in ended.stderr
    assert '"pass"' in (tmp_path / "tbk-report" / "judged.json").read_text()


def test_an_interrupted_run_has_a_report(tbk: Tbk) -> None:
    ended = tbk("run", "slow.so")
    assert ended.returncode == 7, ended.stderr
    assert "interrupted" in ended.stdout
    assert ended.stdout.rstrip().endswith("tbk-report/index.html")


def test_a_missing_runner_is_told(tbk: Tbk) -> None:
    ended = tbk("run", "good.so", runner="/nowhere/tbk-run")
    assert ended.returncode == 6
    assert "tbk-run was not found" in ended.stderr


def test_a_runner_that_crashes_is_never_a_pass(tbk: Tbk, tmp_path: Path) -> None:
    runner = tmp_path / "tbk-run"
    runner.write_text("#!/bin/sh\nkill -SEGV $$\n")
    runner.chmod(0o755)
    assert tbk("run", "good.so", runner=str(runner)).returncode == 6


def test_a_runner_whose_exit_code_contradicts_its_file_is_never_a_pass(
    tbk: Tbk, tmp_path: Path
) -> None:
    runner = tmp_path / "tbk-run"
    sound = synthetic.write(tmp_path / "sound.jsonl", synthetic.passing(5))
    script = 'while [ "$1" != --output ]; do [ "$1" = --list ] && exit; shift; done\n'
    runner.write_text(f'#!/bin/sh\n{script}cp {sound} "$2"\nexit 1\n')
    runner.chmod(0o755)
    ended = tbk("run", "good.so", runner=str(runner))
    assert ended.returncode == 6
    assert "ended with status 1" in ended.stdout


def test_a_read_only_folder_is_one_clear_line(tbk: Tbk, tmp_path: Path) -> None:
    # Root may write into any folder, but for those of the kernel.
    read_only = tmp_path / "r" if os.geteuid() else Path("/sys/kernel")
    if os.geteuid():
        read_only.mkdir(mode=0o555)
    ended = tbk("run", "good.so", "--report-dir", str(read_only / "report"))
    assert ended.returncode == 8
    assert ended.stderr.count("\n") == 1


def test_a_report_folder_that_is_a_file(tbk: Tbk, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    assert tbk("run", "good.so", "--report-dir", "r").returncode == 2
    assert tbk("run", "good.so", "--report-dir", "r/below").returncode == 8


def test_waivers_decide_the_exit_code(tbk: Tbk, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WAIVER)
    ended = tbk("run", "good.so", "--waivers", "w.toml")
    assert ended.returncode == 1
    assert "unexpected pass" in ended.stdout
    (tmp_path / "w.toml").write_text(WAIVER.replace("owner", "onwer"))
    ended = tbk("run", "good.so", "--waivers", "w.toml")
    assert ended.returncode == 2
    assert "unknown key 'onwer'" in ended.stderr
    assert tbk("run", "good.so", "--waivers", "none.toml").returncode == 2


def test_a_report_is_made_from_the_file_alone(tbk: Tbk, tmp_path: Path) -> None:
    tbk("run", "bad.so")
    first = json.loads((tmp_path / "tbk-report" / "judged.json").read_text())
    ended = tbk("report", "tbk-report/results.jsonl", "--report-dir", "again")
    assert ended.returncode == 1
    assert json.loads((tmp_path / "again" / "judged.json").read_text()) == first
    assert tbk("report", "none.jsonl").returncode == 2


def test_a_page_is_shown_where_there_is_a_browser(tbk: Tbk, tmp_path: Path) -> None:
    place, asked = tmp_path / "bin", tmp_path / "asked"
    place.mkdir()
    (place / "xdg-open").write_text(
        f'#!/bin/sh\necho "$1" > {asked}.part\nmv {asked}.part {asked}\n'
    )
    (place / "xdg-open").chmod(0o755)
    opened = tbk("run", "good.so", "--open", PATH=f"{place}:{os.environ['PATH']}")
    assert opened.returncode == 0, opened.stderr
    until = time.monotonic() + 60
    while not asked.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert asked.read_text().strip() == str(tmp_path / "tbk-report" / "index.html")
    nobody = tbk("report", "tbk-report/results.jsonl", "--open", PATH="", BROWSER="", DISPLAY="")
    assert nobody.returncode == 0
    assert "--open: no browser could be started for tbk-report/index.html" in nobody.stderr


def test_diff_fails_on_regressions(tbk: Tbk, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.jsonl", synthetic.passing())
    synthetic.write(tmp_path / "b.jsonl", synthetic.failing())
    worse, better, same = (
        tbk("diff", "a.jsonl", "b.jsonl"), tbk("diff", "b.jsonl", "a.jsonl"),
        tbk("diff", "a.jsonl", "a.jsonl"),
    )  # fmt: skip
    assert worse.returncode == 1
    assert worse.stdout.count("\nnew: ") + worse.stdout.startswith("new: ") == 4
    assert worse.stdout.splitlines()[-1].startswith("worse: 4 causes new")
    assert better.stdout.count("mended: ") == 4
    assert same.returncode == 0
    assert "300 the same" in same.stdout


def test_diff_writes_a_page_and_a_summary_that_agree(tbk: Tbk, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.jsonl", synthetic.passing())
    synthetic.write(tmp_path / "b.jsonl", synthetic.failing())
    assert tbk("diff", "a.jsonl", "b.jsonl", "--report-dir", "d").returncode == 1
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["diff.html", "diff.md"]
    (tmp_path / "file").write_text("")
    ended = tbk("diff", "a.jsonl", "b.jsonl", "--report-dir", "file/d")
    assert ended.returncode == 8
    assert ended.stderr.count("\n") == 1


def test_diff_does_not_trust_a_torn_file(tbk: Tbk, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.jsonl", synthetic.passing())
    synthetic.write(tmp_path / "b.jsonl", synthetic.passing(), end=False)
    assert tbk("diff", "a.jsonl", "b.jsonl").returncode == 1


def test_a_library_that_is_refused_is_a_result_with_a_page(tbk: Tbk, tmp_path: Path) -> None:
    """docs/command-line.md, Mistakes: a path at which there is nothing touches nothing."""
    folder = tmp_path / "tbk-report"
    tbk("run", "good.so")
    before = (folder / "results.jsonl").read_bytes()
    ended = tbk("run", "missing")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (4, "", 1)
    assert (folder / "results.jsonl").read_bytes() == before
    ended = tbk("run", "text.so")
    assert (ended.returncode, ended.stderr) == (4, "")
    assert "ERROR" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "tbk-report/index.html"
    assert (folder / "results.previous.jsonl").read_bytes() == before
    assert b'"record":"test"' not in (folder / "results.jsonl").read_bytes().replace(b" ", b"")
    ended = tbk("run", "text.so", "--quiet")
    assert (ended.returncode, ended.stderr.count("\n")) == (4, 1)


def test_replay_runs_the_failures_again(tbk: Tbk, tmp_path: Path) -> None:
    bad = [synthetic.case(4, "fail", replay="tbk-run bad.so --only memory/holds_for_one_byte_4")]
    synthetic.write(tmp_path / "r.jsonl", bad)
    ended = tbk("replay", "r.jsonl")
    assert ended.returncode == 1, ended.stderr
    assert "fail again" in ended.stdout
    assert "1 of 1 fail again" in ended.stdout
    good = [synthetic.case(4, "fail", replay="tbk-run good.so --only memory/holds_for_one_byte_4")]
    synthetic.write(tmp_path / "r.jsonl", good)
    ended = tbk("replay", "r.jsonl", "memory/holds_for_one_byte_4")
    assert ended.returncode == 0
    assert "pass this time" in ended.stdout


def test_replay_runs_one_failure_of_each_cause(tbk: Tbk, tmp_path: Path) -> None:
    """What is run is what the page has first of a cause; the others are counted."""
    causes = {2: "fail/a", 3: "fail/a", 4: "fail/a", 30: "fail/b"}
    records = [
        synthetic.case(at, "fail", cause=cause, replay=f"tbk-run bad.so --only {name}")
        for at, cause in causes.items()
        for name in [synthetic.case(at)["id"]]
    ]
    judged = verdict_on(read_results(synthetic.write(tmp_path / "r.jsonl", records)), Known())
    firsts = [cause.first.replay for cause in View(judged).causes]
    ended = tbk("replay", "r.jsonl")
    ran = [line for line in ended.stdout.splitlines() if "--only" in line]
    assert 1 < len(ran) < len(causes)
    assert [line.rpartition(" ")[2] for line in ran] == [one.rpartition(" ")[2] for one in firsts]
    left = f"{len(causes) - len(ran)} more of the same causes left out: --all runs them, too"
    assert ended.stdout.splitlines()[-1].endswith(left)
    ended = tbk("replay", "r.jsonl", "--all")
    assert ended.stdout.count("--only") == len(causes)
    assert "left out" not in ended.stdout


def test_a_test_without_its_parameters_is_named_with_any(tbk: Tbk, tmp_path: Path) -> None:
    verdicts = ("pass", "fail", "fail")
    records = [synthetic.torch_case(at, verdict) for at, verdict in enumerate(verdicts)]
    synthetic.write(tmp_path / "r.jsonl", [*records, synthetic.torch_case(8, "fail")])
    plain = "torch_operators/op_000"
    ended = tbk("replay", "r.jsonl", plain)
    assert ended.stdout.count("--only") == verdicts.count("fail")
    assert tbk("replay", "r.jsonl", f"{plain}[float32]").stdout.count("--only") == 1
    assert tbk("replay", "r.jsonl", "torch_operators/op").returncode == 2


@pytest.mark.parametrize("command", ["rm -rf /", "sh -c tbk-run", "tbk-run x --output=y", "", "'"])
def test_replay_starts_nothing_but_tbk_run(tbk: Tbk, tmp_path: Path, command: str) -> None:
    records = [synthetic.case(4, "fail", replay=command), synthetic.case(5)]
    synthetic.write(tmp_path / "r.jsonl", records)
    assert tbk("replay", "r.jsonl").returncode == 2
    assert tbk("replay", "r.jsonl", "no/such").returncode == 2


def test_list_and_show(tbk: Tbk, tmp_path: Path) -> None:
    clauses = tbk("list")
    assert clauses.returncode == 0
    assert len(clauses.stdout.splitlines()) >= 130
    assert tbk("list", "--only", "MEM-001").stdout.startswith("MEM-001")
    assert tbk("list", "--only", "nothing").returncode == 3
    named = tbk(
        "list", "--only=memory/a_handle_is_never_0", "--only=torch_copy/dtypes_are_converted[x]"
    )
    assert [line.split()[0] for line in named.stdout.splitlines()] == ["MEM-002", "CPY-508"]
    assert "did you mean torch_copy" in tbk("list", "--only", "torch_copy/dtypes_are").stderr
    assert len(tbk("list", "good.so").stdout.splitlines()) == 60
    shown = tbk("show", "MEM-002")
    assert shown.returncode == 0
    for part in ("*out_memory is not 0", "must", "tbk/core.h:", "memory_alloc", "source"):
        assert part in shown.stdout
    assert tbk("show", "XXX-001").returncode == 2
    assert "tbk list --only MEM" in tbk("show", "MEM").stdout
    assert "did you mean MEM-005" in tbk("show", "mem-00x5").stderr
    synthetic.write(tmp_path / "r.jsonl", synthetic.failing())
    assert "result" in tbk("show", "MEM-002", "--results", "r.jsonl").stdout


def test_show_has_the_results_of_what_is_named_alone(tbk: Tbk, tmp_path: Path) -> None:
    name = "torch_copy/dtypes_are_converted"
    records = [synthetic.torch_case(at, id=f"{name}[{at}]") for at in range(3)]
    synthetic.write(tmp_path / "r.jsonl", records)
    for word, count in ((name, 3), (f"{name}[1]", 1)):
        shown = tbk("show", word, "--results", "r.jsonl")
        assert shown.stdout.count(f"{name}[") - shown.stdout.count(f"--only '{name}[") == count


@pytest.mark.parametrize("word", ["list", "--help", "--version"])
def test_a_closed_pipe_is_no_traceback(word: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "tbk_harness", word], stdout=writer, stderr=subprocess.PIPE,
        text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (8, "")  # 1 would say that there are findings


def test_no_code_from_2_on_comes_without_a_word(tbk: Tbk) -> None:
    ended = tbk("run", "slow.so", "--quiet")
    assert (ended.returncode, ended.stderr) == (7, "tbk: interrupted by SIGINT\n"), ended.stdout


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_who_has_no_standard_output_gets_the_exit_code_all_the_same(
    tmp_path: Path, closed: str
) -> None:
    for words, code in (("list --only MEM-002", 0), ("show XXX-001", 2)):
        command = f"{sys.executable} -m tbk_harness {words} {closed}"
        ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False)
        assert ended.returncode == code


@pytest.mark.parametrize("command", [["diff", "a.txt"], ["replay"], ["report"], ["verify"]])
def test_a_file_of_another_kind_is_refused(tbk: Tbk, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    ended = tbk(*command, "a.txt")
    assert ended.returncode == 2
    assert "a.txt is no result file: line 1 is not JSON" in ended.stderr
