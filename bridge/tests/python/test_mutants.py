# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of the torch layer's mutants, and what its rows name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mutants"))

import pytest
from tbk_torch_mutants import native, table
from tbk_torch_sabotages import SETS, sabotages


def of(mechanism: str) -> set[str]:
    return {row.name for row in table.rows().values() if row.mechanism == mechanism}


def unnamed(names: set[str]) -> list[str]:
    """Returns those that no Python source speaks of."""
    sources = "".join(path.read_text() for path in Path(table.__file__).parent.rglob("*.py"))
    return [name for name in names if f'"{name}"' not in sources]


def test_the_library_has_each_native_row_and_no_more() -> None:
    assert of("native") <= native.names()
    broken = {f"sabotage_{name}" for one in SETS for name in sabotages(one)}
    assert unnamed(native.names() - broken) == []


def test_the_library_has_each_row_of_storages_and_no_more() -> None:
    assert of("storage") <= native.storage_names()
    assert unnamed(native.storage_names()) == []


def test_each_backend_row_is_a_mutant_of_the_c_layer() -> None:
    program = native.build_folder() / "bin" / "tbk-mutants"
    listed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    known = {f"backend:{json.loads(row)['name']}" for row in listed.splitlines()}
    assert of("backend") <= known


def test_a_mutant_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="no_such_mutant"):
        table.apply("no_such_mutant")
