# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that ends the process of whoever makes a generator."""

from __future__ import annotations

import os

import torch


class _Deadly:
    def __init__(self, *_: object, **__: object) -> None:
        os.abort()


torch.Generator = _Deadly  # type: ignore[misc, assignment]
