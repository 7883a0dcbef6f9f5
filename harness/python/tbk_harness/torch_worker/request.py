# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the command line asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "torch_"  # of a suite; the rest is the name of its file
FILES = ("test_", "act_")  # begin so; the second are the harness's own


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
        """Returns the files of which no test is selected for sure, where each word of `only` names
        a suite, or a test of one: PyTorch's table of operators takes longer to import than PyTorch.

        With any other word, and with a suite that is none, none is left out: the supervisor
        selects.
        """
        found = [path for path in folder.glob("*.py") if path.name.startswith(FILES)]
        files = {PREFIX + path.stem.removeprefix("test_"): path for path in found}
        wanted = {word.partition("/")[0] for word in self.only}
        if not wanted or not wanted <= files.keys():
            return []
        return [path for suite, path in files.items() if suite not in wanted]
