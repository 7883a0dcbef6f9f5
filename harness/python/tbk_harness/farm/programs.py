# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Litmus programs on a farm: which part runs which, and what becomes of them."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tbk_reports.finding import Record
from tbk_reports.model import EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_PASS, EXIT_SUITE_ERROR
from tbk_reports.text import line

from tbk_harness.farm.place import Place
from tbk_harness.farm.together import Answer, Pairs, first_found, together
from tbk_harness.farm.watch import Farm, FarmError, Reply
from tbk_harness.litmus_runner import RESULTS, Hunted, hunted_from

FOLDER = "farm"
PIECE_S = 300.0  # of a part: more is not lost with a node
# Numbers of programs that a part has for itself, where it is time that ends it: at a million
# programs a second as many as in eleven days.
APART = 10**12


@dataclass(frozen=True)
class Asked:
    """What is to be run, on every board of the farm."""

    words: tuple[str, ...]
    """tbk-litmus's, but for those that a part has of its own."""
    library: str
    """As the user named it; empty: none."""
    gate: str
    """Likewise."""
    reproducer: str
    seconds: float
    first: int = 0
    programs: int | None = None
    """Of all parts together; None: as many as there is time for."""

    @property
    def rounds(self) -> int:
        """Returns how many parts a board gets, one after the other."""
        return 1 if self.programs else max(1, math.ceil(self.seconds / PIECE_S))

    def part(self, number: int, parts: int) -> list[str]:
        """Returns the arguments of a part; `parts`: how many share a number of programs."""
        if self.programs is None:
            own = [f"--first={self.first + number * APART}"]
            return [*self.words, f"--seconds={self.seconds / self.rounds:g}", *own]
        begin, end = (self.programs * at // parts for at in (number, number + 1))
        own = [f"--first={self.first + begin}", f"--programs={end - begin}"]
        return [*self.words, f"--seconds={self.seconds:g}", *own]


@dataclass
class _Run:
    """Parts that have come back, and sentences of those that brought nothing."""

    asked: Asked
    farm: Farm
    answers: list[Answer] = field(default_factory=list)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    parts: int = 0
    libraries: dict[int, str] = field(default_factory=dict)

    def round(self) -> None:
        """Runs a part on each board. Raises FarmError."""
        boards = max(self.farm.boards, 1)
        if self.asked.programs is not None:
            boards = min(boards, self.asked.programs)
        jobs = [
            {
                "name": _name(self.parts + at), "call": "litmus", "library": self.asked.library,
                "arguments": self.asked.part(self.parts + at, boards),
                "reproducer": self.asked.reproducer, "gate": self.asked.gate,
            }
            for at in range(boards)
        ]  # fmt: skip
        self.parts += boards
        self.wrong += [(EXIT_INTERRUPTED, one) for one in self.farm.run(jobs, self._take)]

    def _take(self, name: str, reply: Reply) -> None:
        number, node = int(name.rpartition("-")[2]), str(reply.get("node"))
        code, said = int(reply.get("code", EXIT_SUITE_ERROR)), line(str(reply.get("said")), 300)
        hunted = hunted_from(code, f"tbk-litmus: {said}" if said else "", self.farm.folder / name)
        if code not in (EXIT_PASS, EXIT_FINDINGS):
            self.wrong.append((code, f"{name} on {node}: {said}"))
        if hunted.records:
            seconds = float(reply.get("seconds") or 0.0)
            self.answers.append(Answer(number, node, hunted.records, seconds))
            self.libraries[number] = str(reply.get("library") or "")

    @property
    def is_over(self) -> bool:
        """Returns whether further parts would say nothing new."""
        return bool(self.wrong) or first_found(self.answers) is not None


def _name(number: int) -> str:
    return f"litmus-{number:05}"


def hunt(
    asked: Asked, place: Place, files: Mapping[str, Path], folder: Path, program: Path
) -> Hunted:
    """Runs programs on a farm, with results and the file of a finding in `folder`.

    Raises FarmError where there is no farm. Where it goes away later, what came back is kept.
    """
    began = time.monotonic()
    for old in (folder / FOLDER).glob("litmus-*"):
        shutil.rmtree(old, ignore_errors=True)
    with Farm(place, folder / FOLDER, files) as farm:
        run = _Run(asked, farm)
        said = ""
        try:
            for _ in range(asked.rounds):
                if not run.is_over:
                    run.round()
        except FarmError as error:
            said = str(error)
    return _finished(run, said, folder, program, time.monotonic() - began)


def _finished(run: _Run, said: str, folder: Path, program: Path, seconds: float) -> Hunted:
    """Returns the run, and writes it down. A finding is one, whatever became of the other parts."""
    code, why = next(iter(run.wrong), (EXIT_INTERRUPTED if said else EXIT_PASS, ""))
    why = said or why
    if why:
        code = EXIT_INTERRUPTED if said else code
        why += f"; {len(run.answers)} of {run.parts} parts are recorded"
    if not run.answers:
        return Hunted(code, why, ())
    found = first_found(run.answers)
    code = EXIT_FINDINGS if found else code
    place = run.farm.place
    farm = {"where": place.where, "takes": place.words, "lost": list(run.farm.lost)}
    header = {"library": run.asked.library or None, "farm": {**farm, "parts": run.parts}}
    end = {"milliseconds": int(seconds * 1000), "exit_code": code, "reason": why}
    records = together(run.answers, header, end, lambda lines: _ask(program, lines))
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records)
    (folder / RESULTS).write_text(text, "utf-8")
    _take_reproducer(run, found, folder)
    return Hunted(code, why, tuple(records))


def _take_reproducer(run: _Run, found: Answer | None, folder: Path) -> None:
    target = folder / run.asked.reproducer
    target.unlink(missing_ok=True)  # that of the run before
    if found is None:
        return
    brought = run.farm.folder / _name(found.number) / run.asked.reproducer
    there = run.libraries[found.number]
    if brought.exists():
        code = brought.read_text("utf-8", "replace")
        target.write_text(code.replace(there, run.asked.library) if there else code, "utf-8")


def _ask(program: Path, lines: Sequence[tuple[int, Pairs]]) -> list[Record]:
    """Returns how sure each line is, by the one who says it of a run of one machine."""
    text = "".join(
        " ".join(map(str, (programs, *(one for pair in pairs for one in pair)))) + "\n"
        for programs, pairs in lines
    )
    done = subprocess.run(
        [program, "--sure"], input=text, capture_output=True, text=True, check=True
    )
    found: list[Any] = [json.loads(one) for one in done.stdout.splitlines()]
    return found
