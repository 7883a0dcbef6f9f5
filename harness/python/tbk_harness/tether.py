# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command that ends where the process that started it ends, however that ends.

`python tether.py PARENT COMMAND...`; on Linux. Elsewhere the command is run as it is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def command(*words: str) -> list[str]:
    """Returns `words` as a command that gets TERM when this thread ends."""
    return [sys.executable, "-S", "-E", __file__, str(os.getpid()), *words]


def when_parent_ends(number: int) -> None:
    """Has this process get a signal when the thread that started it ends; 0: none any more."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def main() -> None:
    """Ties the process to its parent, and becomes the command."""
    parent, words = int(sys.argv[1]), sys.argv[2:]
    when_parent_ends(signal.SIGTERM)
    if sys.platform == "linux" and os.getppid() != parent:  # it ended before
        raise SystemExit(128 + signal.SIGTERM)
    os.execv(words[0], words)  # noqa: S606  # a path


if __name__ == "__main__":
    main()
