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


def nearest(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Returns the words that may have been meant, the nearest first."""
    names = {name.lower(): name for name in known if _near(word, name)}
    near = difflib.get_close_matches(word.lower(), names, n=most, cutoff=CUTOFF)
    return [names[name] for name in near]


def hint(word: str, known: Iterable[str], most: int = 3) -> str:
    """ "; did you mean A or B?", for the end of a line; empty where nothing is near."""
    near = nearest(word, known, most)
    return f"; did you mean {' or '.join(near)}?" if near else ""
