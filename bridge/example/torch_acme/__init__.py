# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The device "acme" for PyTorch. Plain `import torch` is enough: it calls autoload()."""

from __future__ import annotations

from pathlib import Path


def autoload() -> None:
    """Give PyTorch the device; nothing is opened before the first tensor."""
    import torch_tbk  # noqa: PLC0415  # torch is not there yet when this package is imported first

    torch_tbk.load(Path(__file__).with_name("libacme.so"))
