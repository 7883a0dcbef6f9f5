# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A report folder: one run at a time writes it, and the results of the run before are kept."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from pathlib import Path

from tbk_harness import outcome

RESULTS = "results.jsonl"
PREVIOUS = "results.previous.jsonl"
_TEST = re.compile(rb'"record"\s*:\s*"test"')
FARM = "farm"  # in PARTS: what the nodes of a farm wrote
PARTS = "parts"  # what tbk-run wrote where results.jsonl is made of several files


class BusyError(RuntimeError):
    """Another run writes this folder."""


def lock(folder: Path) -> int:
    """Makes the folder this process's own, as long as the descriptor is open. Raises BusyError.

    tbk-run gets the descriptor, so that the folder stays locked where it outlives the command.
    """
    outcome.prepare(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise BusyError(
            f"{folder}: another run is writing it; --report-dir gives this one a folder of its own"
        ) from error
    return descriptor


def set_aside(folder: Path) -> None:
    """Keeps the last results that say something of a test as the previous ones."""
    results = folder / RESULTS
    if _has_tests(results):
        results.replace(folder / PREVIOUS)
    for path in [results, *(folder / PARTS).glob("*.jsonl")]:
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / PARTS / FARM, ignore_errors=True)


def latest(folder: Path) -> Path | None:
    """Returns the last results that say something of a test; None where there are none."""
    return next(filter(_has_tests, (folder / RESULTS, folder / PREVIOUS)), None)


def _has_tests(results: Path) -> bool:
    try:
        with results.open("rb") as file:
            return any(_TEST.search(line) for line in file)
    except OSError:
        return False
