# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The listings of a page, and somebody who follows them word by word."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BUILD = Path(os.environ.get("TBK_BUILD", ROOT / "build"))
# Followed from the first listing to the last; commands of other pages are run one by one.
TUTORIALS = ("torch-device.md", "custom-operators.md", "zero-fallbacks.md")
FILE_LINE = re.compile(r"^(?:/\*|#|//) (?P<path>[\w./-]+\.\w+)(?: \*/)?$")


@dataclass
class Listing:
    """One fenced block; `line` is where it stands in the page."""

    language: str
    text: str
    line: int

    @property
    def path(self) -> str | None:
        found = FILE_LINE.match(self.text.split("\n", 1)[0])
        return found["path"] if found else None


def listings(page: Path) -> list[Listing]:
    return [
        Listing(token.info.strip(), token.content, (token.map or [0])[0] + 1)
        for token in MarkdownIt().parse(page.read_text())
        if token.type == "fence"
    ]


def lines_of_shell(listing: Listing) -> list[str]:
    """Returns the commands of a listing of shell, each as one line, with their comments."""
    return re.sub(r"\\\n\s*", "", listing.text).splitlines()


def environment(*programs: Path) -> dict[str, str]:
    """Returns what a reader's shell has: this Python's programs, those folders, and the build."""
    folders = [str(one) for one in (Path(sys.executable).parent, *programs)]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    return {**os.environ, "PATH": path, "TBK_BUILD": str(BUILD)}


class Reader:
    """Somebody who follows a page word by word."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = environment()
        self.output = ""

    def follow(self, listing: Listing) -> None:
        if listing.path:
            target = self.folder / listing.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(listing.text)
        elif listing.language == "sh":
            self.run(listing, ["bash", "-e", "-c", f"{listing.text}\nenv -0 >.environment"])
            pairs = (self.folder / ".environment").read_text().split("\0")
            self.environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        elif listing.language == "python":
            self.run(listing, [sys.executable, "-c", listing.text])

    def run(self, listing: Listing, command: list[str]) -> None:
        ran = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"line {listing.line}:\n{ran.stdout}{ran.stderr}"
        self.output = ran.stdout
