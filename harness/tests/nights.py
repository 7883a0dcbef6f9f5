# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which cases of a test each push proves; `ci/nightly tests` proves the others."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

NIGHT = pytest.mark.night


def every(cases: Iterable[object], step: int) -> list[object]:
    """Returns all cases, of which a push proves the first and each `step`th behind it."""
    return [pytest.param(case, marks=NIGHT) if at % step else case for at, case in enumerate(cases)]
