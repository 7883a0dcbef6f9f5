# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a device is named in a call: an index, "acme", "acme:1", a torch.device, or None."""

from __future__ import annotations

import torch

from torch_tbk._binding import binding

DeviceLike = int | str | torch.device | None
"""A device of the backend: an index, "acme", "acme:1" or a torch.device. Where a function takes a
device and gets None, or one without an index, it means the current device."""


def _get_device_index(device: DeviceLike, optional: bool = False, allow_cpu: bool = False) -> int:
    """Returns the index that `device` stands for; PyTorch calls this by its name. Not
    range-checked.

    Args:
        device: an index, or a device of this backend.
        optional: None, and a device without an index, mean the current device.
        allow_cpu: a CPU device is -1 instead of an error.

    Raises:
        ValueError: a device of another type, or none where one is needed.
    """
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, int):
        return device
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != binding.name():
            raise ValueError(f"expected a device of {binding.name()}, but got {device}")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(
            f"expected an index or a device of {binding.name()} with one, but got {device}"
        )
    return binding.current_device()


def checked_index(device: DeviceLike) -> int:
    """Returns the index that `device` stands for, the current one for None.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device.
    """
    index = _get_device_index(device, optional=True)
    binding.check_device(index)
    return index
