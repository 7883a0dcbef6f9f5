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

import share
from table import Outcome, write_json, write_markdown

outcomes = [Outcome("mm", "int64"), Outcome("mm", "float32", samples=3)]
outcomes[0].finish("RuntimeError: not of integers")
outcomes[1].finish("")
outcomes.append(Outcome("mode", "float32", samples=2, fallbacks=["aten::mode"]))
outcomes.append(Outcome("qr", "float32", samples=2, calls=["aten::linalg_qr"]))
outcomes.append(Outcome("eye", "int64", samples=1))
outcomes[2].finish("")
write_json(Path("reach.json"), {}, outcomes, ["imag"], share.shares(outcomes))
write_markdown(Path("reach.md"), {}, outcomes, ["imag"], share.lines(outcomes))
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
    assert (document["counts"]["native"], document["counts"]["not run"]) == (3, 1)
    entry = document["entries"][0]
    assert (entry["state"], entry["reason"]) == ("not run", "RuntimeError: not of integers")


def test_what_was_not_run_is_not_reached(written: Path) -> None:
    text = (written / "reach.md").read_text()
    missed = text.partition("## Not reached")[2].partition("## Left out")[0]
    assert "| mm | int64 | function | not run | 0 of 0 |" in missed
    assert "float32" not in missed


def test_the_shares_count_fallbacks(written: Path) -> None:
    """Without the entry that was not run, and the first without the one that calls a library."""
    shares = json.loads((written / "reach.json").read_text())["without fallback"]
    assert shares == {
        "float32 entries that call no library's kernel": "1 of 2 (50.0 %)",
        "float32 entries": "2 of 3 (66.7 %)",
        "all entries and dtypes": "3 of 4 (75.0 %)",
        "factories": "1 of 1 (100.0 %)",
    }


def test_what_is_wanted_most_is_listed(written: Path) -> None:
    text = (written / "reach.md").read_text().partition("## Without fallback")[2]
    assert "* qr: linalg_qr" in text
    assert "* mode: mode" in text


def test_what_the_cpu_has_not_is_listed(written: Path) -> None:
    assert json.loads((written / "reach.json").read_text())["without"] == ["imag"]
    assert "* imag" in (written / "reach.md").read_text().partition("## Left out")[2]
