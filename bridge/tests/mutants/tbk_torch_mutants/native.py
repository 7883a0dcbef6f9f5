# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The mutants that are written in C++: functions of what the bridge has registered, replaced."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.table import Row, add

_FILE = Path("lib") / "bridge_tests" / "tbk_torch_mutants.so"


def build_folder() -> Path:
    """The checkout's, or the one that TBK_BUILD names."""
    build = os.environ.get("TBK_BUILD")
    return Path(build) if build else Path(__file__).resolve().parents[4] / "build"


@functools.cache
def library() -> ctypes.CDLL:
    """Built with the bridge's tests; next to the bridge that is loaded."""
    loaded = ctypes.CDLL(str(build_folder() / _FILE))
    loaded.tbk_torch_mutants_names.restype = ctypes.c_char_p
    loaded.tbk_torch_mutants_storage_names.restype = ctypes.c_char_p
    return loaded


def names() -> set[str]:
    """Those that the library has, but for what it does to storages."""
    return set(library().tbk_torch_mutants_names().decode().split())


def storage_names() -> set[str]:
    """Returns what it does to storages."""
    return set(library().tbk_torch_mutants_storage_names().decode().split())


def _check(name: str, found: int) -> None:
    if found != 1:
        raise RuntimeError(f"{name}: not applied, {found} found")


def apply_native(name: str) -> None:
    """Break the device that is loaded."""
    _check(name, library().tbk_torch_mutants_apply(name.encode()))


def native(name: str, clauses: str, breaks: str, *, narrow: bool = False, tests: str = "") -> None:
    """A row of the library."""

    def apply() -> None:
        apply_native(name)

    add(Row(name, clauses, breaks, narrow, "native", tests), apply)


def apply_to_storages(name: str) -> None:
    """Changes the allocator of storages, once there is a storage."""
    pending = [name]

    def make(original: Any, *arguments: Any, **named: Any) -> torch.Tensor:
        made: torch.Tensor = original(*arguments, **named)
        if pending:
            call = library().tbk_torch_mutants_apply_to_storage
            call.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
            _check(name, call(pending.pop().encode(), made.untyped_storage()._cdata))
        return made

    kernels.around("empty.memory_format empty_strided", make)


def storage(name: str, clauses: str, breaks: str, *, narrow: bool = False, tests: str = "") -> None:
    """A row of the library that changes the allocator of storages."""

    def apply() -> None:
        apply_to_storages(name)

    add(Row(name, clauses, breaks, narrow, "storage", tests), apply)


def backend(name: str, clauses: str, breaks: str, *, narrow: bool = False, tests: str = "") -> None:
    """A mutant of the C layer, seen through the bridge: the library is another one."""

    def apply() -> None:
        raise RuntimeError(f"load the library of the C layer's mutants with mutant={name}")

    add(Row(f"backend:{name}", clauses, breaks, narrow, "backend", tests), apply)
