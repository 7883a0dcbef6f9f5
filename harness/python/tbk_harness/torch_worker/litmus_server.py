# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Imports PyTorch once, and forks a child for each job of tbk-litmus."""

from __future__ import annotations

import importlib
import mmap
import os
import socket
from contextlib import suppress

import torch

from tbk_harness.torch_worker import litmus_wire as wire
from tbk_harness.torch_worker import memory
from tbk_harness.torch_worker.litmus_device import Device, Unusable
from tbk_harness.torch_worker.litmus_program import Executor
from tbk_harness.torch_worker.litmus_wire import Hello, Reply
from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.subject import Subject


def serve(request: Request, operations: list[str]) -> int:
    """Answers until whoever asks is gone. One job at a time: its end is waited for."""
    torch.set_num_threads(1)
    _import_what_is_slow(request)
    control = socket.socket(fileno=wire.CONTROL)
    shared = mmap.mmap(wire.PAGE, wire.BYTES)
    memory.settle()
    while True:
        data, files, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return 0
        child = os.fork()
        if child == 0:
            control.close()
            _work(request, operations, socket.socket(fileno=files[0]), shared)
        os.close(files[0])
        control.send(wire.WORD.pack(wire.CHILD, child))
        _, status = os.waitpid(child, 0)
        control.send(wire.WORD.pack(wire.ENDED, status))


def _import_what_is_slow(request: Request) -> None:
    """What a child would import, each child anew. What cannot be imported, a child says."""
    # torch.autograd imports it with the first backward, and with it SymPy: 0.2 s.
    names = ["torch.fx.experimental.symbolic_shapes"]
    if request.library:
        names.append("torch_tbk.device_module")  # it makes no device, and opens none
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def _work(request: Request, operations: list[str], job: socket.socket, shared: mmap.mmap) -> None:
    """Runs programs until there are no more; does not return."""
    try:
        device = Device(Subject(request), wire.page(shared), request.gate)
    except Unusable as unusable:
        job.send(Hello(unusable.state, reason=str(unusable)).pack())
        os._exit(0)
    executor = Executor(device, shared, operations)
    job.send(device.hello().pack())
    reply = Reply()
    while reply.outcome != wire.GATE_FAILED and (data := job.recv(wire.MOST_BYTES)):
        reply = executor.run(wire.unpack(data))
        job.send(reply.pack())
    os._exit(0)
