# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command of a generator that makes one file: writes it, or compares it under --check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def generate(
    doc: str | None, name: str, root: Path, target: Path, make: Callable[[Path], str]
) -> int:
    """Runs the command `name`, of which `make` gives the text of `target` below --root.

    Returns the exit code: 1 where --check finds another text, 2 where there is none to be had.
    """
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--root", type=Path, default=root, help="the folder that it is made from")
    options = parser.parse_args()
    path: Path = options.root / target
    try:
        text = make(options.root)
        if path.exists() and path.read_text() == text:
            return 0
        if options.check:
            print(f"{name}: {path} is stale; run ci/update")
            return 1
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except (ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0
