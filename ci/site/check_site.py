#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fail where a built site has a link to nothing, or asks another host for something."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself; an <a> is followed only by who clicks on it.
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"),
           ("source", "src"), ("video", "src"), ("audio", "src"), ("object", "data"),
           ("embed", "src"), ("image", "href"), ("use", "href")}  # fmt: skip
IN_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Links(HTMLParser):
    """The anchors of a page, what it links to, and what it fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.linked: list[str] = []
        self.fetched: list[str] = []
        text = path.read_text("utf-8")
        self.fetched += IN_STYLES.findall(
            "".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
        )
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Gathers one tag."""
        for name, value in attrs:
            if not value:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in FETCHED:
                self.fetched.append(value)
            elif tag == "a" and name == "href":
                self.linked.append(value)


def target(page: Path, address: str) -> tuple[Path, str]:
    """Returns the file and the anchor that a page means by an address."""
    parts = urlsplit(address)
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return path / "index.html" if path.is_dir() else path, unquote(parts.fragment)


def faults(site: Path) -> Iterator[str]:
    """Yields a line for each fault of a site."""
    # The page for addresses that are not there has them as seen from the root of a server.
    pages = {path: Links(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    if not pages:
        yield f"{site}: no pages"
    for path, links in pages.items():
        place = path.relative_to(site)
        for address in links.fetched:
            if urlsplit(address).netloc:
                yield f"{place}: asks another host: {address}"
        for address in [*links.linked, *links.fetched]:
            if urlsplit(address).scheme or urlsplit(address).netloc:
                continue
            file, anchor = target(path, address)
            if not file.is_file():
                yield f"{place}: no such page: {address}"
            elif file in pages and not file.is_relative_to(site / "gallery") \
                    and anchor not in pages[file].anchors and anchor != "__top":  # fmt: skip
                yield f"{place}: no such anchor: {address}"
    for style in sorted(site.rglob("*.css")):
        for address in IN_STYLES.findall(style.read_text("utf-8")):
            yield f"{style.relative_to(site)}: asks another host: {address}"


def main() -> int:
    """Prints each fault; returns 1 where there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site.resolve()
    found = list(faults(site))
    print(*found[:50], sep="\n", end="\n" if found else "")
    print(f"check_site: {len(list(site.rglob('*.html')))} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
