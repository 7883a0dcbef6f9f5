# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that live until the interpreter ends."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from tbk_contracts.torch import check, host, process
from tbk_contracts.torch.case import clause


def _keep(name: str, value: object) -> None:
    """`value` is in the globals of a module, as the weights of a model may be."""
    module = sys.modules.setdefault("tbk_kept", ModuleType("tbk_kept"))
    setattr(module, name, value)


def _check_end(what: str, use: Callable[[], object]) -> None:
    ended = process.ended_in_fork(lambda _: use())
    check.equal(f"{what}: what is raised before its end", ended.error, "")
    check.equal(f"{what}: its exit code", ended.exit_code, 0)


@clause("MEM-534", needs="accelerator fork", fresh=True)
def test_tensors_of_a_module_do_no_harm_at_the_end(device: torch.device, module: Any) -> None:
    def use() -> None:
        for index in range(module.device_count()):  # asked in the child: it may start a driver
            tensor = host.upload(host.values((1000,)), torch.device(device.type, index))
            cycle = [tensor]
            cycle.append(cycle)  # type: ignore[arg-type]
            _keep(f"tensors{index}", (tensor, tensor[1:], tensor.clone(), cycle))

    _check_end("a process that keeps tensors", use)


@clause("MEM-534", needs="accelerator stream fork", fresh=True)
def test_pending_work_does_no_harm_at_the_end(device: torch.device) -> None:
    def use() -> None:
        source = host.upload(host.values((1000, 1000)), device)
        tensor, stream = source.clone(), torch.Stream(device)
        with stream:
            for _ in range(20):
                tensor.copy_(source)
        # Neither is what the clause speaks of, and not every device has them.
        with contextlib.suppress(RuntimeError):
            tensor.record_stream(torch.accelerator.current_stream(device))
        with contextlib.suppress(RuntimeError):
            _keep("generator", torch.Generator(device))
        _keep("work", (source, tensor, stream))

    _check_end("a process that has not waited", use)
