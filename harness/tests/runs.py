# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs tbk-run, and reads what it wrote."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TBK_BUILD", ROOT / "build"))
TBK_RUN = BUILD / "bin" / "tbk-run"
LIB = BUILD / "lib"
CPU = LIB / "libtbk_cpu.so"
TEMPLATE = LIB / "libtbk_template.so"
HOSTILE = LIB / "hostile" / "libtbk_hostile.so"

Record = dict[str, Any]

# How long a test waits for what must come, on however busy a machine: no verdict depends on it.
PATIENCE = 600.0

# A shell starts background jobs with SIGINT ignored, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Results:
    """One result file."""

    header: Record
    tests: list[Record]
    footer: Record
    raw: bytes

    @property
    def verdicts(self) -> dict[str, str]:
        return {record["id"]: record["verdict"] for record in self.tests}

    def counts(self) -> dict[str, int]:
        return {name: count for name, count in self.footer["counts"].items() if count}


@dataclass
class Run:
    """One run of tbk-run that has ended."""

    code: int
    stdout: str
    stderr: str
    output: Path

    def results(self) -> Results:
        return read(self.output)

    @property
    def line(self) -> str:
        return self.stdout.strip().splitlines()[-1]


def read(path: Path) -> Results:
    raw = path.read_bytes()
    assert raw.endswith(b"\n")
    lines = [line + b"\n" for line in raw.split(b"\n")[:-1]]
    records = [json.loads(line) for line in lines]
    assert [record["record"] for record in records].count("header") == 1
    assert records[0]["record"] == "header"
    assert records[-1]["record"] == "footer"
    body = b"".join(lines[:-1])
    assert records[-1]["digest"] == hashlib.sha256(body).hexdigest()
    return Results(records[0], records[1:-1], records[-1], raw)


def command(library: Path | str, output: Path, *arguments: str) -> list[str]:
    return [str(TBK_RUN), str(library), "--output", str(output), *arguments]


def hostile(name: str, *more: str) -> list[str]:
    options = [f"hostile={name}", *more]
    return [word for option in options for word in ("--backend-option", option)]


def run(
    library: Path | str,
    output: Path,
    *arguments: str,
    env: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    timeout: float = PATIENCE,
) -> Run:
    done = subprocess.run(
        [*prefix, *command(library, output, *arguments)],
        capture_output=True,
        text=True,
        errors="strict",
        timeout=timeout,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr, output)


def processes_with(text: str) -> list[int]:
    """Processes whose command line holds the text: those of a run name its result file."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in line:
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], object]) -> None:
    """Returns as soon as the condition holds."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)
