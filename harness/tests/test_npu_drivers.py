# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The npu backend on no driver, on what is none, and on older ones, which lack a function."""

from pathlib import Path

import pytest
from runs import LIB, run

NPU = LIB / "libtbk_npu.so"
SIMULATOR = LIB / "libtbk_npu_simulator.so"


def without(symbol: str, folder: Path) -> Path:
    """Returns a copy of the simulated driver in which the function has another name."""
    image = SIMULATOR.read_bytes()
    name = b"\0" + symbol.encode() + b"\0"
    assert image.count(name) >= 1, symbol
    driver = folder / "driver.so"
    driver.write_bytes(image.replace(name, name[:-2] + b"-\0"))
    return driver


@pytest.mark.skipif(Path("/dev/davinci_manager").exists(), reason="there is a device")
def test_without_a_driver_there_is_no_device(output: Path) -> None:
    done = run(NPU, output)
    assert done.code == 5
    assert "counts no device: 0 devices: no driver: libascendcl.so: cannot open" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_is_no_driver_is_told_in_one_line(output: Path) -> None:
    done = run(NPU, output, f"-bdriver={LIB / 'libtbk_template.so'}")
    assert done.code == 5
    assert (
        "counts no device: 0 devices: the driver has no aclInit: too old, or no driver"
        in done.stderr
    )
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "symbol",
    ["aclrtMemcpy", "aclrtCreateEventExWithFlag", "aclrtStreamQuery", "aclrtEventGetTimestamp"],
)
def test_a_driver_without_a_needed_function_is_too_old(
    output: Path, tmp_path: Path, symbol: str
) -> None:
    done = run(NPU, output, f"-bdriver={without(symbol, tmp_path)}")
    assert done.code == 5
    assert f"0 devices: the driver has no {symbol}: too old" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("symbol", "only"),
    [
        ("aclrtLaunchHostFunc", "callback"),
        ("aclrtMallocAlign32", "memory"),
        ("aclrtDeviceEnablePeerAccess", "peer"),
        ("aclrtGetPrimaryCtxState", "device"),
        ("aclDestroyAclOpExecutor", "kernel"),
    ],
)
def test_what_an_older_driver_lacks_is_done_in_another_way(
    output: Path, tmp_path: Path, symbol: str, only: str
) -> None:
    done = run(NPU, output, f"-bdriver={without(symbol, tmp_path)}", "--only", only)
    assert done.code == 0, done.stdout


def test_an_operator_without_both_phases_is_not_offered(output: Path, tmp_path: Path) -> None:
    driver = without("aclnnMm", tmp_path)
    done = run(NPU, output, f"-bdriver={driver}", "--only", "kernel")
    assert done.code == 0, done.stdout
    held = done.results().header["capabilities"]
    assert not held["op:mm"]
    assert held["op:add.Tensor"]


def test_what_is_not_verified_is_in_the_file(output: Path) -> None:
    done = run(NPU, output, f"-bdriver={SIMULATOR}", "--only", "DEV")
    told = done.results().header["backend"]["unverified"]
    assert any("aclrtEventGetTimestamp" in sentence for sentence in told)
    assert (
        "unverified"
        not in run(LIB / "libtbk_cpu.so", output, "--only", "DEV").results().header["backend"]
    )
