# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The PyTorch worker on broken devices and bad input, and which contracts it runs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nights import NIGHT
from runs import PATIENCE, TBK_RUN, Results
from torch_runs import ACTS, CONTRACTS, HOSTILE, environment, judge

pytest.importorskip("torch", reason="the torch layer is for machines that have PyTorch")


DIES_AT_IMPORT = (
    "cpu: importing the module broken.at_import: killed by SIGABRT",
    "; it printed: RULE 7: no context is current",
)


# What a module raises is told as of one that is not there, and with its words by the next test.
@pytest.mark.parametrize(
    ("module", "code", "words"),
    [
        ("broken.at_import", 4, DIES_AT_IMPORT),
        ("broken.not_there", 4, "No module named 'broken.not_there'"),
        ("broken.absent", 5, "cpu: counting its devices: there is none"),
        (
            "broken.copy",
            5,
            "back gives other bytes: sent 00 00 80 3f 00 00 00 40 at byte 0, and 00",
        ),
        ("broken.hang", 5, "cpu: allocating 64 bytes: no end after"),
    ],
)
def test_what_makes_all_else_meaningless_is_one_line(
    tmp_path: Path, module: str, code: int, words: str | tuple[str, ...]
) -> None:
    done = judge(tmp_path / "a.jsonl", "--torch-import", module, "--open-timeout", "8")
    results = done.results()
    assert done.code == code, done.stdout
    assert len(done.stderr.splitlines()) == 1
    for line in (words,) if isinstance(words, str) else words:
        assert line in done.stderr
        assert line in results.footer["reason"]
    assert results.tests == []


NOBODY = "PyTorch knows no device 'vulcan', and nothing that was imported registers it; did you"


@pytest.mark.parametrize(
    ("device", "module", "code", "said"),
    [
        ("vulcan", None, 5, f"{NOBODY} mean vulkan? Which module does? --import MODULE"),
        pytest.param(
            "vulcan",
            "absent",
            5,
            f"{NOBODY} mean vulkan? Which module does? --import MODULE",
            marks=NIGHT,
        ),
        ("vulcan", "renamed", 5, f"{NOBODY} mean vulcano or vulkan? The modules register"),
        ("vulcan", "leaves", 4, "vulcan: importing the module broken.leaves: SystemExit: 3"),
        ("cpu", "raises", 4, "cpu: importing the module broken.raises: RuntimeError: no driver"),
    ],
)
def test_what_is_wrong_with_a_name_or_a_module_is_told_before_the_tests_are_collected(
    tmp_path: Path, device: str, module: str | None, code: int, said: str
) -> None:
    (tmp_path / "test_slow.py").write_text("import time\ntime.sleep(600)\n")
    words = [f"--torch-import=broken.{module}"] if module else []
    done = judge(tmp_path / "a.jsonl", *words, device=device, folder=tmp_path)
    assert done.code == code
    assert said in done.stderr
    assert said in done.results().footer["reason"]
    assert len(done.stderr.splitlines()) == 1


def test_what_a_module_does_to_the_early_question_is_for_the_preflight_to_tell(
    tmp_path: Path,
) -> None:
    words = ("--torch-import", "broken.at_import", "--open-timeout", "4")
    done = judge(tmp_path / "a.jsonl", *words, device="acme")
    assert done.code == 4, done.stderr
    assert "importing the module broken.at_import: killed by SIGABRT" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_import_that_does_not_end_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = tmp_path / "times"
    text = f"import time\nopen({str(times)!r}, 'a').write('x')\ntime.sleep(600)\n"
    (tmp_path / "endless.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    words = ("--torch-import", "endless", "--open-timeout", "4")
    done = judge(tmp_path / "a.jsonl", *words, device="acme")
    line = "importing the module endless: no end after"
    assert done.code == 4, done.stderr
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert line in done.results().footer["reason"]
    assert times.read_text() == "x"


def test_the_version_is_that_of_what_makes_the_device(tmp_path: Path, hostile: Results) -> None:
    one = ("--only", f"{HOSTILE}/last_passes")
    header = (
        judge(tmp_path / "a.jsonl", "--torch-import", "broken.versioned", *one).results().header
    )
    assert (header["backend"]["name"], header["backend"]["version"]) == ("cpu", "7.1")
    assert [device["driver"] for device in header["devices"]] == ["12.5"]
    plain = hostile.header
    assert plain["backend"]["version"] == plain["torch"]["version"]  # the device is PyTorch's own
    assert "driver" not in plain["devices"][0]


@pytest.mark.parametrize(("imported", "package"), [("bisect", None), ("_pytest.stash", "pytest")])
def test_a_device_is_not_given_the_version_of_pytorch(imported: str, package: str | None) -> None:
    """It has that of the package of a module that was imported for it, or none."""
    program = f"""
import torch
from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.subject import Subject
torch.utils.rename_privateuse1_backend("acme")
print(Subject(Request("acme", [{imported!r}], None, [], None, 0, None, 1.0, 1)).version())
"""
    alone = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=alone
    )
    assert done.stdout.strip() == (importlib.metadata.version(package) if package else "")


