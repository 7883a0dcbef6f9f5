# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The compiled part, checked to be built for this PyTorch, and typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_tbk import _C as binding  # noqa: N811
else:
    from torch_tbk._extension import extension

    binding = extension()

__all__ = ["binding"]
