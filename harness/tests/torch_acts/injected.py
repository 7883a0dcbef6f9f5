# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Imported by a worker: one contract of a hundred crashes, hangs, ends its process or spoils it."""

from __future__ import annotations

import ctypes
import os
import threading
import zlib

import pytest
import torch
from tbk_contracts.torch.plugin import describe

ONE_OF = 100
_run_test = pytest.Function.runtest


def _crash() -> None:
    ctypes.string_at(0)


def _hang() -> None:
    threading.Event().wait()


def _exit() -> None:
    os._exit(0)


def _poison() -> None:
    """The contracts after it in the same process see other answers."""
    torch.Tensor.cpu = torch.Tensor.numpy  # type: ignore[assignment, method-assign]
    torch.Tensor.to = torch.Tensor.type  # type: ignore[assignment, method-assign]


ACTS = (_crash, _hang, _exit, _poison)
VERDICTS = {"_crash": "crash", "_hang": "hang", "_exit": "crash"}


def act_of(test: str) -> str:
    """Returns the name of what is done in this test; "" for the others."""
    chance = zlib.crc32(test.encode())
    return ACTS[chance // ONE_OF % len(ACTS)].__name__ if chance % ONE_OF == 0 else ""


def _run_injected(item: pytest.Function) -> None:
    case = describe(item)
    act = act_of(case.id) if case else ""
    _run_test(item)
    if act:
        globals()[act]()


pytest.Function.runtest = _run_injected  # type: ignore[assignment, method-assign]
