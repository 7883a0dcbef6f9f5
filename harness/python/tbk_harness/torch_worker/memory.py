# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Memory that is cheap to fork: a process with PyTorch has some 60,000 pages of its own, and the
kernel copies an entry for each with each fork, and drops it at each end. In huge pages they are
some hundred."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path

HUGE = 1 << 21
MADV_COLLAPSE = 25  # Linux 6.1; an older kernel refuses it, and all is as it was


def settle() -> None:
    """Keeps what is there now from ever being collected, so that a child copies no page for that;
    what comes later is collected again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    _collapse()


def _collapse() -> None:
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for begin, end in _heaps():
        for at in range((begin + HUGE - 1) & -HUGE, end - HUGE + 1, HUGE):
            madvise(at, HUGE, MADV_COLLAPSE)


def _heaps() -> Iterator[tuple[int, int]]:
    """Memory that can be written and belongs to no file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        named = fields[5] if len(fields) > 5 else "[heap]"
        if fields[1] == "rw-p" and named == "[heap]":
            begin, _, end = fields[0].partition("-")
            yield int(begin, 16), int(end, 16)
