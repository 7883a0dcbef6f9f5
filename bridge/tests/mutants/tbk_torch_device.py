# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that is loaded when this is imported, as a vendor's package does it: sound, broken or
odd. For `tbk check --device NAME --import tbk_torch_device`, with this folder on PYTHONPATH.

TBK_TORCH_LIBRARY is the backend, TBK_TORCH_OPTIONS what it is told, TBK_TORCH_MUTANT what breaks
it (or a file of Python, which is run), TBK_TORCH_SABOTAGE one of
tbk_torch_sabotages, and
TBK_TORCH_LEGAL what makes it odd. Never shipped.
"""

from __future__ import annotations

import importlib
import os
import runpy

import torch_tbk

torch_tbk.load(os.environ["TBK_TORCH_LIBRARY"], options=os.environ.get("TBK_TORCH_OPTIONS"))

_mutant = os.environ.get("TBK_TORCH_MUTANT", "")
if _mutant.endswith(".py"):
    runpy.run_path(_mutant)
elif _mutant:
    importlib.import_module("tbk_torch_mutants")  # which applies it: twice would be too much
if os.environ.get("TBK_TORCH_SABOTAGE"):
    importlib.import_module("tbk_torch_sabotages").apply(os.environ["TBK_TORCH_SABOTAGE"])
if os.environ.get("TBK_TORCH_LEGAL"):
    importlib.import_module("tbk_torch_mutants.legal").apply(os.environ["TBK_TORCH_LEGAL"])
