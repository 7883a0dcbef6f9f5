# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the navigation has without a line of mkdocs.yml: pages behind the one that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

DECISIONS = "adr/README.md"
Entry = dict[str, str]


def title(path: Path) -> str:
    """Returns the number of a decision and its title: "5. Ordering is proved with gates"."""
    head = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
    number = str(int(path.name[:4]))
    words = head.removeprefix(path.name[:4]).removeprefix(number).lstrip(" .:") or path.stem
    return f"{number}. {words}"


def decisions(docs: Path) -> list[Entry]:
    """Returns an entry for each decision, by number."""
    found = sorted((docs / DECISIONS).parent.glob("[0-9]*.md"))
    return [{title(path): path.relative_to(docs).as_posix()} for path in found]


def listed(page: str, docs: Path) -> str:
    """Returns the page of decisions with a link to each behind it, by number."""
    links = [
        f"* [{name}]({Path(path).name})\n" for one in decisions(docs) for name, path in one.items()
    ]
    return f"{page.rstrip()}\n\n{''.join(links)}"


def headings(pages: Mapping[str, str]) -> list[Entry]:
    """Returns an entry for each page: its first line and its path."""
    return [{text.split("\n", 1)[0].lstrip("# "): path} for path, text in pages.items()]


def extend(nav: Any, behind: Mapping[str, list[Entry]]) -> Any:
    """Returns the navigation with the entries of `behind` after the page that they belong to."""
    if isinstance(nav, list):
        return [extend(one, behind) for one in nav]
    if isinstance(nav, dict):
        return {
            name: [entry, *behind[entry]]
            if isinstance(entry, str) and entry in behind
            else extend(entry, behind)
            for name, entry in nav.items()
        }
    return nav
