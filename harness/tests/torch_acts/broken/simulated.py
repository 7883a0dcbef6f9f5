# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device whose properties say that software stands in for it; legal, and not broken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch


def _properties(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(name="a device in software", simulated=True)


torch.cpu.get_device_properties = _properties  # type: ignore[attr-defined]
