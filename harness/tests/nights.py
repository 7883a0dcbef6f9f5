# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which cases of a test each push proves; `ci/nightly tests` proves the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pytest

NIGHT = pytest.mark.night


def every(cases: Iterable[object], step: int) -> list[object]:
    """Returns all cases, of which a push proves the first and each `step`th behind it."""
    return [pytest.param(case, marks=NIGHT) if at % step else case for at, case in enumerate(cases)]


def but_for(cases: Sequence[object], at_a_push: Collection[object]) -> list[object]:
    """Returns all cases, of which a push proves those that are named."""
    unknown = [case for case in at_a_push if case not in cases]
    assert at_a_push, "a push proves each test by a case at least"
    assert not unknown, f"no cases: {unknown}"
    return [case if case in at_a_push else pytest.param(case, marks=NIGHT) for case in cases]
