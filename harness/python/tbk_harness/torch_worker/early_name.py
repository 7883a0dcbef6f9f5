# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether PyTorch knows the device by its name, found out in a child while tests are collected: a
mistyped name is told in seconds then. All else that may be wrong is for the preflight to find."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable

import torch

from tbk_harness.near import hint
from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.subject import Subject

NO_DEVICE = 5  # exit code of tbk-run
_KNOWN = re.compile(r"one of (.*?) device type")


def _error(name: str) -> str:
    """Returns what PyTorch says of a device that has no such name; empty where it has."""
    try:
        torch.device(name)
    except RuntimeError as error:
        return str(error)
    return ""


def is_worth_asking(request: Request) -> bool:
    """Returns whether only what is imported for it could make the device known."""
    return bool(request.device) and not request.library and bool(_error(request.device_name))


def ask(subject: Subject, say: Callable[..., None]) -> int:
    """Returns the process that asks. It says "error" where nobody has registered the name."""
    child = os.fork()
    if child:
        return child
    with contextlib.suppress(BaseException):  # the preflight meets it, too, and tells it
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        subject.introduce()
        if said := _error(subject.name):
            known = _KNOWN.search(said)
            names = [*(known[1].split(", ") if known else ()), _registered()]
            say(said="error", exit=NO_DEVICE, reason=_reason(subject.name, names))
    os._exit(0)


def _registered() -> str:
    return str(torch._C._get_privateuse1_backend_name())


def _reason(name: str, names: list[str]) -> str:
    own = "" if names[-1] == "privateuseone" else f" The modules register {names[-1]!r}."
    return (
        f"PyTorch knows no device {name!r}, and nothing that was imported registers it"
        f"{hint(name, names) or '.'}{own} Which module does? --import MODULE"
    )


def end(child: int) -> None:
    """Ends it, as long as it may have been. Where it has the device, it must not have it longer."""
    if child:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
