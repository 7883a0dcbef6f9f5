# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How long this command has been at work, and how busy the machine is: for what keeps a budget."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_SLOWNESS = 16.0
_began: list[float] = []


def begin(age: float = 0) -> None:
    """Notes that the command began `age` seconds ago."""
    _began[:] = [time.monotonic() - age]


def began() -> float:
    """Returns when the command began, by the monotonic clock."""
    return _began[0] if _began else time.monotonic()


def process_age() -> float:
    """Returns for how many seconds this process has been there; 0 where the kernel does not say."""
    try:
        after_name = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2]
        ticks = int(after_name.split()[19])
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


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
