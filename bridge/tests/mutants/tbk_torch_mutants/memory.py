# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Memory: what Python can break of it."""

from __future__ import annotations

import atexit
import os
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.module_device import answer, fail, module, patch
from tbk_torch_mutants.native import apply_native, native
from tbk_torch_mutants.table import mutant

native("never_initialized", "MEM-526", "the allocator is never initialised")


@mutant("allocating_takes_the_gil", "MEM-507", "allocating calls Python")
def _() -> None:
    kernels.around("empty.memory_format empty_strided", lambda make, *given, **named: make(
        *given, **named))  # fmt: skip


@mutant("large_memory_is_lost", "MEM-536", "blocks above 1 MiB are never given out again",
        narrow=True)  # fmt: skip
def _() -> None:
    lost: list[Any] = []

    def keep(made: torch.Tensor, *_: Any) -> torch.Tensor:
        if made.untyped_storage().nbytes() > 1 << 20:
            lost.append(made.untyped_storage())
        return made

    kernels.result("empty.memory_format empty_strided", keep)


@mutant("operators_get_no_cached_memory", "MEM-515", "none of their own while the cache has"
        " most of it", narrow=True)  # fmt: skip
def _() -> None:
    def run(original: Any, *given: Any, **named: Any) -> Any:
        accelerator = torch.accelerator
        cached = accelerator.memory_reserved() - accelerator.memory_allocated()
        if cached > accelerator.get_memory_info()[1] // 2:
            raise torch.OutOfMemoryError("no memory for what is between")
        return original(*given, **named)

    kernels.around("mm", run)


@mutant("operators_start_at_aligned_memory", "INT-501", "they read what lies before a storage that"
        " begins in the middle of an allocation", narrow=True)  # fmt: skip
def _() -> None:
    def shifted(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
        if one.untyped_storage().data_ptr() % 64 == 0:
            return made
        return kernels.rewrite(made, lambda values: values.flatten().roll(1).view(values.shape))

    kernels.result("add.Tensor add_.Tensor", shifted)


@mutant("pinned_memory_denies_it", "PIN-502 PIN-501", "is_pinned is False of what was pinned",
        mechanism="module")  # fmt: skip
def _() -> None:
    answer(torch.Tensor, "is_pinned", False)


@mutant("absurd_sizes_wrap", "MEM-517", "sizes are taken modulo 2^32")
def _() -> None:
    def make(original: Any, size: Any, **named: Any) -> Any:
        return original([length % (1 << 32) for length in size], **named)

    kernels.around("empty.memory_format", make)


@mutant(
    "absurd_sizes_end_the_process", "MEM-517", "a size above 2^48 ends the process", narrow=True
)
def _() -> None:
    def make(original: Any, size: Any, **named: Any) -> Any:
        if any(length > 1 << 48 for length in size):
            os.abort()
        return original(size, **named)

    kernels.around("empty.memory_format", make)


@mutant("empty_is_always_on_device_0", "MEM-502", "memory lies on device 0, and says so")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        return original(*given, **{**named, "device": torch.device(module().backend_name, 0)})

    kernels.around("empty.memory_format empty_strided", make)


@mutant("lazy_clone_is_shared", "MEM-529", "a copy on write is none")
def _() -> None:
    patch(torch, "_lazy_clone", lambda _, one: one.view_as(one))


@mutant("exit_with_tensors_crashes", "MEM-534", "tensors that live at exit end the process badly")
def _() -> None:
    atexit.register(os.abort)


@mutant("emptying_host_cache_raises", "MEM-519", "empty_host_cache raises before the first use",
        narrow=True)  # fmt: skip
def _() -> None:
    fail(torch.accelerator, "empty_host_cache", "not initialised")


@mutant("statistics_before_use_are_none", "MEM-526", "there are no statistics", narrow=True)
def _() -> None:
    answer(torch.accelerator.memory, "memory_stats", {})
    answer(torch.accelerator, "memory_stats", {})


@mutant("pinned_memory_on_the_device", "PIN-512", "pin_memory is passed over for the device")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        return original(*given, **{**named, "pin_memory": None})

    kernels.around("empty.memory_format", make)


@mutant(
    "fresh_memory_is_cleared_late", "MEM-510", "memory of a stream is cleared after its first use"
)
def _() -> None:
    from tbk_torch_mutants.copies import around_copy  # noqa: PLC0415  # the one of its kind here

    fresh: set[int] = set()

    def make(original: Any, *given: Any, **named: Any) -> Any:
        made = original(*given, **named)
        if torch.accelerator.current_stream(made.device).stream_id != 0:
            fresh.add(made.data_ptr())
        return made

    def copy(original: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        original(self, source, wait)
        if self.data_ptr() in fresh and self.device == source.device:
            fresh.discard(self.data_ptr())
            self.detach().zero_()

    kernels.around("empty.memory_format", make)
    around_copy(copy)


def _pinned(name: str) -> None:
    """Nobody asks the hooks before something was pinned."""
    torch.empty(1, pin_memory=True)
    apply_native(name)


@mutant("other_memory_raises", "PIN-503 PIN-502", "asking for what is not pinned raises")
def _() -> None:
    _pinned("pinned_raises")


@mutant("no_memory_raises", "PIN-503", "asking for a null pointer raises", narrow=True)
def _() -> None:
    _pinned("pinned_raises_for_null")
