# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the modules can be imported and PyTorch then knows the device by its name, found out in a
child while tests are collected: a module that raises, or registers another name, is told in seconds
then. All else that may be wrong, the end of its process included, is for the preflight to find."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable

import torch

from tbk_harness.near import hint
from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.speech import told_with_cause
from tbk_harness.torch_worker.subject import Subject

BAD_LIBRARY, NO_DEVICE = 4, 5  # exit codes of tbk-run
_KNOWN = re.compile(r"one of (.*?) device type")


def _error(name: str) -> str:
    """Returns what PyTorch says of a device that has no such name; empty where it has."""
    try:
        torch.device(name)
    except RuntimeError as error:
        return str(error)
    return ""


def is_worth_asking(request: Request) -> bool:
    """Returns whether something is imported for the device, or only that could make it known."""
    if request.library or not request.device:
        return False
    return bool(request.imports or _error(request.device_name))


def ask(subject: Subject, say: Callable[..., None]) -> int:
    """Returns the process that asks. It says "error" where something is wrong."""
    child = os.fork()
    if child:
        return child
    with contextlib.suppress(BaseException):  # the preflight meets it, too, and tells it
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code, reason = _found(subject)
        if reason:
            say(said="error", exit=code, reason=reason)
    os._exit(0)


def _found(subject: Subject) -> tuple[int, str]:
    """Returns the exit code and the reason; an empty one where nothing is wrong."""
    try:
        subject.introduce()
    except (Exception, SystemExit) as error:  # no interrupt, which is the user's
        return BAD_LIBRARY, f"{subject.name}: {subject.importing}: {told_with_cause(error)[:600]}"
    said = _error(subject.name)
    if not said:
        return 0, ""
    known = _KNOWN.search(said)
    names = [*(known[1].split(", ") if known else ()), _registered()]
    return NO_DEVICE, _reason(subject.name, names)


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
