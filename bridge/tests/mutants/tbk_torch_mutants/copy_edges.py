# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies that lack one edge of their order, and copies of which several are pending."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.copies import around_copy, between, to_device
from tbk_torch_mutants.table import mutant

ACROSS = "torch_sweep_across/"
PENDING = "torch_copy_pending/"


def _aside(end: Any, *, waits_before: bool, waits_after: bool) -> None:
    """A copy between devices uses another stream of the device that `end` names, which waits for
    the current one, or is waited for by it."""

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if not between(self, source):
            return copy(self, source, wait)
        device = end(self, source).device
        index = torch.accelerator.current_device_index()
        former, aside = torch.accelerator.current_stream(device), torch.Stream(device)
        if waits_before:
            aside.wait_stream(former)
        torch.accelerator.set_stream(aside)
        torch.accelerator.set_device_index(index)
        try:
            copy(self, source, wait)
        finally:
            torch.accelerator.set_stream(former)
            torch.accelerator.set_device_index(index)
        if waits_after:
            former.wait_stream(aside)
        return None

    around_copy(change)


@mutant("peer_copy_overtakes_the_target", "CPY-507", "writes before the target's stream is there",
        narrow=True, tests=ACROSS)  # fmt: skip
def _() -> None:
    _aside(lambda self, source: self, waits_before=False, waits_after=True)


@mutant("peer_copy_is_overtaken_at_the_source", "CPY-507",
        "the source's stream goes on before the source was read", narrow=True,
        tests=ACROSS)  # fmt: skip
def _() -> None:
    _aside(lambda self, source: source, waits_before=True, waits_after=False)


@mutant("peer_copy_is_overtaken_at_the_target", "CPY-507",
        "the target's stream goes on before the target was written", narrow=True,
        tests=ACROSS)  # fmt: skip
def _() -> None:
    _aside(lambda self, source: self, waits_before=True, waits_after=False)


@mutant("uploads_share_a_stage", "CPY-505", "an upload that does not block takes the memory by way "
        "of which an earlier one of that size is on its way", narrow=True,
        tests=PENDING)  # fmt: skip
def _() -> None:
    stages: dict[int, torch.Tensor] = {}

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        plain = source.is_contiguous() and source.dtype == self.dtype and source.numel() > 0
        if not (wait and plain and to_device(self, source) and not source.is_pinned()):
            return copy(self, source, wait)
        made = stages.get(source.nbytes)
        if made is None:
            made = stages[source.nbytes] = torch.empty(
                source.nbytes, dtype=torch.uint8, pin_memory=True
            )
        stage = made.view(source.dtype).view(source.shape)
        stage.copy_(source)
        return copy(self, stage, wait)

    around_copy(change)
