# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One worker as its parent sees it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from table import Item, Outcome

START_SECONDS = 600  # PyTorch's database alone takes long to import, on a busy machine


class Process:
    """Started on construction; it is there when this returns. One thread at a time."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._deadline: float = arguments.deadline
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in close()
        self._answers, there = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("worker.py")),
                str(arguments.library.resolve()),
                arguments.options,
                str(arguments.samples),
                str(there),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(there,),
        )
        os.close(there)
        self._buffer = b""
        hello = self._line(START_SECONDS)
        if not hello:
            self._end()
            raise RuntimeError(f"the worker did not start: {self._said()}")
        facts: dict[str, Any] = json.loads(hello)
        self.torch: str = facts["torch"]
        self.backend: str = facts["backend"]
        self.items = [Item(**item) for item in facts["items"]]
        self.without: list[str] = facts["without"]

    def judge(self, item: Item) -> Outcome:
        """After a hang or a crash the process is gone."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(item.__dict__).encode() + b"\n")
            self._process.stdin.flush()
        line = self._line(self._deadline)
        if line:
            return Outcome(**json.loads(line))
        hangs = line is None
        code = self._end()
        if hangs:
            late = f"not done in {self._deadline:g} s"
            return Outcome(item.title, item.dtype, "hang", late, form=item.form)
        how = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Outcome(item.title, item.dtype, "crash", f"{how}: {self._said()}", form=item.form)

    def close(self) -> None:
        self._end()
        self._errors.close()

    def _line(self, seconds: float) -> bytes | None:
        """Returns the next answer; b"" where the process has ended, None where it took too long."""
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                return None
            more = os.read(self._answers, 1 << 16)
            if not more:
                return b""
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _end(self) -> int:
        if self._process.poll() is None:
            try:
                self._process.communicate(timeout=5 if self._process.stdin else 0)
            except subprocess.TimeoutExpired:
                self._process.kill()
        os.close(self._answers)
        return self._process.wait()

    def _said(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines[-3:])
