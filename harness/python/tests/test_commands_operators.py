# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk operators: a check that ends its process, or does not end, is told, and the rest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tbk_harness import commands_operators

FAKE = """
import json, os, sys, time
for name in sys.argv[2:]:
    for check in ("values", "layouts"):
        row = {"operator": name, "check": check, "verdict": "begins", "says": ""}
        print(json.dumps(row), flush=True)
        if name == "aborts" and check == "layouts":
            os.abort()
        if name == "waits":
            time.sleep(3600)
        if name == "exits":
            os._exit(3)
        print(json.dumps({**row, "verdict": "pass"}), flush=True)
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a module without PyTorch in the place of the one that checks."""
    (tmp_path / "fake_checks.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(commands_operators, "_MODULE", "fake_checks")


def judged(names: list[str]) -> list[tuple[str, str, str]]:
    rows = commands_operators._judged([], names, 3600)
    return [(row["operator"], row["check"], row["verdict"]) for row in rows]


@pytest.mark.usefixtures("fake")
def test_a_crash_is_told_and_the_next_operator_goes_on() -> None:
    assert judged(["aborts", "good", "exits", "last"]) == [
        ("aborts", "values", "pass"),
        ("aborts", "layouts", "crash"),
        ("good", "values", "pass"),
        ("good", "layouts", "pass"),
        ("exits", "values", "crash"),
        ("last", "values", "pass"),
        ("last", "layouts", "pass"),
    ]


@pytest.mark.usefixtures("fake")
def test_a_check_without_an_end_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    # The deadline passes when the check has begun, however long that takes.
    plain = commands_operators._Process.rows

    def late(self: commands_operators._Process) -> object:
        for row in plain(self):
            yield row
            if row["operator"] == "waits":
                self._stop_late()

    monkeypatch.setattr(commands_operators._Process, "rows", late)
    assert judged(["waits", "good"]) == [
        ("waits", "values", "hang"),
        ("good", "values", "pass"),
        ("good", "layouts", "pass"),
    ]
