# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a user's script, and writes down what it asks of the device.

One argument, a JSON object: `device`, `imports`, `library`, `options` as in request.Request;
`script`, a file or with `module` true a module's name; `arguments` are its own; `needs` the file
for what was seen, `latest` one that always holds the operator called last, for a crash.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from tbk_contracts.torch.operators.trace import Trace

from tbk_harness.torch_worker.request import Request
from tbk_harness.torch_worker.subject import Subject

LATEST = 120  # bytes of an operator's name
NOT_LOADED, NO_DEVICE, NOT_WRITTEN = 77, 78, 79  # exit statuses that are not the script's


class _Remembered(Trace):
    """Keeps the name of the latest operator in a file, where it outlives this process."""

    def __init__(self, device: torch.device, path: str) -> None:
        super().__init__(device)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)

    def began(self, operator: Any) -> None:
        """Writes it down: the device may crash in it."""
        super().began(operator)
        os.pwrite(self._file, operator.name().encode()[:LATEST].ljust(LATEST), 0)


def _run(asked: dict[str, Any]) -> None:
    """Runs the script as Python would."""
    sys.argv = [asked["script"], *asked["arguments"]]
    if asked["module"]:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(asked["script"], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(asked["script"]).resolve().parent))
        runpy.run_path(asked["script"], run_name="__main__")


def _status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0)
    print(error.code, file=sys.stderr)
    return 1


def _ended(asked: dict[str, Any]) -> int:
    """Returns the exit status that the script ends with; its traceback begins in the script."""
    try:
        _run(asked)
    except SystemExit as error:
        return _status(error)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # whatever a script raises ends it, as in Python
        traceback.print_exception(error.with_traceback(_own(error.__traceback__)))
        return 1
    return 0


def _own(trace: TracebackType | None) -> TracebackType | None:
    """Leaves out the frames that are not the script's."""
    frame = trace
    while frame is not None and _is_ours(frame.tb_frame.f_code.co_filename):
        frame = frame.tb_next
    return frame or trace


def _is_ours(name: str) -> bool:
    return name == __file__ or name.startswith("<frozen") or name == runpy.__file__


def _subject(asked: dict[str, Any]) -> Subject:
    return Subject(Request(
        device=asked["device"], imports=asked["imports"], library=asked["library"],
        options=asked["options"], facts=None, socket=-1, launcher=None, timeout=0, seed=0,
    ))  # fmt: skip


def _introduced(subject: Subject) -> torch.device:
    code = NOT_LOADED
    try:
        subject.introduce()
        code = NO_DEVICE
        return subject.device
    except Exception as error:  # of a library, a module or PyTorch: one line
        print(f"tbk: {str(error).partition(chr(10))[0]}", file=sys.stderr)
        sys.exit(code)


def main(asked: dict[str, Any]) -> int:
    """Returns the script's exit status."""
    subject = _subject(asked)
    device = _introduced(subject)
    with _Remembered(device, asked["latest"]) as trace:
        status = _ended(asked)
    told = {
        "device": device.type, "version": subject.version(), "pytorch": torch.__version__,
        "counts": trace.counts, "needs": [vars(one) for one in trace.needs()],
    }  # fmt: skip
    try:
        Path(asked["needs"]).write_text(json.dumps(told), "utf-8")
    except OSError:
        return NOT_WRITTEN
    return status


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
