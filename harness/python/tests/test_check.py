# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk check, and tbk run over both layers, with a stand-in for tbk-run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forked import Ended
from invoke import STAND_IN, Tbk, starter

# Stands for an environment that has, or has not, PyTorch and the bridge.
ENVIRONMENT = """
import importlib.machinery, sys, types
def there(name, **members):
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(module).update(members)
    sys.modules[name] = module
there("torch")
there("torch_tbk")
def extension():
    if {broken!r}:
        raise ImportError({broken!r})
def problem():
    return "" if {late!r} else {broken!r}
there("torch_tbk._extension", extension=extension, problem=problem)
"""


@pytest.fixture
def both(tmp_path: Path) -> Tbk:
    """Returns the command, where the bridge can be loaded, and with the reference backends'
    libraries."""
    return _with_pytorch(tmp_path, "")


def _with_pytorch(folder: Path, broken: str, late: bool = False) -> Tbk:
    """`broken`: why the bridge cannot be loaded; `late`: which its files do not tell."""
    tbk = starter(folder, layer="")
    place = folder / "environment"
    place.mkdir()
    (place / "sitecustomize.py").write_text(ENVIRONMENT.format(broken=broken, late=late))
    library = folder / "build" / "lib" / "libtbk_cpu.so"
    library.parent.mkdir(parents=True)
    library.touch()
    more = {"PYTHONPATH": str(place), "TBK_BUILD": str(folder / "build")}

    def run(*arguments: str, runner: str = "", **others: str) -> Ended:
        return tbk(*arguments, runner=runner, **more, **others)

    return run


def _document(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "tbk-report" / "judged.json").read_text())
    return document


def _blames(folder: Path) -> dict[str, tuple[str, str]]:
    return {
        test["cause"]: (test["blame"], test.get("blame_how", ""))
        for test in _document(folder)["tests"]
        if test.get("cause")
    }


def test_a_sound_device_passes(both: Tbk) -> None:
    ended = both("check", "--device", "sound")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "PASS" in ended.stdout
    assert both("lint-reports").returncode == both("verify", "tbk-report/results.jsonl").returncode
    assert both("verify", "tbk-report/results.jsonl").returncode == 0


def test_the_device_is_to_blame_for_what_passes_on_pytorchs_cpu(both: Tbk, tmp_path: Path) -> None:
    ended = both("check", "--device", "acme")
    assert ended.returncode == 1
    blames = _blames(tmp_path)
    assert blames["wrong-everywhere"][0] == "pytorch"
    assert blames["wrong-here"][0] == blames["wrong-through-the-bridge"][0] == "backend"
    assert "passes on PyTorch's own cpu" in blames["crash/body/SIGSEGV"][1]


def test_what_fails_on_the_reference_through_the_bridge_is_the_bridges(
    both: Tbk, tmp_path: Path
) -> None:
    ended = both("run", "libacme.so", "--layer=torch")
    assert ended.returncode == 1
    blames = _blames(tmp_path)
    assert {cause: blame for cause, (blame, _) in blames.items()} == {
        "wrong-everywhere": "pytorch", "wrong-through-the-bridge": "bridge",
        "wrong-here": "backend", "crash/body/SIGSEGV": "backend",
    }  # fmt: skip
    said = "the same test passes on the reference backend through the same bridge"
    assert {
        test["blame_how"]
        for test in _document(tmp_path)["tests"]
        if test.get("cause") == "wrong-here"
    } >= {said}
    assert said in (tmp_path / "tbk-report" / "index.html").read_text()


def test_blame_can_be_found_again_from_the_file_alone(both: Tbk, tmp_path: Path) -> None:
    both("run", "libacme.so", "--layer=torch")
    first = _document(tmp_path)
    both("report", "tbk-report/results.jsonl", "--report-dir", "again")
    assert json.loads((tmp_path / "again" / "judged.json").read_text()) == first
    assert both("verify", "tbk-report/results.jsonl").returncode == 0


def test_without_blame_nothing_else_is_run(both: Tbk, tmp_path: Path) -> None:
    both("check", "--device", "acme", "--no-blame")
    assert "substitution" not in (tmp_path / "tbk-report" / "results.jsonl").read_text()
    assert sorted(path.name for path in (tmp_path / "tbk-report" / "parts").iterdir()) == [
        "torch.jsonl"
    ]


