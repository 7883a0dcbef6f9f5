# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One line that says what is going on: columns that stand still at every width of a terminal."""

from __future__ import annotations

from dataclasses import dataclass

C_LAYER, TORCH_LAYER, LITMUS = "C layer", "torch layer", "litmus programs"
IMPORTING, PROBING, BLAME = "importing PyTorch", "probing", "finding whom to blame"
JUDGING, READING = "judging, writing", "reading results"

NAME, CLOCK, LEFT = len(BLAME), 5, 10
NARROW = {"count": 11, "failing": 8}
WIDE = {"count": 13, "failing": 10}
LEAST_WIDTH, BAR_WIDTH, TEST_WIDTH = 60, 80, 120
LONGEST_BAR = 24
SIGNS, PLAIN_SIGNS = "━─", "#-"  # of a bar: what is done, and what is not


@dataclass(frozen=True)
class Progress:
    """Where a phase is; `left` in seconds, None where nobody can say."""

    phase: str
    seconds: float = 0.0
    done: int = 0
    planned: int = 0
    failing: int = 0
    left: float | None = None
    latest: str = ""
    unit: str = "tests"  # what is counted


def clock(seconds: float) -> str:
    """Returns at most five characters: 7s, 3m20s, 59m, 1h02m, 120h."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    if whole < 600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 3600:
        return f"{whole // 60}m"
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}h{minutes:02}m" if hours < 10 else f"{min(hours, 9999)}h"


def _short(count: int) -> str:
    return f"{count // 1_000_000}M" if count >= 10_000_000 else f"{count // 1000}k"


def _count(now: Progress, width: int) -> str:
    if not now.planned:
        return ""
    told = (
        f"{now.done:,}/{now.planned:,}",
        f"{now.done}/{now.planned}",
        f"{_short(now.done)}/{_short(now.planned)}",
    )
    return next((one for one in told if len(one) <= width), told[-1])


def _failing(now: Progress, width: int) -> str:
    told = (f"{now.failing:,} fail", f"{_short(now.failing)} fail", "99k+fail")
    found = next((one for one in told if len(one) <= width), told[-1])
    return found if now.failing else ""


def bar(now: Progress, width: int, signs: str = SIGNS) -> str:
    """Returns nothing but blanks where no end is known."""
    if not now.planned:
        return " " * width
    full = min(width * now.done // now.planned, width)
    return signs[0] * full + signs[1] * (width - full)


def row(now: Progress, width: int, signs: str = SIGNS) -> str:
    """Returns the line for a terminal of `width` columns, one short of it, so that none wraps.

    The columns of a width are the same whatever stands in them; below 60 the line is cut.
    """
    sizes = NARROW if width < BAR_WIDTH else WIDE
    parts = [f"{now.phase:<{NAME}.{NAME}}"]
    fixed = NAME + sizes["count"] + sizes["failing"] + CLOCK + LEFT + 4
    if width >= BAR_WIDTH:
        parts.append(bar(now, min(width - fixed - 2, LONGEST_BAR), signs))
    parts.append(f"{_count(now, sizes['count']):>{sizes['count']}}")
    parts.append(f"{_failing(now, sizes['failing']):>{sizes['failing']}}")
    parts.append(f"{clock(now.seconds):>{CLOCK}}")
    left = "" if now.left is None else f"{clock(now.left)} left"
    parts.append(f"{left:>{LEFT}}")
    told = " ".join(parts)
    if width >= TEST_WIDTH:
        told += f" {now.latest}"
    return told[: width - 1].ljust(width - 1)


def sentence(now: Progress) -> str:
    """Returns the same for a log, without columns."""
    parts = [f"{now.done:,} of {now.planned:,} {now.unit}"] if now.planned else []
    parts += [f"{now.failing:,} failing"] if now.failing else []
    parts.append(f"{clock(now.seconds)} so far")
    parts += [f"about {clock(now.left)} left"] if now.left is not None else []
    return f"{now.phase}: {', '.join(parts)}"
