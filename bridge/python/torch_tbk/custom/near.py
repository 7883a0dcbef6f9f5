# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Words that are near a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.65  # of three letters one may be wrong; below it, words are alike by mere chance


def meant(word: str, there: Iterable[str]) -> str:
    """ "; A is meant?", for the end of a line; empty where nothing is near."""
    near = difflib.get_close_matches(word, list(there), 1, CUTOFF)
    return f"; {near[0]} is meant?" if near else ""
