# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tests of products share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor


def skip_unless_served(backend: DeviceModule, device: torch.device) -> None:
    """Skips where the backend does not offer the generic kernel of products."""
    backend.reset_routes()
    torch.ones(1, 2, 2, device=device).bmm(torch.ones(1, 2, 2, device=device))
    if "generic" not in {row.route for row in backend.routes() if "bmm" in row.operator}:
        pytest.skip("the backend does not offer tbk::matmul")


def values(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(shape, generator=generator)
    return made.to(dtype) if dtype.is_floating_point else (made * 9).abs().to(dtype)
