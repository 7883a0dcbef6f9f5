# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The front door: drives tbk-run, judges what it recorded, and has the verdict rendered."""

import time

STARTED = time.monotonic()
"""When this was imported, which the command tbk does before all that takes time."""

__version__ = "0.1.0"
