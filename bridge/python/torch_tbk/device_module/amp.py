# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Automatic mixed precision: torch.amp, bound to this backend's devices."""

from __future__ import annotations

import torch

from torch_tbk._binding import binding
from torch_tbk.device_module import device as _device


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Returns the dtypes that torch.autocast may use, natively or on the CPU."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Returns whether bfloat16 can be computed in on the current device. Opens nothing.

    Args:
        including_emulation: also by running on the CPU; otherwise by the backend's own kernels.
    """
    if not _device.is_available():
        return False
    return including_emulation or torch.bfloat16 in _device.get_device_properties().dtypes


class autocast(torch.amp.autocast_mode.autocast):  # noqa: N801  # as torch.autocast
    """torch.autocast of this backend's device type. The default dtype is float16."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True
    ) -> None:
        super().__init__(binding.name(), enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler of this backend's device type."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            binding.name(), init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
