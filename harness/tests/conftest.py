# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import Results, processes_with
from torch_runs import HOSTILE, judge

ENDING = (signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Where a run writes its results."""
    return tmp_path / "results.jsonl"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Returns what is said of each act of act_hostile.py on PyTorch's own CPU."""
    output = tmp_path_factory.mktemp("hostile") / "results.jsonl"
    done = judge(output, "--only", HOSTILE, "--isolation", "fork", "--timeout", "8")
    assert done.code == 1, done.stdout  # the suite is at fault, too, and hides no finding
    assert "5 tests ended in a suite error" in done.stdout
    assert not processes_with(str(output))
    return done.results()


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
