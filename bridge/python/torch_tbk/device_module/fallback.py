# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What ran on the CPU because the backend has no kernel for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, cast

from torch_tbk._binding import binding

FallbackMode = Literal["silent", "warn", "error"]
"""What happens where an operator would run on the CPU; see `set_fallback_mode`."""


@dataclass(frozen=True)
class FallbackCount:
    """How often an operator has run on the CPU in place of a device."""

    operator: str
    """As "aten::add.Tensor"."""
    device: int
    """The index of the device."""
    count: int
    """Calls since the start, or reset_fallbacks."""


def fallbacks() -> list[FallbackCount]:
    """Returns the operators that have run on the CPU, the most frequent first. All threads'."""
    return [FallbackCount(*row) for row in binding.fallbacks()]


def reset_fallbacks() -> None:
    """Counts from 0 again."""
    binding.reset_fallbacks()


def get_fallback_mode() -> FallbackMode:
    """Returns what happens where an operator would run on the CPU; see set_fallback_mode."""
    return cast("FallbackMode", binding.fallback_mode())


def set_fallback_mode(mode: FallbackMode) -> None:
    """Chooses what happens where an operator would run on the CPU, for all threads.

    Args:
        mode: "silent": it does, and is counted. "warn": also a warning, once an operator. "error":
            it does not, and NotImplementedError says which operator it was. The environment
            variable TBK_FALLBACK gives the first value, "silent" where it is not set.

    Raises:
        ValueError: no such mode.
    """
    binding.set_fallback_mode(mode)


@contextmanager
def fallback_mode(mode: FallbackMode) -> Iterator[None]:
    """Context manager: set_fallback_mode inside, and what it was afterwards. For all threads."""
    previous = get_fallback_mode()
    set_fallback_mode(mode)
    try:
        yield
    finally:
        set_fallback_mode(previous)
