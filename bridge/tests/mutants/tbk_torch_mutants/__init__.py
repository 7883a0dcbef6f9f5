# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the device that is loaded, in the way that TBK_TORCH_MUTANT names. Never shipped.

Imported after the device was loaded; the bridge's sources know nothing of it. `python -m
tbk_torch_mutants` prints the table.
"""

from __future__ import annotations

import os

from tbk_torch_mutants import table

if os.environ.get("TBK_TORCH_MUTANT"):
    table.apply(os.environ["TBK_TORCH_MUTANT"])
