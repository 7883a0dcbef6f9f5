# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Has a version, and a driver of which its device's properties tell."""

from types import SimpleNamespace

import torch

__version__ = "7.1"
properties = SimpleNamespace(name="acme one", driver_version="12.5")
setattr(torch.cpu, "get_device_properties", lambda _: properties)  # noqa: B010  # it has none