def test_both_layers_are_one_result(both: Tbk, tmp_path: Path) -> None:
    ended = both("run", "good.so")
    assert ended.returncode == 0, ended.stdout
    assert "PASS (quick)  acme 1.4.2: 120 tests" in ended.stdout
    document = _document(tmp_path)
    assert {test["layer"] for test in document["tests"]} == {"c", "torch"}
    assert set(document["header"]["layers"]) == {"c", "torch"}
    assert document["footer"]["planned"] == document["footer"]["recorded"] == 120
    assert both("verify", "tbk-report/results.jsonl").returncode == 0
    assert both("lint-reports").returncode == 0


def test_a_baseline_may_lie_in_a_folder_that_the_run_makes(both: Tbk, tmp_path: Path) -> None:
    known = "new/report/known.toml"
    given = ("--report-dir", "new/report", "--no-blame")
    assert both("check", "acme", *given, "--write-baseline", known).returncode == 1
    assert both("check", "acme", *given, "--baseline", known).returncode == 0


def test_the_worst_layer_decides(both: Tbk, tmp_path: Path) -> None:
    (tmp_path / "waived.toml").write_text("")
    ended = both("run", "bad.so", "--waivers", "waived.toml")
    assert ended.returncode == 1
    causes = {test.get("cause") for test in _document(tmp_path)["tests"]}
    assert {"wrong-here", "SIGSEGV in memory_free"} <= causes


def test_a_layer_without_a_selected_test_is_not_run(both: Tbk, tmp_path: Path) -> None:
    ended = both("run", "good.so", "--only", "torch_operators")
    assert ended.returncode == 0, ended.stdout
    assert {test["layer"] for test in _document(tmp_path)["tests"]} == {"torch"}
    ended = both("run", "good.so", "--only", "memory")
    assert {test["layer"] for test in _document(tmp_path)["tests"]} == {"c"}


@pytest.mark.parametrize("code", [4, 5, 7])
def test_where_c_finds_no_backend_pytorch_is_not_asked(
    both: Tbk, tmp_path: Path, code: int
) -> None:
    runner = tmp_path / "tbk-run"
    runner.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexit {code}\n')
    runner.chmod(0o755)
    assert both("run", "good.so", runner=str(runner)).returncode == code
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len([one for one in calls if "--list" not in one]) == 1


def test_what_the_budget_left_out_is_said(both: Tbk, tmp_path: Path) -> None:
    ended = both("check", "--device", "sound", "--budget", "2m")
    assert ended.returncode == 0
    assert "the budget left out 30 tests" in ended.stdout
    document = _document(tmp_path)
    assert document["counts"]["left-out"] == 30
    page = (tmp_path / "tbk-report" / "index.html").read_text()
    assert "passes the part that was run" in page
    assert both("check", "--device", "sound", "--budget", "soon").returncode == 2


def test_a_budget_holds_for_the_whole_command(both: Tbk, tmp_path: Path) -> None:
    runner = tmp_path / "tbk-run"
    runner.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec {STAND_IN} "$@"\n')
    runner.chmod(0o755)
    both("check", "--device", "acme", "--budget", "100", runner=str(runner))
    calls = [one for one in (tmp_path / "calls").read_text().splitlines() if "--output" in one]
    calls = " ".join(calls).split()
    budgets = [float(word.partition("=")[2]) for word in calls if word.startswith("--budget=")]
    assert len(budgets) == 2  # the tests, and the search for who is to blame
    failing = [float(word.partition("=")[2]) for word in calls if "--failing-budget=" in word]
    assert len(failing) == 1
    assert 40 < failing[0] < 75  # the reports take some, and more on a busy machine
    assert failing[0] + 15 < budgets[0] <= 95  # where nothing fails, nobody is to blame
    assert failing[0] < budgets[1] < 100


def test_the_layer_in_c_gets_half_of_a_budget_at_the_most(both: Tbk, tmp_path: Path) -> None:
    runner = tmp_path / "tbk-run"
    runner.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec {STAND_IN} "$@"\n')
    runner.chmod(0o755)
    both("run", "good.so", "--budget", "1000", runner=str(runner))
    calls = [line for line in (tmp_path / "calls").read_text().splitlines() if "--output" in line]
    budgets = [float(line.partition("--budget=")[2].split()[0]) for line in calls]
    assert len(budgets) == 2
    assert 200 < budgets[0] <= 500
    assert budgets[0] < budgets[1]


