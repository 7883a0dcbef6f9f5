# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""docs/coverage.md names functions by file: they must be there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = {
    "## The cpu backend": "reference_backends/cpu",
    "## The virtual device": "reference_backends/virtual_device",
    "## The harness": "harness/src",
}


def named() -> list[tuple[Path, str]]:
    """Returns each function that the page names, with its file."""
    found: list[tuple[Path, str]] = []
    folder = ROOT
    for line in (ROOT / "docs" / "coverage.md").read_text().splitlines():
        for title, name in SECTIONS.items():
            if line.startswith(title):
                folder = ROOT / name
        file = folder
        for word in re.findall(r"`([\w.]+)`", line.split("|")[1] if line[:1] == "|" else ""):
            if word.endswith(".c"):
                file = folder / word
            else:
                found.append((file, word))
    return found


def test_the_page_names_something() -> None:
    assert {file.parent.name for file, _ in named()} == {"cpu", "virtual_device", "src"}


@pytest.mark.parametrize(("file", "function"), named())
def test_a_function_is_where_the_page_says(file: Path, function: str) -> None:
    assert re.search(rf"^\w.*\b{function}\(", file.read_text(), re.MULTILINE)
