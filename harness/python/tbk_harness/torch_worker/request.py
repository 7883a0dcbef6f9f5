# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the command line asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import tbk_contracts

PREFIX = "torch_"  # of a suite; the rest is the name of its file
FILES = ("test_", "act_")  # begin so; the second are the harness's own
LEAST_PREFIX, MOST_PREFIX = 3, 6  # "MEM", "MEM-50": of the id of a clause


@dataclass(frozen=True)
class Request:
    """The device that is judged, and how to speak to the supervisor."""

    device: str | None
    imports: list[str]
    library: str | None
    options: list[str]
    facts: Path | None
    socket: int
    launcher: str | None
    timeout: float
    seed: int
    gate: str | None = None
    only: list[str] = field(default_factory=list)
    early: float = 0.0
    """How long importing may take for a child that asks for the name early; 0: none does."""

    @property
    def device_name(self) -> str:
        """As far as it is known before a library has told its own."""
        return self.device or "unnamed"

    def left_out(self, folder: Path) -> list[Path]:
        """Returns the files of which no test is selected for sure: PyTorch's table of operators
        takes longer to import than PyTorch.

        A word of `only` names a suite, or a test of one, or clauses, which a file that cites them
        names (`listing` sees to that). With any other word none is left out: the supervisor
        selects.
        """
        found = [path for path in folder.glob("*.py") if path.name.startswith(FILES)]
        files = {PREFIX + path.stem.removeprefix("test_"): path for path in found}
        kept: set[str] = set()
        for word in self.only:
            suite = word.partition("/")[0]
            named = {suite} if suite in files else _suites_with(_selected(word), files)
            if not named:
                return []
            kept |= named
        return [path for suite, path in files.items() if kept and suite not in kept]


def _selected(word: str) -> set[str]:
    """Returns the ids of the clauses that a word selects (harness/src/plan.c)."""
    clauses = tbk_contracts.clauses()
    if word.startswith("profile:"):
        return {one.id for one in clauses if one.profile == word.removeprefix("profile:")}
    if of_area := {one.id for one in clauses if one.area == word}:
        return of_area
    is_prefix = LEAST_PREFIX <= len(word) <= MOST_PREFIX
    return {
        one.id
        for one in clauses
        if word in (one.id, one.profile) or (is_prefix and one.id.startswith(word))
    }


def _suites_with(clauses: set[str], files: dict[str, Path]) -> set[str]:
    """Returns the suites whose files name one of these clauses."""
    if not clauses:
        return set()
    one_of = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(clauses)))})\b")
    return {suite for suite, path in files.items() if one_of.search(path.read_text("utf-8"))}