def test_no_device_loads_itself_where_another_is_asked(both: Tbk, tmp_path: Path) -> None:
    runner = tmp_path / "tbk-run"
    say = f'echo "$TORCH_DEVICE_BACKEND_AUTOLOAD" >> {tmp_path}/calls'
    say = f'case "$*" in *--output*) {say};; esac'
    runner.write_text(f'#!/bin/sh\n{say}\nexec {STAND_IN} "$@"\n')
    runner.chmod(0o755)
    both("check", "--device", "acme", runner=str(runner))
    assert (tmp_path / "calls").read_text().splitlines() == ["", "0"]


@pytest.mark.parametrize("code", [7, 8])
def test_after_an_interruption_nothing_else_is_run(both: Tbk, tmp_path: Path, code: int) -> None:
    runner = tmp_path / "tbk-run"
    more = f'echo "$@" >> {tmp_path}/calls\n{STAND_IN} "$@"\nexit {code}\n'
    runner.write_text(f"#!/bin/sh\n{more}")
    runner.chmod(0o755)
    assert both("check", "--device", "acme", runner=str(runner)).returncode == code
    assert both("probe", "--device", "acme", "--output", "a.toml", runner=str(runner)).returncode
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len([one for one in calls if "--output" in one]) == 2
    assert not (tmp_path / "a.toml").exists()


def test_who_is_to_blame_is_not_known_without_time(both: Tbk, tmp_path: Path) -> None:
    both("check", "--device", "acme", "--budget", "100", FAKE_BUDGET_SPENT_ON="cpu")
    blames = _blames(tmp_path)
    assert blames["wrong-here"][0] == "backend"
    assert blames["wrong-here"][1].endswith("was not run on others: the budget was over")


def test_a_device_that_is_not_there(both: Tbk) -> None:
    ended = both("check", "--device", "nosuch")
    assert ended.returncode == 5
    assert "importing what makes it known" in ended.stdout


def test_without_the_bridge_c_alone_is_judged_and_that_is_said(tmp_path: Path) -> None:
    broken = _with_pytorch(tmp_path, "torch_tbk was built for torch 1.0")
    said = "the torch layer was not run: torch_tbk was built for torch 1.0"
    ended = broken("run", "good.so")
    assert ended.returncode == 0, ended.stderr
    assert said in ended.stdout
    assert _document(tmp_path)["notes"] == [said]
    assert said in (tmp_path / "tbk-report" / "index.html").read_text()
    only_torch = broken("run", "good.so", "--layer=torch")
    assert only_torch.returncode == 4
    assert "cannot be run" in only_torch.stderr


def test_a_bridge_that_cannot_be_imported_after_all_is_said_in_the_same_way(tmp_path: Path) -> None:
    broken = _with_pytorch(tmp_path, "libcudart.so.13: cannot open it", late=True)
    said = "the torch layer was not run: ImportError: libcudart.so.13: cannot open it"
    ended = broken("run", "good.so", FAKE_IMPORT_FAILS="OSError: libcudart.so.13")
    assert ended.returncode == 0, ended.stderr
    assert said in ended.stdout
    assert _document(tmp_path)["notes"] == [said]
    assert said in (tmp_path / "tbk-report" / "index.html").read_text()
    only_torch = broken("run", "good.so", "--layer=torch", FAKE_IMPORT_FAILS="OSError: libcudart")
    assert only_torch.returncode == 6
    assert "OSError: libcudart" in only_torch.stdout


def test_a_torch_layer_that_never_began_is_an_error_where_all_can_be_imported(both: Tbk) -> None:
    ended = both("run", "good.so", FAKE_IMPORT_FAILS="the worker was killed")
    assert ended.returncode == 6, ended.stderr
    assert "the worker was killed" in ended.stdout


def test_replay_takes_the_torch_layers_commands(both: Tbk) -> None:
    both("check", "--device", "acme", "--no-blame")
    ended = both("replay", "tbk-report/results.jsonl", "torch_operators/op_000[float16]")
    assert ended.returncode == 1, ended.stderr
    assert "1 of 1 fail again" in ended.stdout


def test_an_interrupted_first_layer_says_that_the_second_never_began(
    both: Tbk, tmp_path: Path
) -> None:
    ended = both("run", "slow.so")
    assert ended.returncode == 7, ended.stderr
    assert "the torch layer was never begun" in ended.stdout
    assert "the torch layer was never begun" in _document(tmp_path)["missing"]
    assert "torch layer was never begun" in (tmp_path / "tbk-report" / "index.html").read_text()
