# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Starts `python -m tbk_harness` as a fork of a process that has imported what it imports.

Most of a short run of tbk is its start. TBK_TESTS_EXEC=1, as in ci/nightly, starts each as users
do.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import runpy
import selectors
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


def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], patience: float
) -> Ended:
    """Runs `python -m tbk_harness WORDS` in a folder, to its end and that of its output."""
    if os.environ.get("TBK_TESTS_EXEC") or _differs(environment):
        return subprocess.run(
            [sys.executable, "-m", "tbk_harness", *words], cwd=folder, env=environment,
            capture_output=True, text=True, errors="surrogateescape", timeout=patience, check=False,
        )  # fmt: skip
    status, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    (out, to_out), (error, to_error) = os.pipe(), os.pipe()
    asked = json.dumps([[*words], str(folder), dict(environment)]).encode()
    handed = [to_out, to_error, told.fileno()]
    with status:
        socket.send_fds(_server(), [asked], handed)
        told.close()
        os.close(to_out)
        os.close(to_error)
        texts = _read([out, error], time.monotonic() + patience, [*words])
        code = int(status.recv(64))
    return subprocess.CompletedProcess([*words], code, *texts)


def _differs(environment: Mapping[str, str]) -> bool:
    """Tells whether something is set that is read at the start, and not as it is for the tests."""
    names = {name for name in {*environment, *os.environ} if name.startswith(READ_AT_START)}
    return any(environment.get(name) != os.environ.get(name) for name in names)


def _read(pipes: list[int], until: float, words: list[str]) -> list[str]:
    """Returns all that is written into some pipes, and closes them."""
    found = dict.fromkeys(pipes, b"")
    with selectors.DefaultSelector() as ready:
        for pipe in pipes:
            ready.register(pipe, selectors.EVENT_READ)
        while ready.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError(f"tbk {' '.join(words)} did not end")
            for key, _ in ready.select(left):
                if more := os.read(key.fd, 1 << 16):
                    found[key.fd] += more
                else:
                    ready.unregister(key.fd)
                    os.close(key.fd)
    # Ends of lines as subprocess reads them.
    return [text.decode(errors="surrogateescape").replace("\r\n", "\n") for text in found.values()]


@cache
def _server() -> socket.socket:
    """Returns the channel to a server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(channel: socket.socket) -> None:
    """Forks for each message, until the other side has closed the channel."""
    _import_all()
    while True:
        asked, handed, _, _ = socket.recv_fds(channel, MESSAGE, 3)
        if not asked:
            return
        if os.fork() == 0:
            channel.close()
            _attend(asked, *handed)
            return
        for file in handed:
            os.close(file)
        _bury()


def _import_all() -> None:
    """Imports what tbk does, but for its first module, which looks at the clock."""
    import tbk_contracts  # noqa: PLC0415
    import tbk_harness  # noqa: PLC0415

    for module in pkgutil.iter_modules(tbk_harness.__path__):
        if module.name.startswith("commands") or module.name in ("progress", "suggest", "explain"):
            importlib.import_module(f"tbk_harness.{module.name}")
    tbk_contracts.clauses()


def _bury() -> None:
    """Takes the status of attendants that have ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _attend(asked: bytes, out: int, error: int, told: int) -> None:
    """Runs tbk in a process of its own, and tells its exit code as subprocess does."""
    child = os.fork()
    if child:
        for file in (out, error):
            os.close(file)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
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
    _become(words, folder)


def _become(words: list[str], folder: str) -> None:
    """Runs the module as `python -m` does."""
    import tbk_harness  # noqa: PLC0415

    tbk_harness.STARTED = time.monotonic()
    sys.path[0] = folder
    sys.argv = ["tbk", *words]
    runpy.run_module("tbk_harness", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
