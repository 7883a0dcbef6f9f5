# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The npu backend on no driver, on what is none, and on older ones, which lack a function."""

from pathlib import Path

import pytest
from runs import LIB, run

NPU = LIB / "libtbk_npu.so"


@pytest.mark.skipif(Path("/dev/davinci_manager").exists(), reason="there is a device")
def test_without_a_driver_there_is_no_device(output: Path) -> None:
    done = run(NPU, output)
    assert done.code == 5
    assert "counts no device: 0 devices: no driver: libascendcl.so: cannot open" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (Path(__file__), "no driver: "),
        (LIB / "libtbk_template.so", "the driver has no aclInit: too old, or no driver"),
    ],
)
def test_what_is_no_driver_is_told_in_one_line(output: Path, driver: Path, reason: str) -> None:
    done = run(NPU, output, f"-bdriver={driver}")
    assert done.code == 5
    assert f"counts no device: 0 devices: {reason}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
