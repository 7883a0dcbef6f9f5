# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that live until the interpreter ends."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause


def _end_the_interpreter(call: Callable[[], object], last: int) -> None:
    """In a child: `call`, then what Python does when it ends, then exit with status 0."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for output in (1, 2):
        os.dup2(nothing, output)
    os.closerange(3, last)
    os.closerange(last + 1, 4096)  # what is left in buffers reaches nobody
    call()
    ctypes.pythonapi.Py_Exit(0)


def _in_child(call: Callable[[], object]) -> str:
    """How a forked child ends that calls `call` and then ends its interpreter."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _end_the_interpreter(call, writing)
        finally:
            os._exit(99)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], host.JOIN_S)
    os.close(reading)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ready:
        return "does not end"
    if os.WIFSIGNALED(status):
        return f"ends by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exits with {os.WEXITSTATUS(status)}"


def _keep(name: str, value: object) -> None:
    """`value` is in the globals of a module, as the weights of a model may be."""
    module = sys.modules.setdefault("tbk_kept", ModuleType("tbk_kept"))
    setattr(module, name, value)


@clause("MEM-534", needs="accelerator", fresh=True)
def test_tensors_of_a_module_do_no_harm_at_the_end(device: torch.device, module: Any) -> None:
    def use() -> None:
        for index in range(module.device_count()):  # asked in the child: it may start a driver
            tensor = host.upload(host.values((1000,)), torch.device(device.type, index))
            cycle = [tensor]
            cycle.append(cycle)  # type: ignore[arg-type]
            _keep(f"tensors{index}", (tensor, tensor[1:], tensor + 1, cycle))

    check.equal("a process that keeps tensors", _in_child(use), "exits with 0")


@clause("MEM-534", needs="accelerator stream", fresh=True)
def test_pending_work_does_no_harm_at_the_end(device: torch.device) -> None:
    def use() -> None:
        tensor = host.upload(host.values((1000, 1000)), device)
        stream = torch.Stream(device)
        with stream:
            for _ in range(20):
                tensor = tensor * tensor
        tensor.record_stream(torch.accelerator.current_stream(device))
        _keep("work", (tensor, stream, torch.Generator(device)))

    check.equal("a process that has not waited", _in_child(use), "exits with 0")
