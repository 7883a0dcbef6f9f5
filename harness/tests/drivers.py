# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Simulated drivers that lack a function, as older ones do; and which functions a backend needs."""

import re
from pathlib import Path

from runs import ROOT

BACKENDS = ROOT / "reference_backends"


def without(driver: Path, symbol: str, folder: Path) -> Path:
    """Returns a copy of the driver in which the function has another name."""
    image = driver.read_bytes()
    name = b"\0" + symbol.encode() + b"\0"
    assert image.count(name) >= 1, symbol
    copy = folder / "driver.so"
    # Names of dynamic symbols come first; what else is called so stays.
    copy.write_bytes(image.replace(name, name[:-2] + b"-\0", 1))
    return copy


def _body(header: str, table: str) -> str:
    text = (BACKENDS / header).read_text().replace("\\\n", " ")
    found = re.search(rf"^#define {table}\(X\)(.*)$", text, re.MULTILINE)
    assert found, table
    return found[1]


def members(header: str, table: str) -> list[str]:
    """Returns the members that a map names."""
    return re.findall(r"X\((\w+)", _body(header, table))


def symbols(header: str, table: str, need: str = "") -> dict[str, str]:
    """Returns the symbols of a map by their members, of rows that say this of the need alone."""
    rows = re.findall(r'X\((\w+), "(\w+)", (\w*)', _body(header, table))
    return {member: symbol for member, symbol, said in rows if said == need}
