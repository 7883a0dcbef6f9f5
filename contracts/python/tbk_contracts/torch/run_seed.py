# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The seed from which a whole run makes its inputs, as --seed and --tbk-seed give it."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT = 1  # that of tbk-run
BITS = 32  # as many as numpy takes


@dataclass
class _Run:
    seed: int = DEFAULT


_run = _Run()


def choose(seed: int) -> None:
    """Before the first input is made."""
    _run.seed = seed % (1 << BITS)


def chosen() -> int:
    """The number to seed generators from."""
    return _run.seed
