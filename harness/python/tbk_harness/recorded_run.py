# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk-run's arguments in a recorded command: those that it records itself, and no others.

Others can write files, and short or shortened ones would be understood, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tbk_reports import recorded

_PYTHON = "--python"
# As record.c and its kinds write them, each with a value.
_RECORDED = frozenset({
    "--only", "--seed", "--case", "--backend-option", "--isolation",
    "--torch-device", "--torch-library", "--torch-import", "--facts", _PYTHON,
})  # fmt: skip


@dataclass(frozen=True)
class Run:
    """`library`: None, where a device of PyTorch is judged."""

    arguments: tuple[str, ...]
    library: Path | None


def read(command: str) -> Run:
    """Returns what tbk-run is told to do it again. Raises ValueError for any other command.

    PyTorch is that of this Python: as with the sanitizer, no file says which program runs.
    """
    found = recorded.read(command)
    if found.program != "tbk-run":
        raise ValueError("has no replay command of tbk-run")
    arguments: list[str] = []
    library: Path | None = None
    words = iter(found.words[1:])
    for word in words:
        if word.startswith("-"):
            arguments += _option(word, words)
        elif library is None:
            library = Path(word)
            arguments.append(word)
        else:
            raise ValueError("has a replay command with two libraries")
    return Run(tuple(arguments), library)


def _option(word: str, words: Iterator[str]) -> list[str]:
    name, equals, value = word.partition("=")
    if name not in _RECORDED:
        raise ValueError(f"has a replay command with {name}, which is never recorded")
    if not equals:
        value = next(words, "")
    return [name, sys.executable if name == _PYTHON else value]
