# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Registers a device, and raises when the interpreter ends."""

import atexit

import torch


@atexit.register
def _complain() -> None:
    raise RuntimeError("the driver is gone already")


torch.utils.rename_privateuse1_backend("vulcano")
