# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lets autograd's threads finish before the interpreter does.

After a backward pass, the thread that PyTorch keeps for each device still drops the state of the
pass, which holds Python objects. Where the interpreter is ending meanwhile, Python ends that thread
inside a C++ destructor, and the process aborts although all work is done. A CPU has no such thread.

The first pass of a process starts these threads, all at once, and each sets up PyTorch's pool of
threads; in a forked child they may do that at the same time, and PyTorch aborts. So there is no
first pass here.
"""

from __future__ import annotations

import atexit
import contextlib
from pathlib import Path

import torch

from torch_tbk._binding import binding

TASKS = Path("/proc/self/task")
THREADS = "pt_autograd_"  # what they are called once they have begun


def wait_for_autograd_at_exit() -> None:
    """Asks for it, once a process."""
    atexit.register(_wait_for_autograd)


def _wait_for_autograd() -> None:
    if binding.in_bad_fork() or not binding.is_counted() or _threads() == 0:
        return
    for index in range(binding.device_count()):
        if binding.is_open(index):
            # A device that is lost, or work that failed, is no reason to fail at exit.
            with contextlib.suppress(RuntimeError):
                _run_empty_pass(torch.device(binding.name(), index))


def _threads() -> int | None:
    """Returns how many have begun; None where the system does not tell."""
    with contextlib.suppress(OSError):
        return sum((task / "comm").read_text().startswith(THREADS) for task in TASKS.iterdir())
    return None


def _run_empty_pass(device: torch.device) -> None:
    """A pass over no elements: a thread that has come to it has dropped what came before.

    Straight to the engine, because Tensor.backward would leave Python objects in the pass, too.
    """
    leaf = torch.empty(0, device=device, requires_grad=True)
    root = leaf.view(0)
    engine = torch.autograd.Variable._execution_engine
    engine.run_backward((root,), (torch.empty_like(root),), False, False, (), True, True)
