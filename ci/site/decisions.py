# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The decisions in the navigation, by number: a new one is a file, and no line of mkdocs.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LIST = "adr/README.md"


def title(path: Path) -> str:
    """Returns the number of a decision and its title: "5. Ordering is proved with gates"."""
    head = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
    number = str(int(path.name[:4]))
    words = head.removeprefix(path.name[:4]).removeprefix(number).lstrip(" .:") or path.stem
    return f"{number}. {words}"


def pages(docs: Path) -> list[dict[str, str]]:
    """Returns an entry of the navigation for each decision."""
    found = sorted((docs / LIST).parent.glob("[0-9]*.md"))
    return [{title(path): path.relative_to(docs).as_posix()} for path in found]


def extend(nav: Any, docs: Path) -> Any:
    """Returns the navigation with the decisions behind the entry of their list."""
    if isinstance(nav, list):
        return [extend(one, docs) for one in nav]
    if isinstance(nav, dict):
        return {
            name: [LIST, *pages(docs)] if entry == LIST else extend(entry, docs)
            for name, entry in nav.items()
        }
    return nav
