# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Calls the launcher's loop, which is C (harness/src/launcher.c), in a fork of the fork server."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

REPORT = 4  # the descriptor on which a worker reports
WORKER_EXIT = 86
NO_REPORT = 88  # exit status where that descriptor is closed, or another file

TESTS, PREFLIGHT, HEALTH = 1, 2, 3
LEAVE_AT_ONCE = 1  # the argument of TESTS
BASICS, WARMTH, WORDS = 0, 1, 2

PHASE_LOAD, PHASE_CREATE, PHASE_OPEN, PHASE_BODY = 1, 2, 3, 4
PHASE_CLEAN, PHASE_CLOSE, PHASE_EXIT = 5, 6, 7


class Cell(ctypes.Structure):
    """tbk_cell_t: where the worker is, as the supervisor sees it when it dies."""

    phase: int
    position: int
    _fields_ = (("phase", ctypes.c_int32), ("position", ctypes.c_int32))


class Order(ctypes.Structure):
    """tbk_launcher_job_t."""

    kind: int
    argument: int
    watch_health: int
    key: int
    count: int
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("argument", ctypes.c_uint32),
        ("watch_health", ctypes.c_int32),
        ("key", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("zero", ctypes.c_int32),
        ("items", ctypes.POINTER(ctypes.c_uint32)),
        ("cell", ctypes.POINTER(Cell)),
    )


class Files(ctypes.Structure):
    """tbk_launcher_files_t."""

    _fields_ = (
        ("control", ctypes.c_int32),
        ("report", ctypes.c_int32),
        ("output", ctypes.c_int32),
        ("page", ctypes.c_int32),
        ("cells", ctypes.c_int32),
        ("zero", ctypes.c_int32),
        ("at", ctypes.c_uint64),
    )


class Hooks(ctypes.Structure):
    """tbk_worker_t."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in ("get_ready", "work", "before_fork", "after_in_launcher", "after_in_worker")
    )


@dataclass(frozen=True)
class Job:
    """A worker's order, and the cell that it writes."""

    kind: int
    argument: int
    watch_health: bool
    key: int
    items: tuple[int, ...]
    cell: Cell


class Library:
    """libtbk_launcher.so."""

    def __init__(self, path: str) -> None:
        # PyDLL: whoever forks holds the GIL, as in os.fork.
        self._library = ctypes.PyDLL(path)
        self._library.tbk_launcher_layout.restype = ctypes.c_uint64
        self._library.tbk_launcher_serve.restype = ctypes.POINTER(Order)
        ours = ctypes.sizeof(Order) << 32 | Order.items.offset << 16 | ctypes.sizeof(Cell)
        if self._library.tbk_launcher_layout() != ours:
            raise RuntimeError(f"{path} belongs to another version of tbk_harness")
        python = ctypes.pythonapi
        self._hooks = Hooks(
            before_fork=_address(python.PyOS_BeforeFork),
            after_in_launcher=_address(python.PyOS_AfterFork_Parent),
            after_in_worker=_address(python.PyOS_AfterFork_Child),
        )

    def serve(self, descriptors: list[int], at: int) -> Job:
        """Be a launcher. Returns in workers only, each with its job."""
        control, report, output, page, cells = descriptors
        files = Files(control, report, output, page, cells, 0, at)
        order = self._library.tbk_launcher_serve(
            ctypes.byref(files), ctypes.byref(self._hooks)
        ).contents
        items = tuple(order.items[: order.count])
        cell = order.cell.contents
        watch = bool(order.watch_health)
        return Job(order.kind, order.argument, watch, order.key, items, cell)


def _address(function: object) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
