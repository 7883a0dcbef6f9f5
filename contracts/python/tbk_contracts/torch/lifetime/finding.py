# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a sequence has shown to be wrong."""

from __future__ import annotations

from dataclasses import dataclass


class Wrong(Exception):  # noqa: N818  # a verdict on the device, not an error
    """Ends a sequence: the clause, what was looked at, what was expected and what was seen."""

    def __init__(self, clause: str, what: str, expected: object, seen: object) -> None:
        super().__init__(f"{clause}: {what}: expected {expected}, saw {seen}")
        self.clause, self.what = clause, what
        self.expected, self.seen = str(expected), str(seen)


class NoRoom(Exception):  # noqa: N818  # of the device, as it may be
    """Ends a sequence that takes more memory than the device can give."""


@dataclass
class Shown:
    """What sequences have looked at: nothing of it shows that a device is right by itself."""

    reads: int = 0
    pending_frees: int = 0
    """Tensors that were freed while work that uses them was pending for certain."""
    refusals: int = 0
    """Allocations that were more than there is."""
    figures: int = 0
    """Comparisons of statistics with the model."""
