# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each overload in the table of a backend with an operator library computes as the CPU's does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_tbk

CHILD = Path(__file__).with_name("overloads_child.py")
ROOT = Path(__file__).parents[3]
TABLE = ROOT / "reference_backends/npu/aclnn.def"
SCHEMAS = ROOT / "contracts/spec/operators/overloads.txt"
LIBRARY = torch_tbk.reference("cpu").with_name("libtbk_npu.so")
SIMULATOR = LIBRARY.with_name("libtbk_npu_simulator.so")
LEAST = 250


def table() -> dict[str, str]:
    """Returns the overloads with the dtypes of their first tensors."""
    names = {}
    for schema in re.findall(r"^\d+ ([^(]+)\(", SCHEMAS.read_text(), re.M):
        names[schema.replace(".", "_")] = schema
    rows = re.findall(r"(?:OVERLOAD|RECIPE)\((\w+), (\w+)[,)]", TABLE.read_text())
    return {names[name]: dtypes for name, dtypes in rows}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Returns what the child says."""
    wanted = tmp_path_factory.mktemp("overloads") / "wanted.txt"
    wanted.write_text("".join(f"{name} {dtypes}\n" for name, dtypes in table().items()))
    done = subprocess.run([sys.executable, CHILD, LIBRARY, f"driver={SIMULATOR}", wanted],
                          capture_output=True, text=True, check=False, timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", table())
def test_its_kernel_computes_what_pytorch_does(told: dict[str, Any], name: str) -> None:
    assert len(told[name]) > 1
    for sample, one in told[name].items():
        assert one["agrees"], (sample, one)
        assert one["route"] in ("named", "not of the CPU's"), (sample, one)
    assert told[name]["plain"]["route"] == "named"


def test_the_table_is_as_long_as_it_says() -> None:
    assert len(table()) >= LEAST
