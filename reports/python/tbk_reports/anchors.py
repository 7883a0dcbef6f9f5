# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a part of the page is called in an address: each clause, test and area its own name."""

from __future__ import annotations

import re

ANCHOR_LIMIT = 200
_CLAUSE = re.compile(r"[A-Z]{3}-\d{3}")


def clause_anchor(clause: str) -> str:
    """The id of a clause is that of its row; what is no such id has no anchor."""
    return clause if _CLAUSE.fullmatch(clause) else ""


_ODD = re.compile(r"[^!-~]|[\"'<>&`%#]")


def _anchor(kind: str, name: str) -> str:
    """Returns an anchor of its own for each name; report.js makes the same."""
    plain = _ODD.sub("_", name)[:ANCHOR_LIMIT]
    return f"{kind}-{plain}" if plain == name else f"{kind}-{plain}~{_hash(name):x}"


def test_anchor(test_id: str) -> str:
    return _anchor("t", test_id)


def area_anchor(name: str) -> str:
    return _anchor("area", name)


def _hash(value: str) -> int:
    """Returns FNV-1a of the UTF-16 units, as a script counts them."""
    units = memoryview(value.encode("utf-16-le", "surrogatepass")).cast("H")
    found = 0x811C9DC5
    for unit in units:
        found = (found ^ unit) * 0x01000193 & 0xFFFFFFFF
    return found
