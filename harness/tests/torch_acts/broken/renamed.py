# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Registers a device, and raises when the interpreter ends."""

import atexit

from torch.utils.backend_registration import rename_privateuse1_backend


@atexit.register
def _complain() -> None:
    raise RuntimeError("the driver is gone already")


rename_privateuse1_backend("vulcano")
