# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a user names and that are read again, by us or by another process."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tbk_reports.given import is_pipe, read_given

OURS = 0o600  # it may be a private key
_folders: list[tempfile.TemporaryDirectory[str]] = []  # each goes with this process
_typed: dict[str, str] = {}  # by the copy's path


def as_file(path: Path) -> Path:
    """Returns the file itself; of a pipe, which can be read but once, a copy that lasts as long as
    this process. Raises OSError."""
    if not is_pipe(path):
        return path
    data = read_given(path)
    _folders.append(tempfile.TemporaryDirectory(prefix="tbk-given-"))
    copy = Path(_folders[-1].name) / path.name
    with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OURS), "wb") as file:
        file.write(data)
    _typed[str(copy)] = str(path)
    return copy


def is_copy(path: Path) -> bool:
    """Returns whether it is the copy of a pipe, beside which nothing lasts."""
    return str(path) in _typed


def as_typed(said: str) -> str:
    """Returns it with what a user typed in place of a copy's path."""
    for copy, path in _typed.items():
        said = said.replace(copy, path)
    return said
