# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that adds wrongly."""

from __future__ import annotations

import torch


def _wrong(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return tensor.mul(3)


torch.Tensor.__add__ = _wrong  # type: ignore[method-assign,assignment]
