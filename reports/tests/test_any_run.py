# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What holds for the reports of any run: drawn runs, of every shape that a result file may have."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import synthetic
from judged import judged
from tbk_reports.lint import lint_reports
from tbk_reports.model import VERDICTS, Judged
from tbk_reports.render import write_reports

RUNS = 60
MEMBERS = (
    "cause", "expected", "seen", "what", "where", "notes", "evidence_reason", "needs_missing",
    "clause_text", "clause_source", "replay", "output", "blame", "phase", "evidence",
)  # fmt: skip
TEXTS = (
    "", " ", "\n", "x", "true", "False", "a | b", "`tick`", "[float32]", "[1-of-3]", "a]b[c", "<b>",
    "&amp;", "\x00", "\u2028", "\u202e", "\ud800", "\x1b[31m", "ä ö ü", "日本語", "🙂", "\r\n# x",
    "1. x", "  * x fail: y", "     test  x", "fail/a.c/b/c", "crash/body/SIGSEGV", "hang/open",
    "required/stream", "budget", "}}", "{{ 7 }}", "]]>", "nan", "x" * 5_000, "- " * 300, "/", "//",
)  # fmt: skip
# How many tests, of how many causes and clauses: none, one, and more than any report shows.
SIZES = (0, 1, 2, 7, 40, 180)


def _text(choice: random.Random) -> str:
    return "".join(choice.choice(TEXTS) for _ in range(choice.choice((1, 1, 1, 3))))


def _id(choice: random.Random, index: int) -> str:
    """Often with parameters, sometimes odd, never twice the same."""
    suite = choice.choice(("memory", "torch_copy", "a b", "ä", _text(choice)))
    tail = choice.choice(
        ("", "[float32]", "[op:add.Tensor-1]", f"[{_text(choice)}]", _text(choice))
    )
    return f"{suite}/holds_{index}{tail}" if choice.random() < 0.9 else f"{tail}{index}"


def _record(choice: random.Random, index: int, verdicts: list[str], kinds: int) -> synthetic.Record:
    make = synthetic.torch_case if choice.random() < 0.4 else synthetic.case
    made = make(index, choice.choice(verdicts))
    if choice.random() < 0.7:
        made["cause"] = f"fail/file.c/check {choice.randrange(kinds)}/"
    for name in MEMBERS:
        if choice.random() < 0.15:
            made[name] = choice.choice((None, _text(choice)))
    if choice.random() < 0.3:
        made["clause"] = choice.choice(("", "MEM-001", _text(choice), f"CPY-{index:03}"))
    if choice.random() < 0.8:
        made["id"] = _id(choice, index)
        made["suite"] = made["id"].partition("/")[0]
    return made


def drawn(seed: int) -> Judged:
    """Returns a judged run that is told by its seed alone."""
    choice = random.Random(seed)  # noqa: S311
    verdicts = choice.sample(VERDICTS, choice.choice((1, 2, 4, len(VERDICTS))))
    kinds = choice.choice((1, 3, 30, 300))
    records = [_record(choice, at, verdicts, kinds) for at in range(choice.choice(SIZES))]
    return judged(
        records,
        header={**synthetic.header(len(records)), "gate": _text(choice)},
        problems=tuple(_text(choice) or "-" for _ in range(choice.choice((0, 0, 1, 12)))) or (),
        notes=tuple(_text(choice) for _ in range(choice.choice((0, 1, 30)))),
    )


@pytest.mark.parametrize("seed", range(RUNS))
def test_the_reports_of_any_run_agree(seed: int, tmp_path: Path) -> None:
    run = drawn(seed)
    if run.problems and run.verdict == "pass":  # a judge makes a failure of a problem
        run = judged([], problems=run.problems, exit_code=6)
    write_reports(run, tmp_path)
    assert lint_reports(tmp_path) == []
