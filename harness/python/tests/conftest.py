# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from pathlib import Path

import pytest
from invoke import Tbk, starter


@pytest.fixture
def tbk(tmp_path: Path) -> Tbk:
    """Returns the command, in an empty folder."""
    return starter(tmp_path)
