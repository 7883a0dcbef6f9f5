# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Children of a test: forked ones, and ones that begin as fresh interpreters."""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import select
import signal
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from tbk_contracts.torch import patience
from tbk_contracts.torch.patience import STEP_S, awake_s

# Well under the deadline of a test, which its supervisor knows: a child that hangs is told of.
PATIENCE_S = float(os.environ.get("TBK_PATIENCE_S", "15"))
MOST_LENT, LEAST_LENT_S = 3, 0.1  # on a busy machine, in patience and in seconds
PROBE_S = 7.0  # that of one question to a device is shorter
START_S = 40.0  # a fresh interpreter imports PyTorch first
UNKNOWN = "unknown device"
RAISED = "raised "


@dataclass(frozen=True)
class Ended:
    """What became of a child."""

    value: Any
    """What its call returned, if it did."""
    error: str
    """The exception otherwise, or what else kept it from answering; empty if none."""
    exit_code: int
    """Negative: the signal that ended it."""


def renew_after_fork() -> None:
    """For a forked process that runs tests: PyTorch renews its pool of threads and its autograd
    engine where a child first asks for them, without a lock. Threads that ask at once, such as
    several that call backward, would crash or wait for ever, whatever the device."""
    torch.set_num_threads(1)
    torch.autograd.Variable._execution_engine.is_checkpoint_valid()


def _answer(call: Callable[[], object]) -> str:
    try:
        return json.dumps({"value": call()})
    except BaseException as error:  # told to the parent, which checks it
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def fork() -> int:
    """os.fork. A child has only the thread that forked, which is for the tests to judge, not for
    Python to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def foreign_threads() -> int | None:
    """Threads of this process that Python has not started, but for the main one: those of the
    device, where the host has none. None: the system does not tell."""
    try:
        everything = len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return None
    return max(0, everything - threading.active_count())


def in_fork(call: Callable[[], object], patience_s: float = PATIENCE_S) -> Ended:
    """Returns what `call` gives, as JSON can say it, in a forked child, and how that ends.

    An operator that is missing there is missing here: NotImplementedError is raised again."""
    source, sink = os.pipe()
    child = fork()
    if child == 0:
        # Threads of the host's operators are not forked: whoever waits for them waits for ever.
        torch.set_num_threads(1)
        os.write(sink, _answer(call).encode()[:60_000])
        os._exit(0)
    os.close(sink)
    try:
        text = _read(source, child, patience_s)
    finally:
        os.close(source)
        if not text:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = json.loads(text) if text else {"error": f"no answer within {patience_s:g} s"}
    _raise_missing(told.get("error", ""))
    return Ended(told.get("value"), told.get("error", ""), status)


def ended_in_fork(call: Callable[[int], object], code: int = 0) -> Ended:
    """A forked child makes `call`, then ends as an interpreter does, with the exit status `code`.
    The value is what was written to the descriptor that `call` is given, until the very end."""
    source, sink = os.pipe()
    child = fork()
    if child == 0:
        _end_the_interpreter(call, sink, code)
    os.close(sink)
    try:
        said = _read(source, child, PATIENCE_S, nothing="-")
    finally:
        os.close(source)
        if not said:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not said:
        return Ended(None, f"it does not end within {PATIENCE_S:g} s", status)
    _, failed, error = said.partition(RAISED)
    _raise_missing(error)
    return Ended("" if said == "-" else said, error if failed else "", status)


def _end_the_interpreter(call: Callable[[int], object], sink: int, code: int) -> None:
    """Does not return."""
    try:
        torch.set_num_threads(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for output in (1, 2):
            os.dup2(nothing, output)
        os.closerange(3, sink)
        os.closerange(sink + 1, 4096)  # what is left in buffers reaches nobody
        call(sink)
        ctypes.pythonapi.Py_Exit(code)
    except BaseException as error:  # told to the parent
        os.write(sink, f"{RAISED}{type(error).__name__}: {error}".encode()[:4000])
    finally:
        os._exit(99)


def _raise_missing(error: str) -> None:
    kind, _, text = error.partition(": ")
    if kind == NotImplementedError.__name__:
        raise NotImplementedError(text)


def _kept_waiting_s(child: int) -> float:
    """Returns for how long a process could have run and was not let, where that is longer than it
    ran: then the machine is slow, and not the child. 0 where the kernel does not say."""
    ran = waited = 0
    for path in Path(f"/proc/{child}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError):
            times = [int(word) for word in path.read_text().split()[:2]]
            ran, waited = ran + times[0], waited + times[1]
    return waited / 1e9 if waited > ran else 0.0


def _read(
    source: int, child: int, patience_s: float, nothing: str = json.dumps({"error": "it died"})
) -> str:
    """Returns all that comes until the other end is closed; "" if that takes too long, by what the
    machine lets the child do."""
    parts: list[bytes] = []
    deadline, lent = awake_s() + patience_s, 0.0
    while True:
        ready, _, _ = select.select([source], [], [], STEP_S)
        part = os.read(source, 65_536) if ready else b""
        if not ready and awake_s() < deadline:
            continue
        if not ready:
            due = min(_kept_waiting_s(child), MOST_LENT * patience_s) - lent
            if due < LEAST_LENT_S:
                return ""
            deadline, lent = awake_s() + due, lent + due
            continue
        if not part:
            return b"".join(parts).decode() or nothing
        parts.append(part)


def _use_spawned(start: str, name: str, values: list[float], answer: Connection) -> None:
    """Runs in a fresh interpreter: the device computes, and the host tells what came of it."""

    def use() -> object:
        exec(start, {})  # noqa: S102  # how the parent came to know the device
        try:
            torch.device(name)
        except RuntimeError:
            return UNKNOWN
        there = torch.tensor(values).to(name)
        return [str(there.device.type), (there * 2 + 1).to("cpu").tolist()]

    answer.send(_answer(use))
    answer.close()


def in_spawned(start: str, name: str, values: list[float]) -> Ended:
    """2 x + 1 of `values`, computed on the device `name` by a child that is a fresh interpreter."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_use_spawned, args=(start, name, values, sender))
    child.start()
    sender.close()
    try:
        told = _receive(receiver)
        patience.wait(lambda within_s: connection.wait([child.sentinel], within_s), PATIENCE_S)
        child.join(0)
    finally:
        if child.is_alive():
            child.kill()
            child.join()
    code = child.exitcode if child.exitcode is not None else -signal.SIGKILL
    _raise_missing(told.get("error", ""))
    return Ended(told.get("value"), told.get("error", ""), code)


def _receive(receiver: Connection) -> dict[str, Any]:
    try:
        answered = patience.wait(receiver.poll, START_S)
        told: dict[str, Any] = json.loads(receiver.recv()) if answered else {"error": "no answer"}
    except EOFError:
        return {"error": "it died"}
    return told
