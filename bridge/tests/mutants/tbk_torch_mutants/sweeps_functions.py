# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults that show with one value of a dimension of functions, conversions and questions alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.copies import around_copy, to_host
from tbk_torch_mutants.native import native
from tbk_torch_mutants.sweeps import _spoil
from tbk_torch_mutants.table import mutant

FUNCTIONS = "torch_sweep_functions/"


@mutant("floor_of_halves_is_even", "OPS-550", "floor of n + 0.5 is even", narrow=True,
        tests="of_one_operand[name=floor")  # fmt: skip
def _() -> None:
    def floor(made: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
        if not one.is_floating_point():
            return made
        half = (one.detach().cpu().frac().abs() == 0.5).to(made.device)
        return torch.where(half, (made / 2).trunc() * 2, made)

    kernels.result("floor", floor)


@mutant("xor_of_steps", "OPS-550", "xor of an operand that has steps", narrow=True,
        tests="of_two_operands[name=bitwise_xor")  # fmt: skip
def _() -> None:
    def xor(made: torch.Tensor, *operands: Any) -> torch.Tensor:
        steps = any(isinstance(one, torch.Tensor) and one.dim() > 1 and one.stride(-1) == 2
                    for one in operands)  # fmt: skip
        return made + 1 if steps and made.dtype != torch.bool else made

    kernels.result("bitwise_xor.Tensor bitwise_xor.Scalar", xor)


@mutant("greatest_of_long_rows", "OPS-529", "cummax starts again after 1,024 elements", narrow=True,
        tests="of_rows[name=cummax")  # fmt: skip
def _() -> None:
    def cummax(original: Any, one: torch.Tensor, dim: int) -> Any:
        made = original(one, dim)
        if one.dim() and one.shape[dim] > 1024:
            made[0].narrow(dim, 1024, 1).copy_(one.narrow(dim, 1024, 1) - 1)
        return made

    kernels.around("cummax", cummax)


@mutant("download_of_six_dimensions", "CPY-508", "more than four, of what has steps", narrow=True,
        tests="rank=6")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> None:
        copy(self, source, wait)
        if to_host(self, source) and source.dim() > 4 and not source.is_contiguous():
            _spoil(self)

    around_copy(change)


@mutant("float64_is_cut_to_float32", "CPY-508", "instead of rounded", narrow=True,
        tests="conversions[from=float64,to=float32")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if (source.dtype, self.dtype) != (torch.float64, torch.float32):
            return copy(self, source, wait)
        bits = source.detach().cpu().contiguous().view(torch.int64) & -(1 << 29)
        return copy(self, bits.view(torch.float64).to(source.device), wait)

    around_copy(change)


@mutant("masks_of_int16", "OPS-529", "masked_fill_ of int16", narrow=True,
        tests="fills[dtype=int16,form=mask")  # fmt: skip
def _() -> None:
    def fill(original: Any, one: torch.Tensor, mask: torch.Tensor, value: Any) -> Any:
        return original(one, mask, 5 if one.dtype == torch.int16 else value)

    kernels.around("masked_fill_.Scalar", fill)


@mutant("own_difference", "OPS-529", "sub_ of a tensor from itself keeps it", narrow=True,
        tests="other=same")  # fmt: skip
def _() -> None:
    def sub(original: Any, one: torch.Tensor, other: Any, **named: Any) -> Any:
        same = isinstance(other, torch.Tensor) and one.data_ptr() == other.data_ptr()
        return one if same and one.numel() else original(one, other, **named)

    kernels.around("sub_.Tensor", sub)
    kernels.around("sub.out", lambda original, one, other, **named: (
        one if isinstance(other, torch.Tensor) and one.data_ptr() == other.data_ptr()
        and one is named["out"] else original(one, other, **named)))  # fmt: skip
    kernels.result("sub.Tensor", lambda made, one, other: (
        one.clone() if isinstance(other, torch.Tensor) and one.data_ptr() == other.data_ptr()
        else made))  # fmt: skip


@mutant("products_into_holes", "OPS-529", "mul into an output that lies in a hole", narrow=True,
        tests="result=out,out=hole")  # fmt: skip
def _() -> None:
    def into(original: Any, *operands: Any, out: torch.Tensor, **named: Any) -> Any:
        made = original(*operands, out=out, **named)
        if out.storage_offset() and not out.is_contiguous():
            _spoil(made)
        return made

    kernels.around("mul.out add.out sub.out", into)


@mutant("middle_stream_is_forgotten", "MEM-514", "the second of several streams", narrow=True,
        tests="late=second")  # fmt: skip
def _() -> None:
    told: Counter[int] = Counter()

    def record(original: Any, one: torch.Tensor, stream: torch.Stream) -> None:
        told[one.untyped_storage().data_ptr()] += 1
        if told[one.untyped_storage().data_ptr()] % 3 != 2:
            original(one, stream)

    kernels.around("record_stream", record)


@mutant("little_is_left", "MEM-525", "free is more than total below a quarter", narrow=True,
        mechanism="module", tests="as_it_fills")  # fmt: skip
def _() -> None:
    ask = torch.accelerator.get_memory_info

    def told(*arguments: Any) -> tuple[int, int]:
        free, total = ask(*arguments)
        return (free if 4 * free > total else 2 * total), total

    torch.accelerator.get_memory_info = told


@mutant("buffers_are_not_pinned", "PIN-502", "a storage that begins at an odd address", narrow=True,
        mechanism="module", tests="any_part_of_it")  # fmt: skip
def _() -> None:
    ask = torch.Tensor.is_pinned

    def is_pinned(one: torch.Tensor, *arguments: Any) -> bool:
        return ask(one, *arguments) and one.untyped_storage().data_ptr() % 2 == 0

    torch.Tensor.is_pinned = is_pinned  # type: ignore[assignment, method-assign]


native("query_of_the_second_device_waits", "STR-508", "of streams of device 1", narrow=True,
       tests="stream_query_does_not_wait")  # fmt: skip
native("query_of_timed_events_waits", "EVT-510", "of events that measure time", narrow=True,
       tests="event_query_does_not_wait[timing=yes")  # fmt: skip
native("eleventh_record_is_lost", "EVT-503", "of one event", narrow=True, tests="recorded=12")
native("tenth_wait_is_lost", "EVT-507", "for one event", narrow=True, tests="waits=12")
native("elapsed_time_ends_at_100_ms", "EVT-514", "longer stretches are cut", narrow=True)
native("offset_of_40_bits", "GEN-513", "what is above is lost", narrow=True)
