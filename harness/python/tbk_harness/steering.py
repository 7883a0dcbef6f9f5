# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Variables that steer a simulated driver, with which a recorded command begins.

Without the seed among them, the same test runs in another order.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections.abc import Iterator

_STEERS = re.compile(r"TBK_[A-Z0-9_]+_SIMULATOR=")


def here() -> list[str]:
    """Returns what a command begins with, so that it runs as this process would run it."""
    found = sorted(
        f"{name}={text}" for name, text in os.environ.items() if text and _STEERS.match(name + "=")
    )
    return ["env", *found] if found else []


def without(words: list[str]) -> list[str]:
    """Returns a recorded command without its variables: no file says what is preloaded."""
    if words[:1] != ["env"]:
        return words
    return list(itertools.dropwhile(lambda word: "=" in word, words[1:]))


def variables(command: str) -> dict[str, str]:
    """Returns what a recorded command says of simulated drivers.

    Nothing of another kind, since a file that somebody sent may hold anything.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return {}
    stated = words[1 : len(words) - len(without(words))]
    return dict(word.split("=", 1) for word in stated if _STEERS.match(word))


@contextlib.contextmanager
def steered(command: str) -> Iterator[None]:
    """Has these variables in the environment for a while."""
    before = dict(os.environ)
    os.environ.update(variables(command))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
