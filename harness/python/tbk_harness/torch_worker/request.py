# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the command line asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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

    @property
    def device_name(self) -> str:
        """As far as it is known before a library has told its own."""
        return self.device or "unnamed"
