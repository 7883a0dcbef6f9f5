# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Names and lines for the stacks of crashes, where the library still lies where it was run.

A process that crashes knows only the functions that a file exports, and those of a backend are
hidden as a rule. binutils' addr2line knows the rest, where the library has its symbols.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tbk_reports.model import ResultFile, Test

PATIENCE_S = 20
MOST = 2_000  # addresses that one command is asked for
_FRAME = re.compile(r"^#(\d+) (?:\S+ )?\((.+)\+(0x[0-9a-f]+)\)$")
_PLACE = re.compile(r"^(.+):(\d+)")


def _is_same(path: Path, digest: str) -> bool:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return False
    return len(digest) >= 32 and found.startswith(digest)


def _offsets(tests: Iterable[Test], name: str) -> list[str]:
    frames = (_FRAME.match(line) for test in tests for line in test.stack.splitlines())
    found = dict.fromkeys(frame[3] for frame in frames if frame and frame[2] == name)
    return list(found)[:MOST]


def _ask(path: Path, offsets: list[str]) -> dict[str, str]:
    """Returns "FUNCTION at FILE:LINE" by offset, as far as the library's symbols tell."""
    program = shutil.which("addr2line")
    if program is None or not offsets:
        return {}
    try:
        ended = subprocess.run(
            [program, "-f", "-C", "-e", str(path), *offsets],
            capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = ended.stdout.splitlines()
    if len(lines) != 2 * len(offsets):
        return {}
    said = zip(offsets, lines[::2], lines[1::2], strict=True)
    return {offset: _words(name, place) for offset, name, place in said if name != "??"}


def _words(name: str, place: str) -> str:
    found = _PLACE.match(place)
    if found is None or found[1] == "??":
        return name
    return f"{name} at {found[1].rpartition('/')[2]}:{found[2]}"


def _line(line: str, library: str, known: Mapping[str, str]) -> str:
    frame = _FRAME.match(line)
    if frame is None or frame[2] != library or frame[3] not in known:
        return line
    return f"#{frame[1]} {known[frame[3]]} ({library}+{frame[3]})"


def name_frames(results: ResultFile) -> ResultFile:
    """Returns the results with the library's functions named in the stacks of its crashes.

    A library that is gone, another one by now, or stripped leaves them as they are.
    """
    backend = results.header.get("backend")
    crashes = [test for test in results.tests if test.stack]
    if not crashes or not isinstance(backend, dict):
        return results
    path = Path(str(backend.get("path") or ""))
    offsets = _offsets(crashes, path.name)
    if not offsets or not _is_same(path, str(backend.get("digest") or "")):
        return results
    known = _ask(path, offsets)

    def named(test: Test) -> Test:
        lines = [_line(line, path.name, known) for line in test.stack.splitlines()]
        return replace(test, stack="\n".join(lines)) if test.stack else test

    return replace(results, tests=tuple(map(named, results.tests))) if known else results
