# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of routes: what the bridge asks generic kernels for, changed on its way to the backend.

They are turned on and off in one process, so that a test can hold each of them against each of its
calls. None is a row of the table of mutants, which are applied once and stay.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tbk_torch_mutants.native import library


@dataclass
class Hits:
    """How many calls a fault has changed, once it is over."""

    count: int = 0


def faults() -> list[str]:
    """Returns all of them: "tbk::index: sums are writes"."""
    loaded = library()
    loaded.tbk_torch_routes_faults.restype = ctypes.c_char_p
    names: str = loaded.tbk_torch_routes_faults().decode()
    return names.splitlines()


def watch(backend: Path, options: str) -> int:
    """Puts the faults before the generic kernels of the backend that is loaded. Returns how many
    kernels it offers; what calls prepare is no more kept meanwhile."""
    found: int = library().tbk_torch_routes_watch(str(backend).encode(), options.encode() or None)
    return found


def called() -> set[str]:
    """Returns which kernels were called since this was asked last."""
    loaded = library()
    loaded.tbk_torch_routes_called.restype = ctypes.c_char_p
    names: str = loaded.tbk_torch_routes_called().decode()
    return set(names.split())


def leave() -> None:
    """Leaves the kernels as they were."""
    library().tbk_torch_routes_leave()


@contextlib.contextmanager
def broken(fault: str) -> Iterator[Hits]:
    """Breaks each call within in this way, on every thread."""
    hits = Hits()
    if library().tbk_torch_routes_break(fault.encode()) < 0:
        raise ValueError(f"no fault is called {fault}")
    try:
        yield hits
    finally:
        hits.count = library().tbk_torch_routes_break(None)
