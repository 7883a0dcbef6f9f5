#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Put a file between the two lines of a page that mark where generated text begins and ends."""

from __future__ import annotations

import argparse
from pathlib import Path

BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("content", type=Path)
    options = parser.parse_args()
    page: str = options.page.read_text()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        parser.error(f"{options.page} does not have each marker once")
    before, rest = page.split(BEGIN)
    content = options.content.read_text().strip()
    options.page.write_text(f"{before}{BEGIN}{content}\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
