# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a command is given is looked at before anything of the last run is moved or written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from runs import TBK_RUN, TEMPLATE
from tbk_harness import progress
from tbk_harness.commands import tbk

KEPT = {
    "results.jsonl": '{"record":"test","id":"a/b","verdict":"pass"}\n',
    "results.previous.jsonl": '{"record":"test","id":"a/c","verdict":"pass"}\n',
    "index.html": "a page\n",
    "parts/torch.jsonl": "{}\n",
    "parts/farm/torch/plan.json": "{}\n",
}
RUNS = (("check", "cpu"), ("run", str(TEMPLATE), "--layer=c"), ("run", str(TEMPLATE)),
        ("run", str(TEMPLATE), "--layer=torch"))  # fmt: skip
BAD = (
    "--jobs=0", "--jobs=two", "--repeat=0", "--shuffle=x", "--seed=-1", "--memory-limit=much",
    "--most-hangs=0", "--isolation=jail", "--tier=fast", "--shard=3/2", "--timeout=soon",
    "--open-timeout=0", "--budget=never", "--fail-on=rain", "--profile=bring", "--only=memori",
    "--trace=nowhere", "--timings=nowhere", "--waivers=nowhere", "--baseline=nowhere",
    "--write-baseline=nowhere/known.toml", "--write-baseline=.", "--nonsense",
)  # fmt: skip
OTHERS = (
    ("check", "cpu", "--capabilities=nowhere"), ("check", "cpu", "--gate=nowhere"),
    ("check", "cpu", "--require=magic"), ("check", "nosuch"), ("check", "cpu", "--import=nosuch"),
    ("run", str(TEMPLATE), "--layer=c", "--require=magic"), ("run", "nowhere.so"),
    ("run", str(TEMPLATE), "--farm=nowhere"), ("run", str(TEMPLATE), "--resource=acme=1"),
    ("run", str(TEMPLATE), "--layer=c", "--farm=127.0.0.1:1"),
    ("run", str(TEMPLATE), "--layer=c", "--backend-option=novalue"),
    ("report", "nowhere.jsonl"), ("report", "tbk-report/results.jsonl", "--waivers=nowhere"),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An earlier run's folder, in the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TBK_RUN", str(TBK_RUN))
    for name, text in KEPT.items():
        path = tmp_path / "tbk-report" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def _invoke(*arguments: str) -> Result:
    try:
        return CliRunner().invoke(tbk, list(arguments))
    finally:
        progress.end()


@pytest.mark.parametrize(
    "arguments", [*OTHERS, *((*run, bad) for run in RUNS for bad in BAD)], ids=" ".join
)
def test_a_bad_word_costs_nothing(folder: Path, arguments: tuple[str, ...]) -> None:
    ended = _invoke(*arguments)
    assert ended.exit_code in (2, 4, 5, 7, 8), ended.output
    assert isinstance(ended.exception, SystemExit)
    there = folder / "tbk-report"
    assert {str(path.relative_to(there)): path.read_text() for path in there.rglob("*.*")} == KEPT


@pytest.mark.parametrize("option", ["--waivers", "--baseline"])
def test_what_a_shell_pipes_is_read_as_a_file_is(folder: Path, option: str) -> None:
    read, write = os.pipe()
    os.write(write, b"unknown = 1\n")
    os.close(write)
    ended = _invoke("report", "tbk-report/results.jsonl", f"{option}=/dev/fd/{read}")
    os.close(read)
    assert ended.exit_code == 2
    assert f"tbk: /dev/fd/{read}: unknown key 'unknown'" in ended.output
