# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a command is doing, on its terminal or in its log, from its first moment to its verdict."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from rich.console import Console
from rich.live import Live
from rich.style import Style
from rich.text import Text

from tbk_harness.progress_row import PLAIN_SIGNS, SIGNS, Progress, row, sentence

LOG_S = 30
REFRESH_HZ = 8


class Display:
    """One line that is drawn again and again; without a terminal, a line every 30 s.

    It is drawn by a thread of its own, so that it moves while this one imports or waits.
    """

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self.console = console
        self._now, self._since = Progress("starting"), time.monotonic()
        self._takes: float | None = None
        self._ended = threading.Event()
        self._live: Live | None = None
        self._thread: threading.Thread | None = None
        self._quiet = quiet
        if quiet:
            return
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(
                console=console, get_renderable=self._draw, refresh_per_second=REFRESH_HZ,
                transient=True, redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._log, daemon=True)
            self._thread.start()

    def phase(self, name: str, takes: float | None = None, unit: str = "tests") -> None:
        """Begins another phase, with a clock of its own; the same name goes on. `takes`: so many
        seconds, where that is known beforehand; `unit`: what the phase counts."""
        if name != self._now.phase:
            self._now, self._since = Progress(name, left=takes, unit=unit), time.monotonic()
            self._takes = takes
            if self._live is not None:
                self._live.refresh()  # a phase that is over soon is seen, too

    def show(
        self, done: int, planned: int, failing: int, left: float | None = None, latest: str = ""
    ) -> None:
        """Says how far the phase is."""
        self._now = replace(
            self._now, done=done, planned=planned, failing=failing, left=left, latest=latest
        )

    def tell(self, words: str) -> None:
        """Prints a line that stays."""
        if not self._quiet:
            self.console.print(Text(words, style="dim"))

    def stop(self) -> None:
        """Takes the line away. What is printed next stands where it stood."""
        self._ended.set()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def now(self) -> Progress:
        """Returns where the phase is, with its clock."""
        seconds = time.monotonic() - self._since
        if self._takes is None:
            return replace(self._now, seconds=seconds)
        return replace(self._now, seconds=seconds, left=max(self._takes - seconds, 0.0))

    def _draw(self) -> Text:
        now = self.now()
        signs = PLAIN_SIGNS if self.console.options.ascii_only else SIGNS
        told = Text(row(now, self.console.width, signs), no_wrap=True, overflow="crop", end="")
        if now.failing:
            told.highlight_regex(r"[\d,]+[kM]? fail\b", Style(color="red"))
        return told

    def _log(self) -> None:
        while not self._ended.wait(LOG_S):
            self.console.print(Text(sentence(self.now())))


_current: list[Display] = []


def begin(console: Console, quiet: bool = False) -> Display:
    """Returns the display of this command; the one before ends."""
    end()
    _current.append(Display(console, quiet))
    return _current[-1]


def end() -> None:
    """Takes away whatever is drawn, so that an error stands on a line of its own."""
    while _current:
        _current.pop().stop()
