# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A terminal of a given width, with a command in it, as somebody in front of it sees it."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Seen:
    """What a command wrote: each piece with the seconds since it was started."""

    code: int
    pieces: tuple[tuple[float, str], ...]

    @property
    def drawn(self) -> list[str]:
        """Returns each line as often as it was drawn, without colours, the empty ones left out."""
        text = _SEQUENCE.sub("", "".join(piece for _, piece in self.pieces))
        return [one for one in re.split(r"[\r\n]+", text) if one.strip()]

    @property
    def first_s(self) -> float:
        """Returns when the first word came."""
        return self.pieces[0][0]

    @property
    def longest_silence_s(self) -> float:
        """Returns the longest time without a new word."""
        times = [at for at, _ in self.pieces]
        return max((later - at for at, later in itertools.pairwise(times)), default=0.0)


def watch(
    command: Sequence[str], columns: int, folder: Path, environment: Mapping[str, str]
) -> Seen:
    """Runs a command to its end in a pseudo terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    began, pieces = time.monotonic(), []
    more = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment}
    own = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env={**own, **more}
    )
    os.close(theirs)
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append((time.monotonic() - began, piece.decode("utf-8", "replace")))
    os.close(ours)
    return Seen(process.wait(), tuple(pieces))
