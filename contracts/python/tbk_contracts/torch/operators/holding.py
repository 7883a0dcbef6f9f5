# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Dtypes beside the one that is judged: a sample may need more of them than the device holds."""

from __future__ import annotations

import warnings
from functools import cache

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.operators.oracle import Expected
from tbk_contracts.torch.operators.samples import Sample


@cache
def _comes_back(dtype: torch.dtype, device: torch.device) -> bool:
    """Returns whether what the capability words ask, of any dtype; an exception is not kept for
    later.
    """
    sent = torch.ones(8, dtype=dtype, device="cpu")
    back = host.download(host.upload(sent, device))
    return torch.equal(back.view(torch.uint8), sent.view(torch.uint8))


def holds(dtype: torch.dtype, device: torch.device) -> bool:
    """Returns whether tensors of that dtype can be copied to the device and back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some dtypes are experimental
        try:
            return _comes_back(dtype, device)
        except Exception:  # devices refuse in any type of exception
            return False


def lacks(sample: Sample, expected: Expected, device: torch.device) -> set[torch.dtype]:
    """Returns the dtypes that a call needs, and the device does not hold."""
    wanted = expected.dtypes | {one.dtype for one in sample.tensors()}
    return {dtype for dtype in wanted if not holds(dtype, device)}


class LeftOut:
    """Samples that need a dtype which the device lacks: they say nothing about the operator."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._lacking: set[str] = set()
        self._count = 0

    def takes(self, sample: Sample, expected: Expected) -> bool:
        """Returns whether this sample is one of them; if so, it is counted."""
        lacking = {str(dtype).removeprefix("torch.")
                   for dtype in lacks(sample, expected, self._device)}  # fmt: skip
        self._lacking |= lacking
        self._count += bool(lacking)
        return bool(lacking)

    def tell(self, judged: int, otherwise: str) -> None:
        """A note on them; where nothing was judged, why: because of them, or `otherwise`."""
        names = ", ".join(sorted(self._lacking))
        if self._count:
            check.note(
                f"samples left out, which need what the device lacks ({names}): {self._count}"
            )
        if not judged:
            check.equal("samples that can be judged", judged, 0)
            reason = f"each sample needs what the device lacks: {names}"
            check.evidence(check.NOT_SHOWN, reason if self._count else otherwise)
