# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How long this command has been at work, and how busy the machine is: for what keeps a budget."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_SLOWNESS = 16.0
_began: list[float] = []


def begin(at: float) -> None:
    """Notes that the command began at this time of the monotonic clock."""
    _began[:] = [at]


def began() -> float:
    """Returns when the command began, by the monotonic clock."""
    return _began[0] if _began else time.monotonic()


def slowness() -> float:
    """Returns how many seconds this command took for one of a processor: the time in which it could
    have run and was not let counts (schedstat). 1 where the kernel does not say."""
    try:
        ran, waited = map(int, Path("/proc/self/schedstat").read_text("utf-8").split()[:2])
    except (OSError, ValueError):
        return 1.0
    return min((ran + waited) / ran, MOST_SLOWNESS) if ran > 0 else 1.0


def start_up(header: Mapping[str, Any], launched: float) -> float:
    """Returns how many seconds a run that was launched at this time of day took until its first
    test; 0 where its header does not say."""
    try:
        first = datetime.datetime.fromisoformat(str(header.get("started")).replace("Z", "+00:00"))
        return max(first.timestamp() - launched, 0.0)
    except ValueError:
        return 0.0
