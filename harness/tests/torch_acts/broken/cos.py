# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device whose cosine is wrong in float32."""

from __future__ import annotations

import math

import torch

LIBRARY = torch.library.Library("aten", "IMPL")


def _wrong(tensor: torch.Tensor) -> torch.Tensor:
    return torch.sin(tensor + math.pi / 2) + (tensor.dtype == torch.float32)


LIBRARY.impl("cos", _wrong, "CPU")
