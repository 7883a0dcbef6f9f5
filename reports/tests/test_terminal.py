# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import io
import re

import synthetic
from judged import hostile, judged
from rich.console import Console
from tbk_reports.model import Judged
from tbk_reports.terminal import print_report

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def _printed(run: Judged, terminal: bool) -> str:
    out = io.StringIO()
    print_report(run, Console(file=out, force_terminal=terminal, width=100, markup=False))
    return out.getvalue()


def test_a_backend_cannot_drive_the_terminal() -> None:
    printed = STYLE.sub("", _printed(hostile(), terminal=True))
    assert not [char for char in printed if ord(char) < 32 and char != "\n"]
    assert "\x1b" not in printed
    assert "[bold]rich[/bold]" in printed


def test_a_recommendation_that_is_not_met_is_told() -> None:
    printed = _printed(judged([synthetic.case(1), synthetic.case(2, "warning")]), terminal=False)
    assert "recommended: " in printed
    assert "PASS (quick)  acme 1.4.2: 2 tests (1 pass, 1 warning)" in printed


def test_the_last_line_is_the_verdict() -> None:
    last = _printed(judged(synthetic.failing()), terminal=False).rstrip().splitlines()[-1]
    assert last.startswith("FAIL (quick)  acme 1.4.2: 300 tests (")
    assert "15 fail" in last
    assert (
        _printed(judged(synthetic.passing()), terminal=False)
        .rstrip()
        .splitlines()[-1]
        .startswith("PASS (quick)  ")
    )


def test_a_bare_condition_is_told_with_its_expression() -> None:
    bare = synthetic.case(
        0, "fail", cause="fail/a.c/x == y/", what="x == y", where="a.c:7", expected="true",
        seen="false",
    )  # fmt: skip
    assert "x == y (a.c:7)" in _printed(judged([bare]), terminal=False)


def test_a_run_without_a_verdict_says_why() -> None:
    run = judged([], problems=("no such file: libacme.so",), exit_code=4)
    assert "ERROR" in _printed(run, terminal=False)
    assert "no such file" in _printed(run, terminal=False).splitlines()[-1]


def test_where_the_device_does_not_compute_there_is_no_wall_of_causes() -> None:
    run = judged([synthetic.case(at, "fail", cause=f"cause {at}") for at in range(8)])
    assert "  5. " in _printed(run, terminal=False)
    run.footer["health"] = "not sound before the first test: it adds wrongly"
    printed = _printed(run, terminal=False)
    assert printed.lstrip().startswith("the device does not compute: not sound before")
    assert "  1. " in printed
    assert "  2. " not in printed
    assert "and 7 more causes, which may follow from that" in printed


def test_a_crash_in_c_names_the_command_for_gdb() -> None:
    crash = synthetic.case(0, "crash")
    said = f"tbk replay --gdb RESULTS {crash['id']} "
    assert said in _printed(judged([crash]), terminal=False)
    assert "--gdb" not in _printed(judged([synthetic.case(0, "fail")]), terminal=False)
    spoilt = synthetic.case(0, "crash", id="a/b; rm -r x")
    assert "--gdb" not in _printed(judged([spoilt]), terminal=False)
