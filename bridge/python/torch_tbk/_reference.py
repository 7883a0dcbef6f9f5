# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where the reference backends lie that come with this package."""

from __future__ import annotations

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _folders() -> list[Path]:
    build = os.environ.get("TBK_BUILD")
    if build:
        return [Path(build) / "lib"]
    checkout = _HERE.parents[2]
    folders = [_HERE.parent / "tbk_harness" / "lib"]
    if (checkout / "reference_backends").is_dir():
        folders.append(checkout / "build" / "lib")
    return folders


def reference(name: str = "cpu") -> Path:
    """Returns the library of a reference backend, for `load`.

    Args:
        name: "cpu" (asynchronous, two virtual devices), "template" (the ten mandatory functions on
            host memory), and in a checkout whatever else was built.

    Raises:
        ValueError: there is none of that name.
    """
    folders = _folders()
    for folder in folders:
        path = folder / f"libtbk_{name}.so"
        if path.is_file():
            return path
    found = sorted(path.stem[7:] for folder in folders for path in folder.glob("libtbk_*.so"))
    have = ", ".join(found) if found else "none is built"
    raise ValueError(f"there is no reference backend {name!r}; there are: {have}")
