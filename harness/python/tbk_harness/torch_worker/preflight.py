# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is found out about a device before any test. Each stage is told before it begins."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import torch
from tbk_contracts.torch import capability, process

from tbk_harness.torch_worker import health, launcher
from tbk_harness.torch_worker.speech import Speech, told_with_cause
from tbk_harness.torch_worker.subject import Subject

BYTES = 64
DESCRIBED = 16


class Refused(Exception):  # noqa: N818  # a verdict, not an error of ours
    """The device can't be judged: what was tried, and what came of it."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(what, reason)
        self.what, self.reason = what, reason


class Basics:
    """From importing to the first answer, one stage after the other."""

    def __init__(self, subject: Subject, speech: Speech, cell: launcher.Cell) -> None:
        self._subject, self._speech, self._cell = subject, speech, cell
        self._sent = torch.arange(BYTES // 4, dtype=torch.float32) + 1
        self._there = self._back = self._sent
        self._exclusive = False

    def run(self) -> None:
        """Says "opened" or "error"."""
        try:
            began = time.monotonic_ns()
            subject = self._subject
            self._stage("import", subject.importing, subject.introduce, launcher.PHASE_LOAD)
            imported = time.monotonic_ns()
            self._open()
            opened = time.monotonic_ns()
        except Refused as refused:
            self._speech.say("error", what=refused.what, reason=refused.reason)
            return
        self._speech.say(
            "opened", duration_ns=opened - imported, import_ns=imported - began,
            exclusive=self._exclusive,
        )  # fmt: skip
        self._stage("health", "computing", self._say_health, launcher.PHASE_BODY)

    def _open(self) -> None:
        phase = launcher.PHASE_OPEN
        self._stage("count", "counting its devices", self._count, phase)
        self._stage("allocate", f"allocating {BYTES} bytes", self._allocate, phase)
        self._stage("upload", f"copying {BYTES} bytes to the device", self._upload, phase)
        self._stage("download", f"copying {BYTES} bytes back to the host", self._download, phase)
        self._stage("synchronise", "synchronising the device", self._subject.synchronize, phase)
        self._stage("properties", "asking for its properties", self._say_devices, phase)

    def _stage(self, name: str, text: str, act: Callable[[], None], phase: int) -> None:
        self._cell.phase = phase
        self._speech.say("stage", name=name, text=text)
        try:
            act()
        except Refused:
            raise
        except BaseException as error:
            raise Refused(text, told_with_cause(error)[:600]) from error

    def _count(self) -> None:
        torch.device(self._subject.name)
        count = self._subject.count()
        self._say_backend()
        if count < 1:
            raise Refused("counting its devices", "there is none")

    def _say_backend(self) -> None:
        self._speech.say("backend", name=self._subject.name, version=self._subject.version())

    def _allocate(self) -> None:
        torch.empty(BYTES // 4, dtype=torch.float32, device=self._subject.device)

    def _upload(self) -> None:
        self._there = self._sent.to(self._subject.device, copy=True)

    def _download(self) -> None:
        self._back = self._there.to("cpu", copy=True)
        sent, back = (_bytes(one) for one in (self._sent, self._back))
        if sent == back:
            return
        at = next((i for i in range(BYTES) if sent[i : i + 1] != back[i : i + 1]), 0) & ~7
        what = f"copying {BYTES} bytes to the device and back gives other bytes"
        where = f"sent {sent[at : at + 8].hex(' ')} at byte {at}"
        raise Refused(what, f"{where}, and {back[at : at + 8].hex(' ') or 'nothing'} came back")

    def _say_devices(self) -> None:
        """Describes at most 16 devices, as the C layer does."""
        self._exclusive = capability.probe("exclusive", self._subject.device).held
        for index in range(min(self._subject.count(), DESCRIBED)):
            self._speech.say("device", **_described(torch.device(self._subject.name, index)))

    def _say_health(self) -> None:
        say_health(self._subject, self._speech)


def _described(device: torch.device) -> dict[str, object]:
    """Returns what the properties of a device say of it that a verdict must not leave out; a module
    without properties says nothing, and what raises is for a test to find."""
    try:
        found = capability.properties(device)
    except Exception:  # anything that a module of somebody's raises
        found = None
    name = getattr(found, "name", None)
    flags = {word: getattr(found, word, False) is True for word in ("exclusive", "simulated")}
    driver = _driver(device, found)
    return {
        "name": name[:256] if isinstance(name, str) else "",
        **({"driver": driver} if driver else {}),
        **flags,
    }


def _driver(device: torch.device, properties: object) -> str:
    """Returns what it runs on, where its properties or PyTorch's own code tell it."""
    told = getattr(properties, "driver", None) or getattr(properties, "driver_version", None)
    ask = getattr(torch._C, f"_{device.type}_getDriverVersion", None)
    try:
        return str(told or (ask() if ask is not None else ""))[:1024]
    except Exception:  # as of its properties
        return ""


def _bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().view(torch.uint8).tolist())


def say_health(subject: Subject, speech: Speech) -> bool:
    """Returns whether the device computes; and tells it."""
    reason = health.probe(subject)
    speech.say("health", ok=not reason, reason=reason)
    return not reason


def say_words(subject: Subject, speech: Speech, first: int) -> None:
    """Asks for each capability from the `first` on; a probe may kill the process."""
    for number, word in enumerate(capability.WORDS):
        if number < first:
            continue
        speech.say("probing", n=number, word=word)
        if word == capability.FORK:
            answer = _ask_in_child(subject, word)
        else:
            subject.introduce()
            answer = capability.probe(word, subject.device)
        speech.say("probed", n=number, word=word, held=answer.held, reason=answer.reason)


def _ask_in_child(subject: Subject, word: str) -> capability.Answer:
    """In a child that makes PyTorch know the device for itself: this process shall not have forked
    since it did, or whoever cannot be used after a fork would lack all words that follow."""

    def ask() -> list[object]:
        subject.introduce()
        answer = capability.probe(word, subject.device)
        return [answer.held, answer.reason]

    ended = process.in_fork(ask, process.PROBE_S + 1)
    if ended.error:
        return capability.Answer(False, ended.error)
    held, reason = ended.value
    return capability.Answer(held, reason)


def say_warmth(subject: Subject, speech: Speech) -> None:
    """Whether a child computes that was forked after the modules were imported; asked twice."""
    subject.introduce()
    ok = all(_child_computes(subject) for _ in range(2))
    speech.say("warm", ok=ok)


def _child_computes(subject: Subject) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if not health.probe(subject) else 1)
    return os.waitpid(child, 0)[1] == 0
