# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Hands the signals that would end a command on to the process that it drives."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator

# The gentlest first: an interrupt is what Python itself cleans up behind.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


class Interruption:
    """Hands on to a runner what would end this command, so that it writes its footer and leaves.

    A signal raises nothing here: one that comes while another is handed on, or between two calls,
    would leave the runner alone.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._came = 0
        # A runner ignores what this command does: behind the & of a script, SIGINT is lost on both.
        heeded = [one for one in ENDING if not _is_ignored(one)]
        self._harder = iter(heeded[:2])

    def take(self, _number: int, _frame: object) -> None:
        """Handles a signal: the third kills the runner, and its workers go with it."""
        if self.process is None:
            self._came += 1
        else:
            self.process.send_signal(next(self._harder, signal.SIGKILL))

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Hands on what came before there was a process."""
        self.process = process
        for _ in range(self._came):
            self.take(0, None)


@contextlib.contextmanager
def handed_on() -> Iterator[Interruption]:
    """Hands signals on to the process that is started within; what is ignored stays so: nohup."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    taken = [one for one in ENDING if not _is_ignored(one)]
    before = {one: signal.signal(one, interruption.take) for one in taken}
    try:
        yield interruption
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
