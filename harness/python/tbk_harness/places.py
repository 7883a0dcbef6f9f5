# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a user names and that are written: none of another kind is replaced by them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tbk_reports.model import EXIT_USAGE

from tbk_harness import outcome

MOST_BYTES = 1 << 24  # what is larger was written by none of the commands that ask


@dataclass(frozen=True)
class Kind:
    """What a command writes, and how an earlier one of it is known."""

    name: str
    is_one: Callable[[bytes], bool]


def _of_a_device(data: bytes) -> bool:
    """Both files in TOML say of which device they are, and of which day."""
    return all(re.search(rb"^%s = " % key, data, re.MULTILINE) for key in (b"device", b"written"))


def _traced(data: bytes) -> bool:
    return data.lstrip().startswith(b"{") and b'"tbk_trace"' in data


ARCHIVE = Kind("archive", lambda data: data.startswith(b"PK\3\4"))
PAGE = Kind("page", lambda data: data.lstrip()[:14].lower() == b"<!doctype html")
CAUSES = Kind("baseline", _of_a_device)
CAPABILITIES = Kind("capability file", _of_a_device)
TRACE = Kind("trace", _traced)


def free(path: Path, kind: Kind) -> None:
    """Stops where something else than an earlier file of the kind lies at `path`: names that were
    swapped would cost somebody's results, or their source."""
    with contextlib.suppress(OSError):  # whoever writes tells of that
        if not path.is_file() or path.stat().st_size == 0:
            return
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
        if not kind.is_one(data):
            outcome.stop(EXIT_USAGE, f"{path} is there, and is no {kind.name}: it is not replaced")
