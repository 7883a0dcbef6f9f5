#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write the table of sizes into docs/layout.md. With --check, write nothing and exit 1 if stale.

Counts lines of tracked files that are neither blank nor comment only, by room and language. Rows
that C includes (*.def) are data, as those in YAML are.
The table says how big the rooms are, so it is stale when it misleads: when a row is missing, or a
figure is off by more than a twentieth and 20 lines. A line more or less is no cause to fail.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "layout.md"
INCLUDE = ROOT / "contracts" / "include"
GENERATED = {"dtypes.h", "tables.h"}  # what tbk.h includes that nobody reads as a manual
BEGIN, END = "<!-- sizes: begin -->\n", "<!-- sizes: end -->\n"
ROOMS = [
    "contracts/include",
    "contracts/compat",
    "contracts/spec",
    "contracts/toolkit",
    "contracts/litmus",
    "contracts/tests",
    "contracts/tools",
    "contracts",
    "reference_backends/template",
    "reference_backends/virtual_device",
    "reference_backends/virtual_device/tests",
    "reference_backends/cpu",
    "reference_backends/emit",
    "reference_backends/cuda",
    "reference_backends/cuda/simulator",
    "reference_backends/driver_library",
    "reference_backends/simulator_kit",
    "reference_backends/npu",
    "reference_backends/npu/simulator",
    "reference_backends/npu/simulator/tests",
    "reference_backends/cuda/simulator/tests",
    "reference_backends/opencl",
    "reference_backends/opencl/tests",
    "reference_backends/driver_bench",
    "reference_backends/mutants",
    "reference_backends",
    "bridge/csrc",
    "bridge/python",
    "bridge/tests",
    "bridge",
    "harness/src",
    "harness/python",
    "harness/tests",
    "harness",
    "reports",
    "ci",
]
# Of C, where a driver is described or simulated: who passes one simplifies first.
LIMITS = {
    "reference_backends/cuda": 2500,
    "reference_backends/npu": 2500,
    "reference_backends/opencl": 2500,
    "reference_backends/virtual_device": 2500,
    "reference_backends/cuda/simulator": 3500,
    "reference_backends/npu/simulator": 3500,
}
LANGUAGES = {
    ".c": "C",
    ".h": "C",
    ".inc": "C",
    ".def": "data",
    ".cpp": "C++",
    ".py": "Python",
    ".pyi": "Python",
    ".yml": "data",
    ".json": "data",
    ".toml": "data",
    ".j2": "page",
    ".css": "page",
    ".js": "page",
    ".html": "page",
    "": "shell",
    ".sh": "shell",
}
COLUMNS = ["C", "C++", "Python", "data", "page", "shell"]


def code_lines(path: Path) -> int:
    """Lines that say something to a machine."""
    count, in_comment = 0, False
    for line in path.read_text(errors="replace").splitlines():
        text = line.strip()
        if path.suffix in (".c", ".cl", ".cpp", ".def", ".h", ".inc"):
            if in_comment or text.startswith("/*"):
                in_comment = "*/" not in text
                continue
            if text.startswith("//"):
                continue
        elif text.startswith("#"):
            continue
        count += bool(text)
    return count


def room_of(name: str) -> str | None:
    """Returns the longest room that a tracked file lies in."""
    inside = [room for room in ROOMS if name.startswith(room + "/")]
    return max(inside, key=len) if inside else None


def language_of(name: str) -> str | None:
    """A header is in the language of its room."""
    if name.startswith("bridge/") and name.endswith(".h"):
        return "C++"
    return LANGUAGES.get(Path(name).suffix)


def parts(name: str = "tbk.h") -> dict[str, int]:
    """Returns the lines of a header and of those that it includes, by name."""
    text = (INCLUDE / "tbk" / name).read_text()
    found = {name: len(text.splitlines())}
    for other in re.findall(r"^#include <tbk/(\w+\.h)>", text, re.MULTILINE):
        if other not in GENERATED and other not in found:
            found |= parts(other)
    return found


def sizes() -> dict[str, Counter[str]]:
    """Returns the lines of each room by language."""
    # With what is not added yet: else the table is stale with the commit that it comes in.
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(
        listing, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    found: dict[str, Counter[str]] = {room: Counter() for room in ROOMS}
    for name in names:
        room, language = room_of(name), language_of(name)
        if room and language and (ROOT / name).is_file():
            found[room][language] += code_lines(ROOT / name)
    return found


def over(found: dict[str, Counter[str]]) -> list[str]:
    """Returns which rooms have more C than they may."""
    return [
        f"{room}: {found[room]['C']:,} lines of C, more than {limit:,}: see ADR 200"
        for room, limit in LIMITS.items()
        if found[room]["C"] > limit
    ]


def table(found: dict[str, Counter[str]]) -> str:
    """Returns the Markdown table."""
    lines = ["| room | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for room in ROOMS:
        if found[room]:
            counts = [found[room][column] for column in COLUMNS]
            cells = " | ".join(f"{count:,}" if count else "" for count in counts)
            lines.append(f"| `{room}` | {cells} |")
    header = parts()
    template = code_lines(ROOT / "reference_backends/template/template.c")
    lines.append("")
    lines.append(
        f"`tbk.h` and its {len(header) - 1} parts have {sum(header.values()):,} lines, mostly "
        f"prose, the longest {max(header.values())}; `template.c` {template} of code."
    )
    return "\n".join(lines) + "\n"


def agree(written: str, fresh: str) -> bool:
    """Returns whether two tables have the same rows, and figures that are close."""
    figure = re.compile(r"\b\d[\d,]*\b")
    if figure.sub("0", written) != figure.sub("0", fresh):
        return False
    pairs = zip(figure.findall(written), figure.findall(fresh), strict=True)
    numbers = ((int(old.replace(",", "")), int(new.replace(",", ""))) for old, new in pairs)
    return all(abs(old - new) <= max(20, new // 20) for old, new in numbers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    written, after = rest.split(END)
    found = sizes()
    fresh = table(found)
    if options.check and (grown := over(found)):
        print("\n".join(grown))
        return 1
    if not options.check:
        PAGE.write_text(before + BEGIN + fresh + END + after)
    elif not agree(written, fresh):
        print("docs/layout.md: the table of sizes is stale; run ci/count_lines.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
