# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a user names: for a pipe whose writer sleeps one would wait without end, and a device
without end would fill the memory."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import time
from pathlib import Path

MOST_BYTES = 1 << 31
MOST_PIPED = 1 << 28  # of a pipe nobody knows beforehand how much is in it
SILENCE_S = 60.0  # a writer that says nothing for so long has gone to sleep


def read_given(path: Path) -> bytes:
    """Returns what is in a regular file, or comes through a pipe, such as a shell's <(...). Raises
    OSError, with the reason, for everything else.

    A pipe can be read once: who hands a path on, or reads it again, makes a file of it before."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISFIFO(status.st_mode):
        return _piped(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    if status.st_size > MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_bytes()


def is_pipe(path: Path) -> bool:
    """Returns whether it can be read but once."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def _piped(path: Path) -> bytes:
    """Reads a pipe to its end. An empty one is an error: its writer failed, or there is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    found, size = [], 0
    try:
        while data := _next(descriptor, path):
            found.append(data)
            size += len(data)
            if size > MOST_PIPED:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    finally:
        os.close(descriptor)
    if not found:
        raise OSError(errno.ENODATA, "A pipe into which nothing was written", str(path))
    return b"".join(found)


def _next(descriptor: int, path: Path) -> bytes:
    """Returns the next bytes of a pipe, none at its end."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    until = time.monotonic() + SILENCE_S
    while True:
        with contextlib.suppress(BlockingIOError):  # there is a writer, and nothing yet
            return os.read(descriptor, 1 << 20)
        left_s = until - time.monotonic()
        if left_s <= 0:
            break
        waiting.poll(1000 * left_s)  # not before: it tells nothing of a pipe without a writer
    said = f"A pipe whose writer was silent for {SILENCE_S:g} s"
    raise OSError(errno.ETIMEDOUT, said, str(path))
