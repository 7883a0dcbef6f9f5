# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that copies wrongly."""

from __future__ import annotations

from typing import Any

import torch

_copy = torch.Tensor.to


def _wrong(tensor: torch.Tensor, *words: Any, **more: Any) -> torch.Tensor:
    made = _copy(tensor, *words, **more)
    return made.clone().fill_(0) if words == ("cpu",) else made


torch.Tensor.to = _wrong  # type: ignore[method-assign,assignment]