def test_what_lies_above_the_contracts_is_no_part_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "contracts"
    shutil.copytree(ACTS, folder)
    (folder.parent / "conftest.py").write_text("raise RuntimeError('not asked for')\n")
    done = judge(tmp_path / "a.jsonl", "--only", f"{HOSTILE}/last_passes", folder=folder)
    assert done.code == 0, done.stdout + done.stderr


def test_a_device_that_adds_wrongly_is_named_and_judged(tmp_path: Path) -> None:
    done = judge(
        tmp_path / "a.jsonl", "--torch-import", "broken.add", "--only", f"{HOSTILE}/last_passes"
    )
    results = done.results()
    assert results.verdicts == {f"{HOSTILE}/last_passes": "pass"}
    assert done.code == results.footer["exit_code"] == 1
    assert "not sound before the first test: it adds wrongly" in results.footer["health"]
    assert "it adds wrongly" in done.stdout


def test_an_exclusive_device_has_one_process_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TBK_ACT_FLAG", str(tmp_path / "held"))
    only = ("--only", "torch_act_exclusive", "--jobs", "4", "--isolation", "fork")
    beside = judge(tmp_path / "a.jsonl", *only)
    assert "fail" in beside.results().verdicts.values()  # the acts notice what runs beside them
    alone = judge(tmp_path / "b.jsonl", *only, "--torch-import", "broken.exclusive")
    assert list(alone.results().verdicts.values()) == 4 * ["pass"]


