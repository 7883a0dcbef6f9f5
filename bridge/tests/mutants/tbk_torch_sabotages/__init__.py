# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Devices that are broken as drivers are, for the bench of first diagnoses. Never shipped.

TBK_TORCH_SABOTAGE names the one that tbk_torch_device.py applies. Each stands in one area, and
harness/tests/bench/budget.py counts how many `tbk check --budget` finds. No kill matrix has them.
Those of held_out.py were written before the order of tests was changed, and nothing was changed for
one of them. Those of second.py break what users hold in their hands, rather than kernels; those of
third.py were written by somebody who had read a few of the tests (docs/adr/0151 says which).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from tbk_torch_mutants.native import apply_native

Apply = Callable[[], object]
ENVIRONMENT = "TBK_TORCH_SABOTAGE"
SETS = ("first", "held_out", "second", "third")


@dataclass(frozen=True)
class Sabotage:
    """What is broken, and where."""

    area: str
    apply: Apply


_sabotages: dict[str, dict[str, Sabotage]] = {name: {} for name in SETS}


def sabotages(of: str) -> dict[str, Sabotage]:
    """Returns those of one set, by name."""
    importlib.import_module(f"{__name__}.{of}")
    return _sabotages[of]


def apply(called: str) -> None:
    """Breaks the device that is loaded."""
    found = [chosen[called] for chosen in map(sabotages, SETS) if called in chosen]
    if len(found) != 1:
        raise ValueError(f"{len(found)} sabotages are called {called}")
    found[0].apply()


def sabotage(called: str, area: str, of: str = "first") -> Callable[[Apply], Apply]:
    """Registers the function that follows."""

    def register(apply: Apply) -> Apply:
        _sabotages[of][called] = Sabotage(area, apply)
        return apply

    return register


def native(called: str, area: str, of: str = "first") -> None:
    """Registers one that is written in C++ (native/sabotage.cpp)."""
    sabotage(called, area, of)(lambda: apply_native(f"sabotage_{called}"))
