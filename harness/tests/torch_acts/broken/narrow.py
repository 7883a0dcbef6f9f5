# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device without float64 and without complex numbers; legal, and not broken."""

from __future__ import annotations

import torch
from tbk_contracts.torch import host

LACKS = (torch.float64, torch.complex64, torch.complex128)
_upload = host.upload


def _refusing(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    if tensor.dtype in LACKS:
        raise TypeError(f"this device has no {tensor.dtype}")
    return _upload(tensor, device)


host.upload = _refusing
