# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The backend that fails the call it is told to (bridge/tests/backends), as Python sees it."""

from __future__ import annotations

import ctypes
from pathlib import Path

STATUS = {"UNSUPPORTED": 3, "OUT_OF_MEMORY": 4, "FAILED": 7}


class Live(ctypes.Structure):
    """What is alive of what can be created and given back."""

    _fields_ = [
        (name, ctypes.c_int64) for name in ("memory", "streams", "events", "pinned", "plans")
    ]

    def counts(self) -> dict[str, int]:
        return {field[0]: getattr(self, field[0]) for field in self._fields_}


class Faulty:
    """The controls that the library exports beside its entry."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.faulty_name.restype = ctypes.c_char_p
        self._library.faulty_arm.argtypes = (ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int32)
        self._library.faulty_arm.restype = ctypes.c_bool
        self._library.faulty_calls.argtypes = (ctypes.c_char_p,)
        self._library.faulty_calls.restype = ctypes.c_uint64
        self._library.faulty_live.restype = Live

    def names(self) -> list[str]:
        names, index = [], 0
        while (name := self._library.faulty_name(index)) is not None:
            names.append(name.decode())
            index += 1
        return names

    def arm(self, name: str, at: int, status: str) -> None:
        assert self._library.faulty_arm(name.encode(), at, STATUS[status]), name

    def disarm(self) -> None:
        self.arm("upload", 0, "FAILED")

    def calls(self, name: str) -> int:
        return int(self._library.faulty_calls(name.encode()))

    def live(self) -> dict[str, int]:
        live: Live = self._library.faulty_live()
        return live.counts()
