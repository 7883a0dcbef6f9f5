# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a result of the device is like one of the host."""

from __future__ import annotations

import torch

Tensor = torch.Tensor
HALF = {torch.float16: 2e-2, torch.bfloat16: 1e-1}


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Returns the tensor on the device, with its strides."""
    there = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    return there.copy_(tensor)


def check_same(seen: Tensor, expected: Tensor) -> None:
    assert (seen.dtype, seen.shape, seen.stride()) == (
        expected.dtype, expected.shape, expected.stride(),
    )  # fmt: skip
    limit = HALF.get(expected.dtype)
    torch.testing.assert_close(seen.cpu(), expected, equal_nan=True, rtol=limit, atol=limit)
