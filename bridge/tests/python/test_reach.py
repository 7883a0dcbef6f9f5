# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of bridge/tests/reach: what it says of entries that were run, and that were not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REACH = Path(__file__).parents[1] / "reach"
TABLE = """
from pathlib import Path

from table import Outcome, write_json, write_markdown

outcomes = [Outcome("mm", "int64"), Outcome("mm", "float32", samples=3)]
outcomes[0].finish("RuntimeError: not of integers")
outcomes[1].finish("")
write_json(Path("reach.json"), {}, outcomes, ["imag"])
write_markdown(Path("reach.md"), {}, outcomes, ["imag"])
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A process of its own: `table` is no module of these tests."""
    folder = tmp_path_factory.mktemp("reach")
    program = f"import sys; sys.path.insert(0, {str(REACH)!r})\n{TABLE}"
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    return folder


def test_an_entry_without_samples_is_not_native(written: Path) -> None:
    document = json.loads((written / "reach.json").read_text())
    assert (document["counts"]["native"], document["counts"]["not run"]) == (1, 1)
    entry = document["entries"][0]
    assert (entry["state"], entry["reason"]) == ("not run", "RuntimeError: not of integers")


def test_what_was_not_run_is_not_reached(written: Path) -> None:
    text = (written / "reach.md").read_text()
    missed = text.partition("## Not reached")[2].partition("## Left out")[0]
    assert "| mm | int64 | function | not run | 0 of 0 |" in missed
    assert "float32" not in missed


def test_what_the_cpu_has_not_is_listed(written: Path) -> None:
    assert json.loads((written / "reach.json").read_text())["without"] == ["imag"]
    assert "* imag" in (written / "reach.md").read_text().partition("## Left out")[2]
