# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults that show with one value of a dimension of order, memory and sequence alone."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.copies import around_copy, to_host
from tbk_torch_mutants.table import mutant

SEQUENCE = "torch_sweep_sequence/"


@mutant("plans_know_sizes_alone", "OPS-529", "a plan serves other strides of the second operand",
        narrow=True, tests=SEQUENCE)  # fmt: skip
def _() -> None:
    plans: dict[Any, tuple[int, ...]] = {}

    def add(original: Any, self: torch.Tensor, other: torch.Tensor, **named: Any) -> Any:
        key = self.dtype, tuple(self.shape), tuple(other.shape)
        strides = plans.setdefault(key, other.stride())
        if strides != other.stride() and other.is_non_overlapping_and_dense():  # type: ignore[attr-defined]
            other = other.as_strided(other.shape, strides)
        return original(self, other, **named)

    kernels.around("add.Tensor", add)


@mutant("plans_know_no_numbers", "OPS-529", "a plan serves other numbers", narrow=True,
        tests="change=number")  # fmt: skip
def _() -> None:
    plans: dict[Any, Any] = {}

    def fill(original: Any, self: torch.Tensor, value: Any) -> Any:
        key = self.dtype, tuple(self.shape)
        return original(self, plans.setdefault(key, value) if self.numel() > 100 else value)

    kernels.around("fill_.Scalar", fill)


@mutant("plans_are_of_the_first_device", "OPS-529", "differences on device 1, after one on 0",
        narrow=True, tests="change=device")  # fmt: skip
def _() -> None:
    seen: set[Any] = set()

    def add(original: Any, self: torch.Tensor, other: torch.Tensor, **named: Any) -> Any:
        made = original(self, other, **named)
        key = self.dtype, tuple(self.shape)
        if self.device.index == 0:
            seen.add(key)
        return made.neg() if self.device.index == 1 and key in seen else made

    kernels.around("sub.Tensor", add)


@mutant("fills_of_the_second_device", "OPS-529", "fill_ with a number on device 1", narrow=True,
        tests="form=number")  # fmt: skip
def _() -> None:
    def fill(original: Any, self: torch.Tensor, value: Any) -> Any:
        wrong = self.device.index == 1 and self.numel() > 1
        return original(self, not value if wrong else value)

    kernels.around("fill_.Scalar", fill)


@mutant("products_after_an_error", "OPS-529", "the first product after a refused call", narrow=True,
        tests="torch_sweep/operands")  # fmt: skip
def _() -> None:
    failed: list[bool] = []

    def add(original: Any, *operands: Any, **named: Any) -> Any:
        try:
            return original(*operands, **named)
        except RuntimeError:
            failed.append(True)
            raise

    def multiply(original: Any, self: torch.Tensor, other: Any, **named: Any) -> Any:
        made = original(self, other, **named)
        if failed and made.numel() and made.dtype != torch.bool:
            failed.clear()
            made.detach().view(-1)[:1].fill_(77)
        return made

    kernels.around("add_.Tensor", add)
    kernels.around("mul.Tensor", multiply)


@mutant("pinned_download_returns_early", "CPY-502", "a blocking copy into pinned memory",
        narrow=True, tests="torch_sweep_order/blocking_reads")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        return copy(self, source, wait or (to_host(self, source) and self.is_pinned()))

    around_copy(change)


@mutant("recorded_when_told", "MEM-514", "what is enqueued after record_stream is not waited for",
        narrow=True, tests="torch_sweep_memory/")  # fmt: skip
def _() -> None:
    kept: list[tuple[torch.Event, torch.UntypedStorage]] = []

    def record(_: Any, self: torch.Tensor, stream: torch.Stream) -> None:
        event = torch.Event(self.device)
        event.record(stream)
        kept.append((event, self.untyped_storage()))

    def empty(original: Any, *arguments: Any, **named: Any) -> Any:
        kept[:] = [one for one in kept if not one[0].query()]
        return original(*arguments, **named)

    kernels.around("record_stream", record)
    kernels.around("empty.memory_format", empty)


_number = itertools.count(1)


@mutant("eighth_synchronize_is_early", "STR-511", "every eighth time", narrow=True,
        mechanism="module", tests="torch_sweep_order/device_synchronize")  # fmt: skip
def _() -> None:
    whole = torch.accelerator.synchronize

    def synchronize(*arguments: Any) -> None:
        if next(_number) % 8:
            whole(*arguments)

    torch.accelerator.synchronize = synchronize


@mutant("second_device_is_not_synchronized", "STR-511", "synchronize of device 1 does nothing",
        narrow=True, mechanism="module", tests="torch_sweep_order/device_synchronize")  # fmt: skip
def _() -> None:
    whole = torch.accelerator.synchronize

    def synchronize(device: Any = None, /) -> None:
        if device is None or torch.device(device).index != 1:
            whole(device)

    torch.accelerator.synchronize = synchronize
