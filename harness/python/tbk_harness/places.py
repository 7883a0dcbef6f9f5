# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a user names and that are written: none of another kind is replaced by them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbk_reports.model import EXIT_USAGE

from tbk_harness import baseline, outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_BYTES = 1 << 24  # of a file, to know what it is


@dataclass(frozen=True)
class Kind:
    """What a command writes, and how an earlier one of it is known."""

    name: str
    is_one: Callable[[bytes], bool]


def _table(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return {}


def _has_causes(data: bytes) -> bool:
    """Returns whether it is a baseline; a file of comments alone is none."""
    try:
        return bool(_table(data)) and baseline.parse(data.decode(), "") is not None
    except baseline.BaselineError:
        return False


def _is_page(data: bytes) -> bool:
    """Pages of the suite carry their data."""
    return data.lstrip()[:14].lower() == b"<!doctype html" and b'id="tbk-data"' in data


def _has_statement(data: bytes) -> bool:
    return data.startswith(b"PK\3\4") and b"statement.json" in data


def _traced(data: bytes) -> bool:
    return data.lstrip().startswith(b"{") and b'"tbk_trace"' in data


ARCHIVE = Kind("archive", _has_statement)
PAGE = Kind("page", _is_page)
CAUSES = Kind("baseline", _has_causes)
CAPABILITIES = Kind("capability file", lambda data: "capabilities" in _table(data))
HEADER = Kind("header of operators", lambda data: b"made by `tbk operators`" in data)
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
