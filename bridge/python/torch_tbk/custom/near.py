# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Words that are near a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.65  # of three letters one may be wrong; below it, words are alike by mere chance
SHORT = 4  # letters; of such a word one may be too many or too few


def _near(word: str, one: str) -> bool:
    return min(len(word), len(one)) > SHORT or abs(len(word) - len(one)) <= 1


def meant(word: str, there: Iterable[str]) -> str:
    """ "; A is meant?", for the end of a line; empty where nothing is near."""
    near = difflib.get_close_matches(word, [one for one in there if _near(word, one)], 1, CUTOFF)
    return f"; {near[0]} is meant?" if near else ""
