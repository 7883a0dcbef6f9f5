# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One thread for each worker, no plugins of the user's, and no device before its time."""

from __future__ import annotations

import os

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_wants_autoload = True


def prepare() -> None:
    """Sets what PyTorch and pytest read when they are imported."""
    global _wants_autoload  # noqa: PLW0603  # once in a process
    _wants_autoload = os.environ.get(AUTOLOAD, "1") == "1"
    os.environ[AUTOLOAD] = "0"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)


def restore_autoload() -> bool:
    """Returns whether packages that PyTorch would have loaded by itself are still to be loaded."""
    if _wants_autoload:
        os.environ.pop(AUTOLOAD, None)
    return _wants_autoload
