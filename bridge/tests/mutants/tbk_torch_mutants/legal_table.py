# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of odd but legal devices."""

from __future__ import annotations

from collections.abc import Callable

Apply = Callable[[], object]
rows: dict[str, Apply] = {}


def legal(word: str) -> Callable[[Apply], Apply]:
    """The function that follows makes the device odd."""

    def register(apply: Apply) -> Apply:
        rows[word] = apply
        return apply

    return register
