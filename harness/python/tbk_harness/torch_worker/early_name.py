# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Finds out, in a child while tests are collected, whether the modules can be imported and PyTorch
then knows the device by its name: a module that raises, or registers another name, is told in
seconds then, and one whose import does not end is waited for once. All else that may be wrong, the
end of its process included, is for the preflight to find.

The child ends as interpreters do, and before anybody else imports the modules: cut short, it would
leave the locks of what is compiled on import, and the device of whoever opens it then."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from tbk_harness import tether
from tbk_harness.near import hint
from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.speech import told_with_cause
from tbk_harness.torch_worker.subject import Subject

BAD_LIBRARY, NO_DEVICE = 4, 5  # exit codes of tbk-run
GRACE_S = 5.0  # for the end of an interpreter that has imported, or was told to end
POLL_S = 0.02
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


class _ToldToEnd(BaseException):
    """Nothing that modules take for an error of their own."""


@dataclass
class Child:
    """The process that asks; there is something to read from `imported` once it has done so."""

    pid: int
    imported: int
    since: float = field(default_factory=time.monotonic)

    def end(self, patience: float) -> None:
        """Waits for its end: an import gets `patience`, as later ones do. Then it is told to end,
        which takes locks away, and killed only where that does not help."""
        try:
            self._wait(self.since + patience)
        finally:
            os.close(self.imported)

    def _wait(self, until: float) -> None:
        while not self._has_ended() and not self._has_imported() and time.monotonic() < until:
            time.sleep(POLL_S)
        is_over = self._ends_soon() if self._has_imported() else self._has_ended()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if is_over:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            is_over = self._ends_soon()

    def _has_imported(self) -> bool:
        return bool(select.select([self.imported], [], [], 0)[0])

    def _ends_soon(self) -> bool:
        until = time.monotonic() + GRACE_S
        while not self._has_ended():
            if time.monotonic() > until:
                return False
            time.sleep(POLL_S)
        return True

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True


def ask(subject: Subject, say: Callable[..., None]) -> Child:
    """Returns the process that asks. It says "error" where something is wrong."""
    imported, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        return Child(pid, imported)
    with contextlib.suppress(BaseException):  # the preflight meets it, too, and tells it
        _be_silent_and_tied()
        code, reason = _found(subject)
        tether.when_parent_ends(0)
        os.write(told, b"i")
        if reason:
            say(said="error", exit=code, reason=reason)
    raise SystemExit(0)


def _be_silent_and_tied() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)

    def leave(*_: object) -> None:
        raise _ToldToEnd

    signal.signal(signal.SIGTERM, leave)
    tether.when_parent_ends(signal.SIGTERM)


def _found(subject: Subject) -> tuple[int, str]:
    """Returns the exit code and the reason; an empty one where nothing is wrong."""
    began = time.monotonic()
    try:
        subject.introduce()
    except _ToldToEnd:
        late = f"no end after {time.monotonic() - began:.1f} s (load)"  # as the preflight says it
        return BAD_LIBRARY, f"{subject.name}: {subject.importing}: {late}"
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
