# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Where a run writes its results."""
    return tmp_path / "results.jsonl"
