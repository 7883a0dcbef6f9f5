# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Imports PyTorch once, and forks a child for each job of tbk-litmus."""

from __future__ import annotations

import importlib
import mmap
import os
import socket

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
    if request.library:
        importlib.import_module("torch_tbk")  # it registers nothing, and takes a while
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
