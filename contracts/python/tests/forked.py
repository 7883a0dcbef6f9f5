# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Starts Python for a test as a fork of a process that has imported what it will.

Most of the time of a short run is its start. TBK_TESTS_EXEC=1, as in ci/nightly, starts each as
users do.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

Ended = subprocess.CompletedProcess[str]
# Python and the C library read variables that begin so when a process starts, and not again.
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_")
MESSAGE = 1 << 20  # bytes: the most that arguments and environment take


def is_as_for_tests(environment: Mapping[str, str], names: tuple[str, ...] = READ_AT_START) -> bool:
    """Tells whether a fork sees what a new process would: nothing that is read at the start is set
    otherwise than for the tests, and they are not to be started as users do."""
    if os.environ.get("TBK_TESTS_EXEC"):
        return False
    read = {name for name in {*environment, *os.environ} if name.startswith(names)}
    return all(environment.get(name) == os.environ.get(name) for name in read)


def run(
    starts: Path,
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    patience: float,
) -> Ended:
    """Forks a Python that has run `prepare()` of the file `starts`, and runs its `become(words)`
    there, to its end and that of its output. Raises TimeoutError after `patience` seconds."""
    status, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    (out, to_out), (error, to_error) = os.pipe(), os.pipe()
    asked = json.dumps([[*words], str(folder), dict(environment)]).encode()
    handed = [to_out, to_error, told.fileno()]
    with status:
        socket.send_fds(_server(starts), [asked], handed)
        told.close()
        os.close(to_out)
        os.close(to_error)
        texts = _read([out, error], time.monotonic() + patience, [*words])
        code = int(status.recv(64))
    return subprocess.CompletedProcess([*words], code, *texts)


def _read(pipes: list[int], until: float, words: list[str]) -> list[str]:
    """Returns all that is written into some pipes, and closes them."""
    found = dict.fromkeys(pipes, b"")
    with selectors.DefaultSelector() as ready:
        for pipe in pipes:
            ready.register(pipe, selectors.EVENT_READ)
        while ready.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError(f"{' '.join(words)} did not end")
            for key, _ in ready.select(left):
                if more := os.read(key.fd, 1 << 16):
                    found[key.fd] += more
                else:
                    ready.unregister(key.fd)
                    os.close(key.fd)
    # Ends of lines as subprocess reads them.
    return [text.decode(errors="surrogateescape").replace("\r\n", "\n") for text in found.values()]


@cache
def _server(starts: Path) -> socket.socket:
    """Returns the channel to a server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno()), str(starts)],
        pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(channel: socket.socket, starts: Path) -> None:
    """Forks for each message, until the other side has closed the channel."""
    sys.path.insert(0, str(starts.parent))
    kind = importlib.import_module(starts.stem)
    kind.prepare()
    while True:
        asked, handed, _, _ = socket.recv_fds(channel, MESSAGE, 3)
        if not asked:
            return
        if os.fork() == 0:
            channel.close()
            kind.become(_attend(asked, *handed))
            return
        for file in handed:
            os.close(file)
        _bury()


def _bury() -> None:
    """Takes the status of attendants that have ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _attend(asked: bytes, out: int, error: int, told: int) -> list[str]:
    """Returns in a process of its own, which has what was asked for. Tells its exit code as
    subprocess does, and ends it when nobody waits for it any more."""
    child = os.fork()
    if child:
        for file in (out, error):
            os.close(file)
        ended = os.pidfd_open(child)
        if ended not in select.select([ended, told], [], [])[0]:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    words, folder, environment = json.loads(asked)
    os.dup2(out, 1)
    os.dup2(error, 2)
    for file in (out, error, told):
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    del sys.path[:2]  # of this file, and of the one that says what to prepare
    return list(words)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]))
