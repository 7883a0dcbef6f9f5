# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device whose properties say that one process at a time may have it; legal, and not broken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch


def _properties(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(exclusive=True)


torch.cpu.get_device_properties = _properties  # type: ignore[attr-defined]
