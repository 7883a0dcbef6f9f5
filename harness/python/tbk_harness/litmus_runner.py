# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Drives tbk-litmus, and reads what it wrote."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tbk_reports import recorded
from tbk_reports.finding import Record
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_NOT_WRITTEN,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    parse_line,
)

from tbk_harness import locate, steering, tether
from tbk_harness.interruption import handed_on

RESULTS = "litmus.jsonl"
REPRODUCER = "litmus.c"
TORCH_REPRODUCER = "litmus.py"
RAN = (EXIT_PASS, EXIT_FINDINGS, EXIT_INTERRUPTED)  # with other codes the last results stay
MISSING = "tbk-litmus was not found: build it (cmake --build build)"
LIBRARY = 2  # its place in the command
_LATER = "process "  # a sentence about it begins so
_RUNNER = "tbk-litmus: "  # its own lines, among what the library prints


@dataclass(frozen=True)
class Hunted:
    """How a run of tbk-litmus ended; `records` are empty where it left nothing to tell."""

    code: int
    said: str
    records: tuple[Record, ...]
    printed: str = ""  # of a finding that is in no file, for the command to tell

    @property
    def finding(self) -> Record | None:
        return next((one for one in self.records if one.get("record") == "litmus-finding"), None)

    @property
    def wrote(self) -> bool:
        """Returns whether the file of its finding is its own; else there may be anybody's."""
        return self.code != EXIT_NOT_WRITTEN

    @property
    def answered(self) -> bool:
        """Returns whether programs said what there is to say; a finding does, whatever follows."""
        return self.code in (EXIT_PASS, EXIT_FINDINGS) or self.finding is not None


def runner() -> Path | None:
    return locate.binary("tbk-litmus", "TBK_LITMUS")


def _run(command: Sequence[str]) -> tuple[int, str, str]:
    """Returns the exit code and what was printed, stderr first; a runner that was killed is itself
    at fault."""
    temporary = tempfile.TemporaryFile
    with temporary() as said, temporary() as printed, handed_on() as interruption:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=said, start_new_session=True
        )
        interruption.started(process)
        code = process.wait()
        texts = []
        for file in (said, printed):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return (code if 0 <= code <= EXIT_NOT_WRITTEN else EXIT_SUITE_ERROR), texts[0], texts[1]


def _records(raw: bytes) -> Iterator[Record]:
    for one in raw.splitlines():
        try:
            record = parse_line(one)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def hunt(
    program: Path, library: str, arguments: Sequence[str], folder: Path, tethered: bool = False
) -> Hunted:
    """Runs programs on a library, with the results and the C file of a finding in `folder`.

    `tethered`: it gets TERM where this process ends, however that ends.
    """
    subject = f"./{library}" if library.startswith("-") else library
    headers = (f"--include={one}" for one in (locate.alone(), locate.include()))
    return _hunt(program, [subject, *arguments, *headers], folder, REPRODUCER, tethered)


def hunt_torch(
    program: Path, arguments: Sequence[str], folder: Path, tethered: bool = False
) -> Hunted:
    """Runs programs of PyTorch's calls, with the results and a Python file in `folder`."""
    words = [*arguments, f"--python={sys.executable}"]
    return _hunt(program, words, folder, TORCH_REPRODUCER, tethered)


def _hunt(
    program: Path, arguments: Sequence[str], folder: Path, reproducer: str, tethered: bool = False
) -> Hunted:
    results = folder / RESULTS
    files = (f"--output={results}", f"--reproducer={folder / reproducer}")
    command = [str(program), *arguments, *files]
    code, stderr, printed = _run(tether.command(*command) if tethered else command)
    hunted = hunted_from(code, stderr, folder)
    return hunted if hunted.records else replace(hunted, printed=printed)


def hunted_from(code: int, stderr: str, folder: Path) -> Hunted:
    """Returns what a run told that has ended, with its results in `folder`."""
    results = folder / RESULTS
    lines = [one for one in stderr.splitlines() if one.startswith(_RUNNER)]
    said = lines[-1].removeprefix(_RUNNER) if lines else ""
    # An early interruption leaves nothing to tell.
    read = tuple(_records(results.read_bytes())) if results.exists() else ()
    return Hunted(code, said, read if code in RAN or _is_of(read, code, said) else ())


def _is_of(records: Sequence[Record], code: int, said: str) -> bool:
    """Returns whether a run left them that ended with a later process than its first, or with a
    finding whose file could not be written: what was seen is kept. Others are of the run before."""
    footer = records[-1] if records else {}
    if code == EXIT_NOT_WRITTEN and footer.get("exit_code") != code:
        return False
    kept = code == EXIT_NOT_WRITTEN or said.startswith(_LATER)
    return kept and footer.get("reason") == said


def kinds(program: Path) -> tuple[Record, ...]:
    """Returns the kinds of edges that there are. Raises OSError."""
    done = subprocess.run([program, "--kinds"], capture_output=True, check=False)
    return tuple(_records(done.stdout))


_OF_REPLAYS = ("--seed=", "--first=", "--programs=", "--backend-option=")


def arguments_of(command: str) -> list[str] | None:
    """Returns the library and the options of a recorded command of `again`; None for any other,
    since a file that somebody sent may hold anything."""
    words = list(recorded.read(command).words)
    if words[:2] != ["tbk", "litmus"] or len(words) <= LIBRARY:
        return None
    options = words[LIBRARY + 1 :]
    return words[LIBRARY:] if all(one.startswith(_OF_REPLAYS) for one in options) else None


def again(subject: Sequence[str], seed: int, indexes: range, backend_options: Sequence[str]) -> str:
    """Returns the command that runs programs of a seed again; `subject`: what says on what.

    What the library does may depend on the programs before: then one need not show it alone.
    """
    programs = (f"--seed={seed}", f"--first={indexes.start}", f"--programs={len(indexes)}")
    options = (f"--backend-option={one}" for one in backend_options)
    return steering.shown(steering.here(), ["tbk", "litmus", *subject, *programs, *options])
