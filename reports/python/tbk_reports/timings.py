# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Durations as a picture: a histogram over powers of ten, and the slowest tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import text
from .model import Test

EDGES_NS = tuple(10**power for power in range(3, 12))  # 1 µs to 100 s
WIDTH, HEIGHT, BASE = 640, 190, 150


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    count: int
    label: str


@dataclass(frozen=True)
class Slow:
    id: str
    words: str
    percent: float
    state: str


@dataclass(frozen=True)
class Timings:
    bars: tuple[Bar, ...]
    slowest: tuple[Slow, ...]
    total: str
    median: str
    summary: str


def _cost(test: Test) -> int:
    return test.wall_ns or test.duration_ns


def _bucket(cost: int) -> int:
    return sum(cost >= edge for edge in EDGES_NS)


def _labels() -> list[str]:
    below = [f"< {text.time_words(EDGES_NS[0])}"]
    return below + [f"≥ {text.time_words(edge)}" for edge in EDGES_NS]


def timings(tests: Iterable[Test], slowest: int = 12) -> Timings | None:
    """Returns None where nothing was timed."""
    timed = sorted((test for test in tests if _cost(test)), key=_cost, reverse=True)
    if not timed:
        return None
    counts = [0] * (len(EDGES_NS) + 1)
    for test in timed:
        counts[_bucket(_cost(test))] += 1
    used = [index for index, count in enumerate(counts) if count]
    longest = _cost(timed[0])
    median = text.time_words(_cost(timed[len(timed) // 2]))
    return Timings(
        bars=_bars(counts, range(used[0], used[-1] + 1)),
        slowest=tuple(
            Slow(
                test.id,
                text.time_words(_cost(test)),
                round(max(100 * _cost(test) / longest, 0.5), 1),
                test.state,
            )
            for test in timed[:slowest]
        ),
        total=text.time_words(sum(map(_cost, timed))),
        median=median,
        summary=f"{len(timed)} timed tests; median {median}, longest {text.time_words(longest)}",
    )


def _bars(counts: list[int], shown: range) -> tuple[Bar, ...]:
    labels = _labels()
    step = WIDTH / len(shown)
    width = min(step * 0.7, 90)
    top = max(counts)
    return tuple(
        Bar(
            x=round(place * step + (step - width) / 2, 1),
            y=round(BASE - 120 * counts[index] / top, 1),
            width=round(width, 1),
            height=round(120 * counts[index] / top, 1),
            count=counts[index],
            label=labels[index],
        )
        for place, index in enumerate(shown)
    )
