# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command that a result file has for a test. Anybody may have written the file."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

MOST = 1 << 16  # characters: no command that was recorded is as long
_STEERS = re.compile(r"TBK_[A-Z0-9_]+_SIMULATOR")  # as steering.c has it


@dataclass(frozen=True)
class Command:
    """A recorded command, taken apart; `words` are empty where it is none.

    `variables`: those that steer a simulated driver, and no others. `preloads`: it also names what
    is preloaded, which is never taken from it.
    """

    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    preloads: bool = False

    @property
    def program(self) -> str:
        return PurePath(self.words[0]).name if self.words else ""


def steers(name: str) -> bool:
    """Returns whether this is a variable that steers a simulated driver."""
    return _STEERS.fullmatch(name) is not None


def read(command: str) -> Command:
    """Takes a command apart. What can be no command at all has no words."""
    try:
        words = shlex.split(command) if len(command) <= MOST and "\0" not in command else []
    except ValueError:
        return Command()
    if words[:1] != ["env"]:
        return Command(tuple(words))
    stated = list(itertools.takewhile(lambda word: "=" in word, words[1:]))
    pairs = dict(word.split("=", 1) for word in stated)
    return Command(
        words=tuple(words[1 + len(stated) :]),
        variables={name: text for name, text in pairs.items() if text and steers(name)},
        preloads="LD_PRELOAD" in pairs,
    )
