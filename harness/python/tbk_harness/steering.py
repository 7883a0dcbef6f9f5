# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Variables that steer a simulated driver, with which a recorded command begins.

Without the seed among them, the same test runs in another order; and so it does with a seed that
the run did not have.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence

from tbk_reports import recorded


def here() -> list[str]:
    """Returns what `env` is told so that a command runs as this process would run it."""
    return sorted(f"{name}={text}" for name, text in os.environ.items() if _steers(name, text))


def _steers(name: str, text: str) -> bool:
    return bool(text) and recorded.steers(name)


def shown(told: Sequence[str], command: Sequence[str]) -> str:
    """Returns a command that can be pasted; `told`: what `env` is told for it."""
    return shlex.join(["env", *told, *command] if told else command)


def steer(command: str) -> list[str]:
    """Makes the environment that of a recorded run, and returns what `env` is told to do so, too.

    Nothing else that the command states is set, since a file that somebody sent may hold anything.
    """
    stated = recorded.read(command).variables
    others = sorted(
        name for name, text in os.environ.items() if _steers(name, text) and name not in stated
    )
    for name in others:
        del os.environ[name]
    os.environ.update(stated)
    unset = [word for name in others for word in ("-u", name)]
    return unset + [f"{name}={text}" for name, text in stated.items()]


@contextlib.contextmanager
def steered(command: str) -> Iterator[list[str]]:
    """Does so for a while."""
    before = dict(os.environ)
    try:
        yield steer(command)
    finally:
        os.environ.clear()
        os.environ.update(before)
