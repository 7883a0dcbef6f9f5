# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The help: each example in it is understood, and a mistake gets one line."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from invoke import Tbk
from tbk_harness.command_line import GAP, Command
from tbk_harness.commands import EXAMPLES, GROUPS, MODULES, tbk

NAMES = [name for names in MODULES.values() for name in names]


def _command(name: str) -> click.Command:
    found = tbk.get_command(click.Context(tbk), name)
    assert found is not None
    return found


def _examples() -> list[str]:
    told = [getattr(_command(name), "examples", "") for name in NAMES]
    lines = [line for text in (EXAMPLES, *told) for line in text.splitlines()]
    commands = [line.partition(GAP)[0].strip() for line in lines]
    return [line for line in commands if line.startswith("tbk ")]


def test_each_command_that_is_shown_stands_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(NAMES) - set(grouped) == {"lint-reports"}  # for the suite's own tests


@pytest.mark.parametrize("example", _examples())
def test_examples_are_understood(
    example: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.jsonl").touch()
    (tmp_path / "trace.json").write_text('{"tbk_trace": 1, "operators": []}', "utf-8")
    monkeypatch.setenv("CI_NODE_INDEX", "1")
    monkeypatch.setenv("CI_NODE_TOTAL", "4")
    words = shlex.split(example)[1:]
    command = _command(words[0])
    command.make_context(words[0], words[1:])  # raises where it is not


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ["run", "check", "report", "show"])
def test_help_has_groups_and_examples_and_fits(name: str, width: int) -> None:
    command = _command(name)
    assert isinstance(command, Command)
    context = click.Context(command, info_name=name, terminal_width=width, max_content_width=100)
    text = command.get_help(context)
    options = text.partition("Examples:")[0]
    assert "Examples:\n  tbk " in text
    assert max(map(len, options.splitlines())) <= width
    shown = text.partition("Examples:")[2].splitlines()
    assert all(len(line) <= width or GAP not in line.strip() for line in shown)
    if name in ("run", "check"):
        places = [text.index(f"{title}:\n") for title in ("What is run", "The verdict", "Reports")]
        assert places == sorted(places)
    assert text.count("--help") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runn"], "there is no command 'runn'; did you mean run?"),
        (["frobnicate"], "there is no command 'frobnicate'; tbk --help lists them"),
        (["run", "good.so", "--bugdet=1s"], "--budget"),
        (["run", "good.so", "--budget=1d"], "'1d' is no time such as 90s, 2m or 1h"),
        (["run", "good.so", "--fail-on=warnings"], "did you mean warning?"),
        (["run", "good.so", "--fail-on=everything"], "there are warning, not-shown"),
        (["run", "good.so", "--tier=quik"], "is none of quick, thorough; did you mean quick?"),
        (["init", "gihub"], "did you mean github"),
        (["run"], "Missing argument 'LIB'"),
        (["kill-matrix", "--timeout=1d"], "is no time such as"),
        (["check", "./libacme.so"], "tbk run ./libacme.so judges a library"),
        (["check", "cpu:0"], "'cpu:0': name the device without an index, as 'cpu'"),
        (["check", "--device=cuda:1"], "name the device without an index, as 'cuda'"),
        (["probe", "cpu:0"], "name the device without an index, as 'cpu'"),
        (["trace", "--device=cpu:0", "x.py"], "name the device without an index, as 'cpu'"),
        (["litmus", "--device=cpu:0"], "name the device without an index, as 'cpu'"),
        (["init", "github", "--device=cpu:0"], "name the device without an index, as 'cpu'"),
        (["check", "sound", "--only=torch_copy/["], "'torch_copy/[' is no clause"),
        (["run", "good.so", "--only=memory/nothing"], "'memory/nothing' is no clause"),
        (["run", "good.so", "--only=NOPE-999"], "'NOPE-999' is no clause"),
        (["run", "good.so", "--only="], "'' is no clause"),
        (["show", ""], "'' is no clause"),
        (["trace", __file__], "a device is needed: --device NAME, or --library LIB"),
        (["check", "sound", "--require=strem"], "'strem' is no capability; did you mean stream?"),
    ],
)
def test_a_mistake_gets_one_line(tbk: Tbk, arguments: list[str], said: str) -> None:
    ended = tbk(*arguments)
    assert ended.returncode == (5 if "libacme" in said else 2)
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("tbk: ")


def test_without_a_command_the_help_is_shown(tbk: Tbk) -> None:
    ended = tbk("--help")
    assert ended.returncode == 0
    assert "Judge a backend:" in ended.stdout
    assert "..." not in ended.stdout.replace("[ARGS]...", "")


def test_a_shell_completes_words(tmp_path: Path) -> None:
    def offered(arguments: list[str], incomplete: str) -> list[str]:
        shell = BashComplete(tbk, {}, "tbk", "_TBK_COMPLETE")
        return [one.value for one in shell.get_completions(arguments, incomplete)]

    assert "run" in offered([], "r")
    assert "memory" in offered(["run", "x.so", "--only"], "mem")
    assert offered(["run", "x.so", "--only"], "memory/live_allocations_share_no_byte_a")
    assert "stream" in offered(["check", "cpu", "--require"], "str")
    assert "EVT-019" in offered(["show"], "EVT-01")
    assert "not-shown" in offered(["show"], "not")
