# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""float32 is computed in float32: what PyTorch allows by default is less, in some libraries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

KNOBS = ("cudnn.conv", "cudnn.rnn", "cuda.matmul", "mkldnn.conv", "mkldnn.rnn", "mkldnn.matmul")
FULL = ("ieee", "none")  # "none": nobody has allowed anything else


def _knobs() -> Iterator[Any]:
    """Yields those that allow less now; a PyTorch without them has none."""
    for path in KNOBS:
        family, _, name = path.partition(".")
        knob = getattr(getattr(torch.backends, family, None), name, None)
        if getattr(knob, "fp32_precision", "none") not in FULL:
            yield knob


@contextmanager
def full() -> Iterator[None]:
    """Within it, operators have the precision that the bounds are for; then it is as it was."""
    before = [(knob, knob.fp32_precision) for knob in _knobs()]
    for knob, _ in before:
        knob.fp32_precision = "ieee"
    try:
        yield
    finally:
        for knob, was in before:
            knob.fp32_precision = was
