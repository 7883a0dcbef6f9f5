# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes every report of a judged run into one folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .model import Judged
from .registry import REPORTS, Links


def write_file(path: Path, content: str | bytes) -> None:
    """A reader sees the old file or the new one, never half of it. A link goes on being one; a
    pipe, or another device, is written to and not replaced."""
    data = content.encode() if isinstance(content, str) else content
    if (path.exists() and not path.is_file()) or path.is_relative_to("/dev"):
        path.write_bytes(data)
        return
    target = path.resolve()
    waiting = target.with_name(target.name + ".part")
    try:
        waiting.write_bytes(data)
        os.replace(waiting, target)  # noqa: PTH105 - atomic
    except OSError:
        with suppress(OSError):
            waiting.unlink(missing_ok=True)
        raise


def write_reports(judged: Judged, folder: Path, coverage: Links = ()) -> dict[str, Path]:
    """Writes each report of the registry; returns where they are. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for report in REPORTS:
        paths[report.name] = folder / report.file
        write_file(paths[report.name], report.render(judged, coverage))
    return paths
