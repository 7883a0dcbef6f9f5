# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a worker says: one JSON object a line, on a descriptor of its own (protocol.h)."""

from __future__ import annotations

import json
import os
import select
from typing import Any

from tbk_harness.torch_worker.launcher import NO_REPORT, REPORT

LONGEST = 16_384
ROOM = {
    "where": 120,
    "what": 190,
    "expected": 250,
    "seen": 500,
    "notes": 380,
    "evidence_reason": 190,
}


class Speech:
    """The descriptor, if it is still the one that the launcher gave."""

    def __init__(self, key: int) -> None:
        status = os.fstat(REPORT)
        self._identity = (status.st_dev, status.st_ino)
        self._pid = os.getpid()
        self._mark = f"\n#{key:08x} ".encode()

    def say(self, said: str, **members: Any) -> None:
        """A member that is None or empty is left out."""
        kept = {name: value for name, value in members.items() if value is not None}
        line = self._line({"said": said, **kept})
        if len(line) > LONGEST and "facts" in kept:
            line = self._line({"said": said, **kept, "facts": {"too_long": True}})
        if os.getpid() != self._pid:
            os._exit(1)  # a child that a backend let go on
        try:
            status = os.fstat(REPORT)
            if (status.st_dev, status.st_ino) != self._identity:
                os._exit(NO_REPORT)  # a test has closed it, and something else is there now
            while line:
                line = line[self._write(line) :]
        except OSError:
            os._exit(NO_REPORT)

    @staticmethod
    def _write(line: bytes) -> int:
        try:
            return os.write(REPORT, line)
        except BlockingIOError:  # a test has made it one that does not block
            select.select([], [REPORT], [])
            return 0

    def _line(self, members: dict[str, Any]) -> bytes:
        text = json.dumps(members, ensure_ascii=False, default=str, separators=(",", ":"))
        return self._mark + text.encode("utf-8", "backslashreplace") + b"\n"


def brief(name: str, text: object) -> str:
    """`text` in one line, no longer than the supervisor keeps of this member."""
    line = " ".join(str(text).split())
    return line if len(line) <= ROOM[name] else line[: ROOM[name] - 3] + "..."


def told(error: BaseException) -> str:
    """Returns an exception in one line, beginning with its type."""
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    name = f"{module}{kind.__qualname__}" if module.startswith("torch.") else kind.__qualname__
    return " ".join(f"{name}: {error}".split())


def told_with_cause(error: BaseException) -> str:
    """Returns the same, and what it began with, where it was raised because of something else."""
    first = error
    while (before := first.__cause__ or first.__context__) is not None:
        first = before
    return told(error) if first is error else f"{told(error)} [{told(first)}]"
