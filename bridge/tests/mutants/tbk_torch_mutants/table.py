# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of mutants: one row each, written where the mutant is."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Apply = Callable[[], object]

FROZEN = "TBK_FROZEN_MUTANTS"
_MECHANISMS = ("operator", "module", "native", "storage", "backend")


@dataclass(frozen=True)
class Row:
    """One mutant."""

    name: str
    clauses: str
    """Ids of what it breaks, space-separated: a test of each has to notice."""
    breaks: str
    """In one line."""
    narrow: bool
    """Most uses do not notice."""
    mechanism: str
    """operator, module: Python; native, storage: C++; backend: one of tbk-mutants, by that name."""
    tests: str
    """Where many tests cite the clause: parts of the ids of those that should notice."""


_rows: dict[str, Row] = {}
_apply: dict[str, Apply] = {}


def add(row: Row, apply: Apply) -> None:
    """A row, and what it does to the device that is loaded."""
    if row.name in _rows:
        raise ValueError(f"two mutants are called {row.name}")
    if row.mechanism not in _MECHANISMS:
        raise ValueError(f"{row.name}: no mechanism is called {row.mechanism}")
    _rows[row.name], _apply[row.name] = row, apply


def mutant(
    name: str,
    clauses: str,
    breaks: str,
    *,
    narrow: bool = False,
    tests: str = "",
    mechanism: str = "operator",
) -> Callable[[Apply], Apply]:
    """The function that follows breaks the device."""

    def register(apply: Apply) -> Apply:
        add(Row(name, clauses, breaks, narrow, mechanism, tests), apply)
        return apply

    return register


def rows() -> dict[str, Row]:
    """All of them, by name; with TBK_FROZEN_MUTANTS those written without sight of the tests."""
    package = "tbk_torch_mutants.frozen" if os.environ.get(FROZEN) else "tbk_torch_mutants"
    folder = Path(__file__).parent / ("frozen" if os.environ.get(FROZEN) else ".")
    for module in pkgutil.iter_modules([str(folder)]):
        if not module.name.startswith("__") and not module.ispkg:
            importlib.import_module(f"{package}.{module.name}")
    return dict(sorted(_rows.items()))


def apply(name: str) -> None:
    """Break the device that is loaded."""
    rows()
    if name not in _apply:
        raise ValueError(f"no mutant is called {name}")
    _apply[name]()
