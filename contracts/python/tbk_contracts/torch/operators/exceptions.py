# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Known bugs of PyTorch itself: the same allowance on every device, by operator, dtype, version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import yaml

_rows: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("exceptions.yml").read_text(encoding="utf-8")
)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("+", maxsplit=1)[0].split(".")[:2])


def absolute(operator: str, dtype: torch.dtype, what: str) -> float:
    """Returns the error that is allowed in addition; 0 where no bug is known."""
    now = _version(torch.__version__)
    return max(
        (
            float(row["absolute"]) for row in _rows
            if operator in row["operators"] and row["what"] == what
            and str(dtype).removeprefix("torch.") in row["dtypes"]
            and _version(row["since"]) <= now
            and (row["until"] is None or now < _version(row["until"]))
        ),
        default=0.0,
    )  # fmt: skip
