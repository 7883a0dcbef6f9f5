# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes every report of a judged run into one folder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from .document import judged_document
from .html import render_html
from .junit import render_junit
from .lint import FILES
from .markdown import render_markdown
from .model import Judged
from .terminal import render_terminal


def _write(path: Path, content: str) -> None:
    """A reader sees the old file or the new one, never half of it."""
    waiting = path.with_name(path.name + ".part")
    waiting.write_text(content, "utf-8")
    os.replace(waiting, path)  # noqa: PTH105 - atomic


def write_reports(
    judged: Judged, folder: Path, coverage: Sequence[tuple[str, str]] = ()
) -> dict[str, Path]:
    """HTML, JUnit XML, Markdown, JSON and plain text; returns where they are. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps(judged_document(judged), indent=1, ensure_ascii=True)
    contents = {
        "json": document + "\n",
        "html": render_html(judged, coverage),
        "junit": render_junit(judged),
        "markdown": render_markdown(judged),
        "terminal": render_terminal(judged),
    }
    paths = {name: folder / FILES[name] for name in contents}
    for name, content in contents.items():
        _write(paths[name], content)
    return paths
