# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Subnormal numbers, which many devices take for 0: that is declared by what they do to one."""

from __future__ import annotations

import torch

from tbk_contracts.torch import host, missing


def kept(device: torch.device, dtype: torch.dtype = torch.float32) -> bool:
    """A multiplication by 1 keeps one; nothing does where there is none. The capability word
    `subnormals` is for float32."""
    facts = torch.finfo(dtype)
    # About 1e-40 in float32: of the size of some subnormal number, not of the least one.
    sent = torch.full((8,), facts.smallest_normal / 128, dtype=dtype, device="cpu")
    try:
        return bool((host.download(host.upload(sent, device) * 1) != 0).all())
    except (RuntimeError, TypeError) as error:
        if missing.dtype(error, device) or missing.lacking(error) or isinstance(error, TypeError):
            return False  # nothing is computed in this dtype
        raise


def among(tensor: torch.Tensor) -> torch.Tensor:
    """Returns which elements are subnormal, on the host."""
    if not tensor.is_floating_point():
        return torch.zeros(tensor.shape, dtype=torch.bool, device="cpu")
    return (tensor != 0) & (tensor.abs() < torch.finfo(tensor.dtype).smallest_normal)
