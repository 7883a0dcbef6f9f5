# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where the contract's own files lie: in package data, or in the checkout that this file is in."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def contracts_root() -> Path:
    """Returns the folder that holds spec/, include/ and tests/.

    An installed package carries a copy of these under data/, laid out as in the checkout.
    """
    packaged = _HERE / "data"
    return packaged if (packaged / "spec").is_dir() else _HERE.parents[1]
