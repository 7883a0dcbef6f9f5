# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tbk-run does with bad command lines, and what is no backend or has no device."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from nights import NIGHT
from runs import (
    CPU,
    HOSTILE,
    LIB,
    TBK_RUN,
    TEMPLATE,
    hostile,
    run,
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-such-option"],
        ["--shard", "3/2"],
        ["--repeat", "0"],
        ["--timeout", "-1"],
        ["--isolation", "thread"],
        ["--backend-option", "novalue"],
        ["--require", "coffee"],
        ["--memory-limit", "9X"],
    ],
)
def test_bad_usage_is_2(output: Path, arguments: list[str]) -> None:
    done = run(TEMPLATE, output, *arguments)
    assert done.code == 2
    assert "tbk-run: " in done.stderr


def test_no_library_at_all_is_2(tmp_path: Path) -> None:
    done = subprocess.run([TBK_RUN], capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize("arguments", [["--only", "XYZ-999"], ["--shard", "2/2", "--only", "-"]])
def test_nothing_selected_is_3(output: Path, arguments: list[str]) -> None:
    if "-" in arguments:  # a shard of one test
        one = run(TEMPLATE, output, "--list").stdout.split()[0]
        arguments = [*arguments[:-1], one]
    done = run(TEMPLATE, output, *arguments)
    assert done.code == 3
    assert done.results().footer["reason"].startswith("nothing selected")


def test_a_misspelt_selector_beside_a_good_one_is_3(output: Path) -> None:
    assert run(TEMPLATE, output, "--only", "memory", "--only", "memori").code == 3


def test_nothing_executed_is_3(output: Path) -> None:
    done = run(TEMPLATE, output, "--only", "stream")
    assert done.results().counts().keys() == {"unsupported"}
    assert done.code == 3


def test_no_device_is_5(output: Path) -> None:
    done = run(HOSTILE, output, *hostile("no_devices"))
    assert done.code == 5
    assert done.results().footer["exit_code"] == 5


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a device")
def test_cuda_without_a_driver_has_no_device(output: Path) -> None:
    done = run(LIB / "libtbk_cuda.so", output)
    assert done.code == 5
    assert "counts no device" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("loader", "reason"),
    [
        ("/nowhere/libOpenCL.so.1", "no OpenCL loader: /nowhere/libOpenCL.so.1: cannot open"),
        ("libm.so.6", "libm.so.6 is no loader of OpenCL 1.2: it lacks clGetPlatformIDs"),
    ],
)
def test_opencl_without_a_loader_says_why_it_has_no_device(
    output: Path, loader: str, reason: str
) -> None:
    done = run(LIB / "libtbk_opencl.so", output, f"-blibrary={loader}")
    assert done.code == 5
    assert f"counts no device: 0 devices: {reason}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


# Whole runs, as ci/test's step simulated makes them of both.
@pytest.mark.parametrize("name", [pytest.param("cuda", marks=NIGHT), "npu"])
def test_a_simulated_driver_is_told_by_the_device_itself(output: Path, name: str) -> None:
    driver = f"driver={LIB / f'libtbk_{name}_simulator.so'}"
    done = run(LIB / f"libtbk_{name}.so", output, "--backend-option", driver)
    found = done.results()
    assert done.code == 0, done.stdout
    assert done.line.startswith("tbk-run: PASS (quick, simulated)  ")
    assert found.footer["simulated"] is True
    assert {device["simulated"] for device in found.header["devices"]} == {True}
    drivers = {device["driver"] for device in found.header["devices"]}
    assert all(str(LIB / f"libtbk_{name}_simulator.so") in told for told in drivers), drivers
    assert run(CPU, output, "--only", "DEV").results().footer["simulated"] is False


def test_a_call_that_waits_longer_than_its_gate_is_known_to_wait(output: Path) -> None:
    """The patience of a gate is a third of a test's; the probe of gates has its own."""
    driver = f"driver={LIB / 'libtbk_cuda_simulator.so'}"  # downloads wait there, as they may
    given = ("--backend-option", driver, "--timeout", "4", "--only", "DEV-023")
    done = run(LIB / "libtbk_cuda.so", output, *given)
    assert set(done.results().verdicts.values()) <= {"pass", "not-shown"}, done.stdout


@pytest.mark.parametrize("name", ["cuda", "npu"])
@pytest.mark.parametrize("given", ["driver=/nowhere/libx.so", "driver=a,driver=b", "seed=1"])
def test_what_is_no_driver_is_refused_in_one_line(output: Path, name: str, given: str) -> None:
    done = run(LIB / f"libtbk_{name}.so", output, "--backend-option", given)
    assert done.code == 4
    assert len(done.stderr.strip().splitlines()) == 1


def test_findings_are_1_and_say_how_to_see_them_again(output: Path) -> None:
    done = run(HOSTILE, output, "--only", "copy", *hostile("crash_in_call"))
    assert done.code == 1
    failed = [r for r in done.results().tests if r["verdict"] == "crash"]
    assert failed
    first = failed[0]
    assert first["blame"] == "backend"
    assert first["cause"].startswith("crash/body/SIGSEGV/in ")
    assert first["clause_text"]
    replay = first["replay"].split()
    again = run(HOSTILE, output.with_name("again.jsonl"), *replay[2:])
    assert again.code == 1
    assert again.results().verdicts == {first["id"]: "crash"}


def test_a_required_capability_that_is_missing_fails(output: Path) -> None:
    done = run(TEMPLATE, output, "--only", "stream", "--require", "stream")
    assert done.code == 1
    failed = [r for r in done.results().tests if r["verdict"] == "fail"]
    assert failed
    assert {r["needs_missing"] for r in failed} == {"stream"}


@pytest.mark.parametrize(
    "library",
    [
        LIB / "hostile" / "libtbk_hostile_text.so",
        LIB / "hostile" / "libtbk_hostile_empty.so",
        LIB / "hostile" / "libtbk_hostile_no_symbol.so",
        LIB / "hostile",
        LIB / "no_such_file.so",
        Path("/dev/null"),
    ],
)
def test_what_is_no_backend_is_4(output: Path, library: Path) -> None:
    done = run(library, output)
    assert done.code == 4
    assert len(done.stderr.strip().splitlines()) == 1
    assert str(library) in done.stderr
    assert done.results().footer["verdict"] == "error"


def test_an_unreadable_library_is_4() -> None:
    as_nobody = ("setpriv", "--reuid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        locked = folder / "libtbk_locked.so"
        locked.write_bytes(TEMPLATE.read_bytes())
        locked.chmod(0)
        tool = folder / "tbk-run"
        tool.write_bytes(TBK_RUN.read_bytes())
        tool.chmod(0o755)
        done = subprocess.run(
            [*as_nobody, tool, locked, "--output", folder / "results.jsonl"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert f"{locked}: Permission denied" in done.stderr
