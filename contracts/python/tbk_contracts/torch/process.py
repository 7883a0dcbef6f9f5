# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Children of a test: forked ones, and ones that begin as fresh interpreters."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch

PATIENCE_S = 60.0
START_S = 180.0  # a fresh interpreter imports PyTorch first
UNKNOWN = "unknown device"


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


def in_fork(call: Callable[[], object]) -> Ended:
    """What `call` gives, as JSON can say it, in a forked child, and how that ends."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        # Threads of the host's operators are not forked: whoever waits for them waits for ever.
        torch.set_num_threads(1)
        os.write(sink, _answer(call).encode()[:60_000])
        os._exit(0)
    os.close(sink)
    try:
        text = _read(source)
    finally:
        os.close(source)
        if not text:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = json.loads(text) if text else {"error": f"no answer within {PATIENCE_S:g} s"}
    return Ended(told.get("value"), told.get("error", ""), status)


def _read(source: int) -> str:
    """All that comes until the other end is closed; nothing if that takes too long."""
    parts: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while True:
        ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(source, 65_536) if ready else b""
        if not ready:
            return ""
        if not part:
            return b"".join(parts).decode() or json.dumps({"error": "it died"})
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
        child.join(PATIENCE_S)
    finally:
        if child.is_alive():
            child.kill()
            child.join()
    code = child.exitcode if child.exitcode is not None else -signal.SIGKILL
    return Ended(told.get("value"), told.get("error", ""), code)


def _receive(receiver: Connection) -> dict[str, Any]:
    try:
        answered = receiver.poll(START_S)
        told: dict[str, Any] = json.loads(receiver.recv()) if answered else {"error": "no answer"}
    except EOFError:
        return {"error": "it died"}
    return told
