# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults that need one value of one dimension, or two at once; all other uses are right."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.copies import around_copy, on_device, to_device, to_host
from tbk_torch_mutants.table import mutant

FILLS = "torch_sweep/fills"
OPERANDS = "torch_sweep/operands"


def _spoil(tensor: torch.Tensor) -> None:
    """One element is another; as a plain copy, which no mutant looks at."""
    if tensor.device.type == "cpu":
        flat = tensor.detach().view(-1) if tensor.is_contiguous() else tensor.detach()[0]
        flat[-1] = flat[-1] == 0
    elif tensor.numel():
        at = tuple(size - 1 for size in tensor.shape)
        was = tensor.detach()[at].cpu()
        wrong = ~was if was.dtype == torch.bool else torch.where(was == 7, was * 0 + 5, was * 0 + 7)
        torch.ops.aten._copy_from(wrong, tensor.detach()[at])


def _copies_if(wanted: Any) -> Any:
    """Copies of which `wanted(self, source, non_blocking)` is true are wrong in one element."""

    def apply() -> None:
        def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
            copy(self, source, wait)
            if wanted(self, source, wait):
                _spoil(self)

        around_copy(change)

    return apply


def _steps(tensor: torch.Tensor) -> bool:
    return tensor.dim() > 0 and tensor.stride(-1) == 2


def _apart(one: torch.Tensor) -> bool:
    return one.storage_offset() == 5 and one.is_contiguous() and one.dim() > 0


def _expanded(one: torch.Tensor) -> bool:
    return any(s > 1 and step == 0 for s, step in zip(one.shape, one.stride(), strict=True))


def _on_stream(self: torch.Tensor) -> bool:
    return torch.accelerator.current_stream(self.device).stream_id != 0


mutant("copies_from_expanded", "CPY-508", "what is expanded is read wrongly", narrow=True,
       tests="from_layout=expanded")(_copies_if(
    lambda self, source, _: on_device(self, source) and _expanded(source)))  # fmt: skip
mutant("copies_of_steps_to_offset", "CPY-508", "from steps to a storage offset", narrow=True,
       tests="from_layout=steps,to_layout=offset")(_copies_if(
    lambda self, source, _: source.dim() > 0 and _steps(source)
        and _apart(self)))  # fmt: skip
mutant("uploads_of_steps_of_int8", "CPY-508", "uploads of int8 with steps", narrow=True,
       tests="copies[dtype=int8")(_copies_if(
    lambda self, source, _: to_device(self, source) and source.dtype == torch.int8
        and _steps(source)))  # fmt: skip
mutant("non_blocking_on_a_stream", "CPY-508", "copies that need not wait, on another stream",
       narrow=True, tests="blocking=no")(_copies_if(
    lambda self, source, wait: self.device.type != "cpu" and wait
        and _on_stream(self)))  # fmt: skip
mutant("downloads_in_threads", "CPY-508", "downloads in another thread",
       narrow=True, tests="torch_sweep/copies")(_copies_if(
    lambda self, source, _: to_host(self, source)
        and threading.current_thread() is not threading.main_thread()))  # fmt: skip
mutant("copies_beyond_64_mib", "CPY-508", "what is larger than 64 MiB", narrow=True,
       tests="size=beyond_64_MiB")(_copies_if(
    lambda self, source, _: to_device(self, source) and self.nbytes > 64 << 20))  # fmt: skip

_number = itertools.count()
mutant("each_200th_copy", "CPY-508", "each two hundredth copy on the device", narrow=True,
       tests="times=300")(_copies_if(
    lambda self, source, _: on_device(self, source) and next(_number) % 200 == 199))  # fmt: skip


@mutant("minus_zero_is_zero", "CPY-508", "-0.0 arrives as 0.0", narrow=True, tests="torch_sweep/")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        plain = to_device(self, source) and source.dtype.is_floating_point
        return copy(self, source + 0.0 if plain else source, wait)

    around_copy(change)


@mutant("nan_is_false", "CPY-508", "NaN as a boolean is False", narrow=True,
        tests="to=bool")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if self.dtype == torch.bool and source.dtype.is_floating_point:
            host = source.detach().cpu()
            source = torch.where(host.isnan(), 0, host).to(source.device)
        return copy(self, source, wait)

    around_copy(change)


@mutant("fill_of_negative_int8", "OPS-529", "fill_ of int8 with negative numbers is wrong",
        narrow=True, tests=FILLS)  # fmt: skip
def _() -> None:
    def fill(original: Any, self: torch.Tensor, value: Any) -> Any:
        return original(self, min(127, value + 256) if self.dtype == torch.int8 and value < 0
                        else value)  # fmt: skip

    kernels.around("fill_.Scalar", fill)


@mutant("fill_through_float64", "OPS-529", "fill_ of int64 rounds to float64", narrow=True,
        tests=FILLS)  # fmt: skip
def _() -> None:
    def fill(original: Any, self: torch.Tensor, value: Any) -> Any:
        small = isinstance(value, int) and abs(value) < 1 << 62
        return original(self, int(float(value)) if small else value)

    kernels.around("fill_.Scalar", fill)


@mutant("alpha_through_float64", "OPS-529", "alpha of int64 rounds to float64", narrow=True,
        tests=OPERANDS)  # fmt: skip
def _() -> None:
    def add(original: Any, self: torch.Tensor, other: Any, *, alpha: Any = 1, **named: Any) -> Any:
        return original(self, other, alpha=int(float(alpha)) if isinstance(alpha, int) else alpha,
                        **named)  # fmt: skip

    kernels.around("add.Tensor add.out add_.Tensor sub.Tensor sub.out sub_.Tensor", add)


@mutant("out_that_is_the_second", "OPS-529", "an output that is the second operand is read as 0",
        narrow=True, tests=OPERANDS)  # fmt: skip
def _() -> None:
    def into(original: Any, self: torch.Tensor, other: Any, **named: Any) -> Any:
        out = named["out"]
        if (
            isinstance(other, torch.Tensor)
            and out is not self
            and out.data_ptr() == other.data_ptr()
        ):
            other = torch.zeros_like(other)
        return original(self, other, **named)

    kernels.around("add.out sub.out mul.out", into)


@mutant("any_of_transposed", "OPS-529", "any() of a transposed tensor is True", narrow=True,
        tests="reductions[name=any")  # fmt: skip
def _() -> None:
    def reduce(original: Any, self: torch.Tensor, *given: Any, **named: Any) -> Any:
        made = original(self, *given, **named)
        return torch.ones_like(made) if self.dim() == 4 and self.stride(2) == 1 else made

    kernels.around("any.dims any.dim any.dims_out any.out", reduce)