@pytest.mark.parametrize("isolation", [pytest.param("fork", marks=NIGHT), "batch"])
def test_who_finds_an_exclusive_device_taken_runs_again(
    isolation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = ("--only", "torch_act_held", "--isolation", isolation)
    monkeypatch.setenv("TBK_ACT_FLAG", str(tmp_path / "shared"))
    shared = judge(tmp_path / "a.jsonl", *only)  # nothing says that others may have it
    assert "fail" in shared.results().verdicts.values()
    monkeypatch.setenv("TBK_ACT_FLAG", str(tmp_path / "exclusive"))
    waited = judge(tmp_path / "b.jsonl", *only, "--torch-import", "broken.exclusive")
    assert list(waited.results().verdicts.values()) == 3 * ["pass"]


def test_a_simulated_device_is_told_by_its_own_word(tmp_path: Path, hostile: Results) -> None:
    only = ("--only", f"{HOSTILE}/first_passes")
    done = judge(tmp_path / "a.jsonl", "--torch-import", "broken.simulated", *only)
    results = done.results()
    assert done.line.startswith("tbk-run: PARTIAL (quick, simulated)  ")
    assert results.footer["simulated"] is True
    assert [(one["name"], one["simulated"]) for one in results.header["devices"]] == [
        ("a device in software", True)
    ]
    assert hostile.footer["simulated"] is False


@NIGHT
def test_a_module_that_no_child_inherits_is_imported_by_each(tmp_path: Path) -> None:
    only = ("--only", f"{HOSTILE}/first_passes", "--open-timeout", "8")
    done = judge(tmp_path / "a.jsonl", "--torch-import", "broken.threads", *only)
    assert done.code == 0, done.stderr
    assert done.results().header["torch"]["warm"] is False
    done = judge(tmp_path / "b.jsonl", "--torch-import", "broken", *only)
    assert done.results().header["torch"]["warm"] is True


def test_contracts_that_cannot_be_collected(tmp_path: Path) -> None:
    (tmp_path / "test_bad.py").write_text("import nothing_of_this_name\n")
    done = judge(tmp_path / "a.jsonl", folder=tmp_path)
    assert done.code == 6
    assert "test_bad.py" in done.stderr
    assert "No module named 'nothing_of_this_name'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_need_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "test_bad.py").write_text(
        "from tbk_contracts.torch.case import clause\n"
        "@clause('CPY-501', needs='coffee')\ndef test_it():\n    pass\n"
    )
    done = judge(tmp_path / "a.jsonl", folder=tmp_path)
    assert (done.code, "'coffee', which is no capability" in done.stderr) == (6, True)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[capabilities\n", "Expected"),
        ("[capabilities]\ncoffee = true\n", "'coffee' is no capability"),
        ("[capabilities]\nstream = 1\n", "'stream' is neither true nor false"),
        ("", "no table 'capabilities'"),
    ],
)
def test_a_bad_file_of_capabilities(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(text)
    done = judge(tmp_path / "a.jsonl", "--facts", str(path))
    assert done.code == 2
    assert line in done.stderr
    assert str(path) in done.stderr


def test_what_is_declared_binds(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"capabilities": {"two_devices": True}}))
    only = ("--only", f"{HOSTILE}/needs_two", "--only", f"{HOSTILE}/last_passes")
    done = judge(tmp_path / "a.jsonl", "--facts", str(path), *only)
    results = done.results()
    assert results.verdicts[f"{HOSTILE}/needs_two"] == "fail"
    assert results.header["capabilities"]["two_devices"] is True
    assert results.header["capabilities"]["dtype:int8"] is False
    notes = results.header["capability_notes"]
    assert notes["two_devices"].startswith("declared, and its probe fails")
    assert notes["dtype:int8"] == "not declared, and its probe succeeds"


@NIGHT
def test_what_is_declared_and_ends_its_probe_fails(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"capabilities": {"generator": True}}))
    only = ("--only", f"{HOSTILE}/last_passes", "--torch-import", "broken.generator")
    bound = judge(tmp_path / "a.jsonl", "--facts", str(path), *only).results().header
    assert bound["capability_notes"]["generator"].startswith(
        "declared, and its probe fails: its probe"
    )
    free = judge(tmp_path / "b.jsonl", *only).results().header
    assert free["capabilities"]["generator"] is True
    assert free["capability_notes"]["generator"].startswith("its probe does not end")
    path.write_text(json.dumps({"capabilities": {"event": False}}))
    other = judge(tmp_path / "c.jsonl", "--facts", str(path), *only).results().header
    assert other["capability_notes"]["generator"].startswith("its probe does not end")


def test_the_word_that_is_missing_is_named(tmp_path: Path) -> None:
    only = ("--only", "torch_generator/devices_of_a_kind_give_the_same_numbers")
    done = judge(tmp_path / "a.jsonl", *only, "--require", "generator", folder=CONTRACTS)
    record = done.results().tests[0]
    assert (record["verdict"], record["needs_missing"]) == ("unsupported", "two_devices")


def test_a_proof_that_cannot_always_be_shown_is_stable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TBK_ACT_FLAG", str(tmp_path / "flag"))
    done = judge(tmp_path / "a.jsonl", "--only", "torch_act_unsteady", "--repeat", "3")
    assert done.results().counts() == {"pass": 1, "not-shown": 2}
    assert done.code == 0


