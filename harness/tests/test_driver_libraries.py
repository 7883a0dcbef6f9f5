# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Backends on files that are no library of their driver: one line each, and no crash."""

import os
import shutil
import subprocess
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest
from runs import LIB, run

CUDA, NPU, OPENCL = (LIB / f"libtbk_{name}.so" for name in ("cuda", "npu", "opencl"))
SIMULATED = {lib: LIB / f"{lib.stem}_simulator.so" for lib in (CUDA, NPU)}
GOOD = LIB / "libtbk_template.so"
E_MACHINE, S390 = 18, (22).to_bytes(2, "little")  # where the head of an ELF file has its machine


def other_machine(path: Path) -> None:
    image = bytearray(GOOD.read_bytes())
    image[E_MACHINE : E_MACHINE + 2] = S390
    path.write_bytes(image)


def cut(path: Path) -> None:
    path.write_bytes(GOOD.read_bytes()[: GOOD.stat().st_size // 3])


# What the path is, and what is said of it behind its name.
BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (Path.touch, "is empty"),
    "text": (lambda path: path.write_text("no library\n" * 100), "is no library"),
    "cut": (cut, "is cut short"),
    "other machine": (other_machine, "is made for another machine"),
    "folder": (Path.mkdir, "is no regular file"),
    "pipe": (os.mkfifo, "is no regular file"),
}


@pytest.fixture(params=BAD)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Returns a file that is no library, and what is to be said of it."""
    make, why = BAD[request.param]
    path = tmp_path / "bad.so"
    make(path)
    return path, f"{path} {why}"


@pytest.mark.parametrize(
    ("backend", "option", "begins"),
    [
        (CUDA, "driver", "no driver: "),
        (NPU, "driver", "no driver: "),
        (OPENCL, "library", "no OpenCL loader: "),
    ],
    ids=["cuda", "npu", "opencl"],
)
def test_a_bad_driver_is_told_in_one_line(
    output: Path, bad: tuple[Path, str], backend: Path, option: str, begins: str
) -> None:
    done = run(backend, output, f"-b{option}={bad[0]}")
    assert done.code == 5
    assert f"counts no device: 0 devices: {begins}{bad[1]}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(find_library("OpenCL") is None, reason="there is no OpenCL loader")
@pytest.mark.parametrize("listed", ["", "/nowhere/libdriver.so", str(GOOD)])
def test_where_opencl_has_no_driver_the_line_says_where_it_looked(
    output: Path, tmp_path: Path, listed: str
) -> None:
    if listed:
        (tmp_path / "driver.icd").write_text(listed + "\n")
    done = run(OPENCL, output, env={"OCL_ICD_VENDORS": str(tmp_path)})
    assert done.code == 5
    assert f"there is none in {tmp_path}, or it fails" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bad_compiler_is_told_in_one_line(bad: tuple[Path, str]) -> None:
    done = subprocess.run(
        [LIB.parent / "bin/tbk-cuda-compile", "90"],
        env={**os.environ, "TBK_CUDA_NVRTC": str(bad[0])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (5, f"no NVRTC: {bad[1]}\n")


def header_with(
    output: Path, backend: Path, *given: str, env: dict[str, str] | None = None
) -> dict[str, Any]:
    """Returns the header of a run of one test, on the simulated driver."""
    driver = f"-bdriver={SIMULATED[backend]}"
    done = run(backend, output, driver, *given, "--only", "DEV-001", env=env)
    assert done.code == 0, done.stdout + done.stderr
    header = done.results().header
    assert header["devices"]
    return header


def test_without_operators_there_is_none_and_the_device_says_why(
    output: Path, bad: tuple[Path, str]
) -> None:
    header = header_with(output, NPU, f"-boperators={bad[0]}")
    assert all(f"no operators: {bad[1]}" in device["driver"] for device in header["devices"])
    assert not header["capabilities"]["op:mm"]


@pytest.mark.parametrize("name", ["TBK_CUDA_NVRTC", "TBK_CUDA_CUBLAS"])
def test_what_nvidia_has_beside_the_driver_is_told_with_the_device(
    output: Path, tmp_path: Path, name: str
) -> None:
    cut(tmp_path / "bad.so")
    header = header_with(output, CUDA, env={name: str(tmp_path / "bad.so")})
    why = (
        f"no {'NVRTC' if name.endswith('NVRTC') else 'cuBLAS'}: {tmp_path / 'bad.so'} is cut short"
    )
    assert all(why in device["driver"] for device in header["devices"])
    # Without cuBLAS a kernel serves.
    assert header["capabilities"]["op:mm"] == (name == "TBK_CUDA_CUBLAS")


def test_a_copy_of_a_good_driver_serves(output: Path, tmp_path: Path) -> None:
    """What is refused is refused for what is wrong with it, and not for its name or place."""
    copy = shutil.copy(SIMULATED[NPU], tmp_path / "bad.so")
    done = run(NPU, output, f"-bdriver={copy}", "--only", "DEV-001")
    assert done.code == 0, done.stderr
    assert done.results().header["capabilities"]["op:mm"]
