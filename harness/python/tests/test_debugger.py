# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk replay --gdb, with a stand-in for gdb that prints what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from forked import Ended
from invoke import Tbk
from tbk_harness import debugger
from tbk_reports.model import read_record

REPLAY = (
    "tbk-run ./my.so --only a/b --seed 7 --backend-option x=1 --isolation fork --case 'n=1 m=2'"
)


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def _replay(tbk: Tbk, folder: Path, *names: str, gdb: bool = True, **changes: str) -> Ended:
    records = [
        synthetic.case(index, "crash", **{"replay": REPLAY, **changes}) for index in range(2)
    ]
    synthetic.write(folder / "r.jsonl", records, synthetic.header(2))
    (folder / "bin").mkdir()
    if gdb:
        _script(folder / "bin" / "gdb", 'printf "%s\\n" "$@"; exit 3')
    program = _script(folder / "tbk-cunit", "exit 1")
    chosen = names or (str(records[0]["id"]),)
    return tbk("replay", "--gdb", "r.jsonl", *chosen, PATH=f"{folder}/bin", TBK_CUNIT=program)


def test_gdb_runs_the_recorded_test_in_one_process(tbk: Tbk, tmp_path: Path) -> None:
    ended = _replay(tbk, tmp_path)
    given = ended.stdout.splitlines()[1:]
    assert ended.returncode == 3, ended.stderr
    assert "-batch" in given
    assert given[given.index("--args") + 2 :] == [
        "./my.so", f"--only={synthetic.case(0)['id']}", "--option=x=1", "--seed=7",
        "--case=n=1 m=2",
    ]  # fmt: skip


def test_without_gdb_one_line_says_so(tbk: Tbk, tmp_path: Path) -> None:
    ended = _replay(tbk, tmp_path, gdb=False)
    assert (ended.returncode, ended.stderr) == (2, "tbk: gdb is not installed, or not on PATH\n")


def test_gdb_runs_one_test(tbk: Tbk, tmp_path: Path) -> None:
    ended = _replay(tbk, tmp_path, *(str(synthetic.case(index)["id"]) for index in range(2)))
    assert ended.returncode == 2
    assert "--gdb runs one test" in ended.stderr


@pytest.mark.parametrize(
    ("replay", "why"),
    [
        ("tbk-run --torch-device acme --only a/b", "torch layer"),
        ("rm -r /", "no command of tbk-run"),
        ("tbk-run --only", "expected one argument"),
        ("tbk-run 'x", "no command of tbk-run"),
    ],
)
def test_what_is_no_test_in_c_is_refused(replay: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        debugger.arguments(read_record({"id": "a/b", "verdict": "crash", "replay": replay}))
