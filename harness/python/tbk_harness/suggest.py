# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a mistyped word was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import tbk_contracts

CUTOFF = 0.6


def hint(word: str, known: Iterable[str], most: int = 3) -> str:
    """ "; did you mean A or B?", for the end of a line; empty where nothing is near."""
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), names, n=most, cutoff=CUTOFF)
    return f"; did you mean {' or '.join(names[name] for name in near)}?" if near else ""


def clause_words() -> set[str]:
    """What --only takes besides the ids of tests."""
    found: set[str] = set()
    for one in tbk_contracts.clauses():
        found |= {
            one.id,
            one.area,
            one.profile,
            *(row.id for row in tbk_contracts.tests_of(one.id)),
        }
    return found
