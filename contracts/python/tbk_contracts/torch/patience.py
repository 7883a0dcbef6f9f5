# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The clock of patience: it counts no time in which this process was stopped, frozen with its
container, or not let run. Whoever waits by it looks often."""

from __future__ import annotations

import time
from collections.abc import Callable

STANDSTILL_S = 0.5  # more than that between two looks is not counted
STEP_S = STANDSTILL_S / 4  # how long to wait at once
_seen_s = _awake_s = 0.0


def awake_s() -> float:
    """Returns a time in seconds, as time.monotonic does; it stands still where nobody asks."""
    global _seen_s, _awake_s  # noqa: PLW0603  # without a lock, which a fork could leave taken
    now = time.monotonic()
    _awake_s += min(max(0.0, now - _seen_s), STANDSTILL_S)
    _seen_s = now
    return _awake_s


def wait(wait_for: Callable[[float], object], patience_s: float) -> bool:
    """Returns whether `wait_for`, which is told how long to wait at once, is true in time."""
    until = awake_s() + patience_s
    while not wait_for(max(0.0, min(STEP_S, until - awake_s()))):
        if awake_s() >= until:
            return False
    return True
