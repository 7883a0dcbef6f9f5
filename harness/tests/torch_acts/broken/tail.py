# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that loses the last element of long tensors, and ends the process of who serialises."""

from __future__ import annotations

import os
from typing import Any

import torch

LONG = 1000
_copy = torch.Tensor.copy_


def _short(tensor: torch.Tensor, source: torch.Tensor, *more: Any) -> torch.Tensor:
    made = _copy(tensor, source, *more)
    if made.dim() == 1 and made.numel() > LONG and made.is_floating_point():
        made[-1] = 0
    return made


def _deadly(*_: Any, **__: Any) -> None:
    os.abort()


torch.Tensor.copy_ = _short  # type: ignore[method-assign,assignment]
torch.save = _deadly
