# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lets autograd's threads finish before the interpreter does.

After a backward pass, the thread that PyTorch keeps for each device still drops the state of the
pass, which holds Python objects. Where the interpreter is ending meanwhile, Python ends that thread
inside a C++ destructor, and the process aborts although all work is done. A CPU has no such thread.
"""

from __future__ import annotations

import atexit
import contextlib

import torch

from torch_tbk._binding import binding


def wait_for_autograd_at_exit() -> None:
    """Ask for it, once a process."""
    atexit.register(_wait_for_autograd)


def _wait_for_autograd() -> None:
    if binding.in_bad_fork():
        return
    for index in range(binding.device_count()):
        if binding.is_open(index):
            # A device that is lost, or work that failed, is no reason to fail at exit.
            with contextlib.suppress(RuntimeError):
                _run_empty_pass(torch.device(binding.name(), index))


def _run_empty_pass(device: torch.device) -> None:
    """A pass over no elements: a thread that has come to it has dropped what came before.

    Straight to the engine, because Tensor.backward would leave Python objects in the pass, too.
    """
    leaf = torch.empty(0, device=device, requires_grad=True)
    root = leaf.view(0)
    engine = torch.autograd.Variable._execution_engine
    engine.run_backward((root,), (torch.empty_like(root),), False, False, (), True, True)
