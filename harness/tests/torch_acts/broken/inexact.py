# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device whose cosine is off by some units in the last place in float32: not as recommended."""

from __future__ import annotations

import torch

LIBRARY = torch.library.Library("aten", "IMPL")


def _inexact(tensor: torch.Tensor) -> torch.Tensor:
    wide = tensor.to(torch.float64)
    right = torch.polar(torch.ones_like(wide), wide).real
    return (right * (1 + 2.0**-18) if tensor.dtype == torch.float32 else right).to(tensor.dtype)


LIBRARY.impl("cos", _inexact, "CPU")
