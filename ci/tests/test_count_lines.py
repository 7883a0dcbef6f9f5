# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks when the table of sizes in docs/layout.md counts as stale."""

from __future__ import annotations

from collections import Counter

import count_lines
import pytest

TABLE = "| `cpu` | 4,000 | 12 |\n| `cuda` | 90 |  |\n"


@pytest.mark.parametrize(
    ("written", "stale"),
    [
        (TABLE, False),
        (TABLE.replace("4,000", "3,810"), False),
        (TABLE.replace("4,000", "3,700"), True),
        (TABLE.replace("| 12 |", "| 31 |"), False),
        (TABLE.replace("| 12 |", "| 40 |"), True),
        (TABLE.replace("| 12 |", "|  |"), True),
        (TABLE.replace("| `cuda` | 90 |  |\n", ""), True),
        (TABLE.replace("cuda", "npu"), True),
    ],
)
def test_a_table_is_stale_when_it_misleads(written: str, stale: bool) -> None:
    assert count_lines.agree(written, TABLE) != stale


def test_a_room_has_no_more_lines_than_it_may() -> None:
    found = {room: Counter(C=limit) for room, limit in count_lines.LIMITS.items()}
    assert count_lines.over(found) == []
    found["reference_backends/npu"]["C"] += 1
    assert count_lines.over(found) == [
        "reference_backends/npu: 2,501 lines of C, more than 2,500: see ADR 200"
    ]
