# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The npu backend on no driver, on what is none, and on older ones, which lack a function."""

import subprocess
from pathlib import Path

import pytest
from drivers import symbols, without
from runs import LIB, run

NPU = LIB / "libtbk_npu.so"
SIMULATOR = LIB / "libtbk_npu_simulator.so"


NEEDED = symbols("npu/acl.h", "ACL_RUNTIME_MAP", "ACL_NEEDED")
OPTIONAL = symbols("npu/acl.h", "ACL_RUNTIME_MAP", "ACL_OPTIONAL") | symbols(
    "npu/acl.h", "ACL_HANDLE_MAP", "ACL_OPTIONAL"
)
# Tests of what is done in another way, or not at all, where the function of a member is missing.
CONCERNED = {
    "get_version": "DEV-029",
    "recent_error": "error",
    "soc_name": "DEV-001",
    "device_info": "DEV-001",
    "default_context": "device",
    "malloc_align32": "memory",
    "stream_create_config": "stream",
    "stream_failure_mode": "STR",
    "launch_host_function": "callback",
    "launch_callback": "CBK",
    "subscribe_report": "CBK",
    "process_report": "CBK",
    "unsubscribe_report": "CBK",
    "peer_can_access": "PER",
    "peer_enable": "peer",
    "create_list": "KRN-108",
    "destroy_list": "KRN-108",
    "make_repeatable": "KRN-108",
    "destroy_executor": "kernel",
}


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


@pytest.mark.parametrize("symbol", NEEDED.values())
def test_a_driver_without_a_needed_function_is_too_old(
    output: Path, tmp_path: Path, symbol: str
) -> None:
    done = run(NPU, output, f"-bdriver={without(SIMULATOR, symbol, tmp_path)}")
    assert done.code == 5
    assert f"0 devices: the driver has no {symbol}: too old" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_an_older_driver_lacks_is_done_in_another_way(
    output: Path, tmp_path: Path, name: str
) -> None:
    driver = without(SIMULATOR, OPTIONAL[name], tmp_path)
    done = run(NPU, output, f"-bdriver={driver}", "--only", CONCERNED[name])
    assert done.code == 0, done.stdout


def test_a_driver_without_any_way_of_callbacks_is_too_old(output: Path, tmp_path: Path) -> None:
    driver = SIMULATOR
    for symbol in ("aclrtLaunchHostFunc", "aclrtLaunchCallback"):
        driver = without(driver, symbol, tmp_path)
    done = run(NPU, output, f"-bdriver={driver}")
    assert done.code == 5
    assert "has neither aclrtLaunchHostFunc nor aclrtLaunchCallback: too old" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("symbol", symbols("npu/acl.h", "ACL_HANDLE_MAP", "ACL_NEEDED").values())
def test_without_what_describes_operands_there_are_no_operators(
    output: Path, tmp_path: Path, symbol: str
) -> None:
    driver = without(SIMULATOR, symbol, tmp_path)
    done = run(NPU, output, f"-bdriver={driver}", "--only", "DEV-001")
    header = done.results().header
    assert done.code == 0, done.stdout
    assert not header["capabilities"]["op:mm"]
    assert all("no operators: " in device["driver"] for device in header["devices"])


@pytest.mark.parametrize("name", ["create_list", "destroy_list"])
def test_without_lists_nothing_is_offered_that_takes_one(tmp_path: Path, name: str) -> None:
    """Lists are made and destroyed by two functions, of which one is of no use."""
    (tmp_path / SIMULATOR.name).symlink_to(SIMULATOR.resolve())
    driver = without(LIB / "libtbk_npu_shim.so", OPTIONAL[name], tmp_path)
    done = subprocess.run(
        [LIB.parent / "bin/tbk-npu-faults", NPU, driver, SIMULATOR, "--as-is"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[0].split() == ["kernel_find"], done.stdout
    assert "launch" not in done.stdout


def test_what_is_called_of_an_older_driver_fails_at_each_call(tmp_path: Path) -> None:
    """As ctest's npu-faults does of a whole driver; most of the time reports are waited for."""
    (tmp_path / SIMULATOR.name).symlink_to(SIMULATOR.resolve())
    driver = LIB / "libtbk_npu_shim.so"
    for member in ("launch_host_function", "stream_create_config", "malloc_align32"):
        driver = without(driver, OPTIONAL[member], tmp_path)
    done = subprocess.run(
        [LIB.parent / "bin/tbk-npu-faults", NPU, driver, SIMULATOR, "--older"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].endswith(" checks, 0 failures")


def test_an_operator_without_both_phases_is_not_offered(output: Path, tmp_path: Path) -> None:
    driver = without(SIMULATOR, "aclnnMm", tmp_path)
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
