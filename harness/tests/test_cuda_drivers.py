# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The cuda backend on drivers and devices that lack something."""

from pathlib import Path

import pytest
from drivers import members, symbols, without
from litmus_runs import STEERED
from runs import LIB, Run, run
from tbk_reports import recorded

CUDA = LIB / "libtbk_cuda.so"
SIMULATOR = LIB / "libtbk_cuda_simulator.so"
OPTIONAL = members("cuda/driver.h", "CUDA_DRIVER_OPTIONAL")
DRIVER = symbols("cuda/driver.h", "CUDA_DRIVER_MAP")
NVRTC = symbols("cuda/nvrtc.h", "CUDA_NVRTC_MAP")
CUBLAS = symbols("cuda/cublas.h", "CUDA_CUBLAS_MAP")
# What takes memory in the order of a stream; kernels do that sort, or multiply in place.
IN_ORDER = ("--only=async_memory", "--only=async_free", "--only=PRG-058", "--only=kernel_place")


def judge(output: Path, driver: Path, *given: str, **environment: str) -> Run:
    """Runs tests on the driver, with compiled kernels of their own."""
    cache = {"TBK_CUDA_CACHE": str(output.parent / "cache")}
    return run(CUDA, output, f"-bdriver={driver}", *given, env=cache | environment)


@pytest.mark.parametrize("symbol", [DRIVER[name] for name in DRIVER if name not in OPTIONAL])
def test_a_driver_without_a_needed_function_is_too_old(
    output: Path, tmp_path: Path, symbol: str
) -> None:
    done = judge(output, without(SIMULATOR, symbol, tmp_path))
    assert done.code == 5
    assert f"0 devices: the driver has no {symbol}: too old, or no driver" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_driver_older_than_pools_serves(output: Path, tmp_path: Path, name: str) -> None:
    done = judge(output, without(SIMULATOR, DRIVER[name], tmp_path), "--only=async_memory")
    assert done.code == 0, done.stdout


def test_a_device_without_pools_serves(output: Path) -> None:
    done = judge(output, SIMULATOR, *IN_ORDER, TBK_CUDA_SIMULATOR="pools=0")
    assert done.code == 0, done.stdout


@pytest.mark.parametrize("symbol", NVRTC.values())
def test_a_compiler_without_a_function_is_none(output: Path, tmp_path: Path, symbol: str) -> None:
    path = without(SIMULATOR, symbol, tmp_path)
    done = judge(output, SIMULATOR, "--only=DEV-001", TBK_CUDA_NVRTC=str(path))
    header = done.results().header
    assert done.code == 0, done.stdout
    assert all(f"no NVRTC: {path} (no {symbol})" in one["driver"] for one in header["devices"])
    assert not header["capabilities"]["op:mm"]


@pytest.mark.parametrize("symbol", CUBLAS.values())
def test_without_a_function_of_cublas_kernels_multiply(
    output: Path, tmp_path: Path, symbol: str
) -> None:
    path = without(SIMULATOR, symbol, tmp_path)
    done = judge(output, SIMULATOR, "--only=DEV-001", TBK_CUDA_CUBLAS=str(path))
    header = done.results().header
    assert done.code == 0, done.stdout
    assert all(f"no cuBLAS: {path} (no {symbol})" in one["driver"] for one in header["devices"])
    assert header["capabilities"]["op:mm"]


def test_without_cublas_kernels_multiply_right(output: Path) -> None:
    done = judge(output, SIMULATOR, "--only=KRN-108", TBK_CUDA_CUBLAS="")
    assert done.code == 0, done.stdout


def test_without_a_compiler_all_else_passes(output: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "none.so")
    done = judge(output, SIMULATOR, "--only=stream", "--only=kernel", TBK_CUDA_NVRTC=missing)
    assert done.code == 0, done.stdout
    assert done.results().counts()["unsupported"] > 0


def test_the_seed_of_the_simulator_stands_in_the_command_of_a_test(output: Path) -> None:
    steered = "scheduler=seeded,seed=7"
    for given, begins in (
        (steered, f"env TBK_CUDA_SIMULATOR={steered} tbk-run "),
        ("", "tbk-run "),
    ):
        done = judge(output, SIMULATOR, "--only=DEV-001", TBK_CUDA_SIMULATOR=given)
        assert done.code == 0, done.stdout
        assert all(one["replay"].startswith(begins) for one in done.results().tests)


def test_a_variable_of_any_text_stands_in_the_command_and_no_other_variable(output: Path) -> None:
    name, odd = STEERED
    others = {
        "TBK_SIMULATOR": "a",
        "TBK__SIMULATOR": "b",
        "TBK_x_SIMULATOR": "c",
        f"{name}_LOG": "d",
    }
    done = judge(output, SIMULATOR, "--only=DEV-001", **{name: odd}, **others)
    assert done.code == 0, done.stdout
    for one in done.results().tests:
        found = recorded.read(one["replay"])
        assert (found.program, found.variables) == ("tbk-run", {name: odd})
        assert one["replay"].count("SIMULATOR=") == 1
