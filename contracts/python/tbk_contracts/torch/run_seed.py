# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The seed from which a whole run makes its inputs, as --seed and --tbk-seed give it."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

DEFAULT = 1  # that of tbk-run
BITS = 32  # as many as numpy takes
PER_TEST = 1 << 20  # more than a test asks for


@dataclass
class _Run:
    seed: int = DEFAULT
    test: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


_run = _Run()


def choose(seed: int) -> None:
    """Before the first input is made."""
    _run.seed = seed % (1 << BITS)


def chosen() -> int:
    """Returns the number to seed generators from."""
    return _run.seed


def begin(test: str) -> None:
    """The test that runs next: alone or behind others, it gets the same numbers."""
    _run.test, _run.numbers = test, itertools.count(1)


def fresh() -> int:
    """Another number each time, and others in each test."""
    return zlib.crc32(f"{_run.seed} {_run.test}".encode()) * PER_TEST + next(_run.numbers)