def test_no_python(tmp_path: Path) -> None:
    done = judge(tmp_path / "a.jsonl", "--python", str(tmp_path / "python"))
    assert done.code == 6
    assert "No such file or directory" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["lib.so", "--torch-device", "cpu"],
        ["lib.so", "--torch-import", "acme"],
        ["--torch-device", "cpu", "--budget", "soon"],
    ],
)
def test_bad_usage(arguments: list[str]) -> None:
    done = subprocess.run([str(TBK_RUN), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "tbk-run:" in done.stderr


def test_the_list_and_the_selectors(tmp_path: Path) -> None:
    done = judge(tmp_path / "a.jsonl", "--list", "--only", "torch_act_poison", "--shard", "2/2")
    ids = [line.split()[0] for line in done.stdout.splitlines()]
    assert ids == ["torch_act_poison/b_pollutes", "torch_act_poison/d_passes"]
    assert judge(tmp_path / "b.jsonl", "--only", "coffee").code == 3


@NIGHT
def test_a_seed_chooses_the_inputs(tmp_path: Path) -> None:
    def told(name: str, *more: str) -> list[list[float]]:
        done = judge(tmp_path / name, "--only", "torch_act_seed", *more)
        noted = next(one["notes"] for one in done.results().tests if one["notes"])
        return json.loads(noted)  # type: ignore[no-any-return]

    first, third = told("a"), told("c", "--seed", "2")
    # What no seed stands for, and behind another test.
    assert first == told("b", "--seed", "1", "--isolation", "batch", "--jobs", "1")
    assert first[0] != third[0]
    assert first[1] != third[1]


def test_a_failing_operator_is_seen_without_the_suite(tmp_path: Path) -> None:
    only = ("--only", "torch_operators/cos[float32]", "--torch-import", "broken.cos")
    done = judge(tmp_path / "a.jsonl", *only, "--seed", "3", folder=CONTRACTS)
    failed = done.results().tests[0]
    assert failed["verdict"] == "fail"
    program = failed["facts"]["program"]
    again = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True,
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert "import broken.cos" in program
    assert again.stdout.count("cpu tensor(") == 2
    assert failed["seen"].split(":")[0][:4] in again.stdout


def test_what_is_off_by_some_units_is_a_warning(tmp_path: Path) -> None:
    names = ("operators/cos[float32]", "operators/cos[float64]", "operator_gradients/sin[float32]",
             "operator_accuracy/every_value[cos-float32]")  # fmt: skip
    only = [f"--only=torch_{name}" for name in names]
    done = judge(tmp_path / "a.jsonl", *only, "--torch-import", "broken.inexact", folder=CONTRACTS)
    seen = done.results().verdicts
    assert done.code == 0, done.stdout
    assert "PARTIAL (quick)" in done.stdout
    assert "3 warning" in done.stdout
    assert seen["torch_operators/cos[float64]"] == "pass"
    warned = next(
        one for one in done.results().tests if one["id"] == "torch_operators/cos[float32]"
    )
    assert (warned["verdict"], warned["level"], warned["failures"]) == ("warning", "must", 1)
    assert "times as far off" in warned["seen"]
    assert "broken.inexact" in warned["facts"]["program"]


def test_plain_pytest_does_not_fail_for_a_recommendation() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", str(ACTS / "act_hostile.py"), "--tbk-device=cpu", "-rx",
         "-p", "no:cacheprovider", "-k", "recommend and not dies"],
        capture_output=True, text=True, timeout=PATIENCE, env=environment(), check=False,
    )  # fmt: skip
    assert "1 failed" in done.stdout, done.stdout
    assert "2 xfailed" in done.stdout
    assert "a recommendation is not met: the bound: expected 1, saw 2" in done.stdout


@NIGHT
def test_a_device_without_some_dtypes_fails_nothing(tmp_path: Path) -> None:
    """Samples are left out whose results, too, need what it lacks."""
    names = (
        "add",
        "double",
        "float_power",
        "softmax_with_dtype",
        "fft_fft",
        "complex",
        "full_like",
    )
    only = [f"--only=torch_operators/{name}[float32]" for name in names]
    done = judge(tmp_path / "a.jsonl", *only, "--torch-import", "broken.narrow", folder=CONTRACTS)
    seen = done.results().verdicts
    assert done.code == 0, done.stdout
    assert seen["torch_operators/add[float32]"] == "pass"
    assert seen["torch_operators/double[float32]"] == "not-shown"
