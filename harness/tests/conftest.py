# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ENDING = (signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Where a run writes its results."""
    return tmp_path / "results.jsonl"


@pytest.fixture
def heeds_signals() -> Iterator[None]:
    """Under nohup, or behind the & of a script, commands would do right to ignore what tests send
    them."""
    ignored = [one for one in ENDING if signal.getsignal(one) is signal.SIG_IGN]
    for one in ignored:
        signal.signal(one, signal.SIG_DFL)
    yield
    for one in ignored:
        signal.signal(one, signal.SIG_IGN)
