# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that hangs when it is used first."""

from __future__ import annotations

import threading
from typing import Any

import torch


def _hang(*_: Any, **__: Any) -> torch.Tensor:
    threading.Event().wait()
    raise AssertionError


torch.empty = _hang
