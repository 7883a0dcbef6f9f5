# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fifteen more, of kinds that the others leave out: what a context leaves behind, what other
threads see, what is answered for another device, and values at the ends of a dtype."""

from __future__ import annotations

import functools
import threading
from typing import Any

import torch
from tbk_torch_mutants import kernels
from tbk_torch_mutants.copies import around_copy, to_device, to_host
from tbk_torch_mutants.module_device import module, name, patch
from torch import serialization

import tbk_torch_sabotages

sabotage = functools.partial(tbk_torch_sabotages.sabotage, of="second")


# ------------------------------------------------------------- streams, devices, statistics, state


@sabotage("stream_context_is_not_left_by_an_exception", "streams")
def _() -> None:
    def leave(before: Any, self: Any, kind: Any, *given: Any) -> Any:
        return None if kind is not None else before(self, kind, *given)

    context = type(module().stream(None))
    before = context.__exit__
    context.__exit__ = lambda self, *given: leave(before, self, *given)


@sabotage("waiting_for_a_device_waits_for_the_current_one", "streams")
def _() -> None:
    patch(module(), "synchronize", lambda before, *_, **__: before())


@sabotage("device_context_is_not_left_by_an_exception", "guards")
def _() -> None:
    before = module().device.__exit__

    def leave(self: Any, kind: Any, *given: Any) -> Any:
        return None if kind is not None else before(self, kind, *given)

    module().device.__exit__ = leave


@sabotage("recorded_views_are_forgotten", "allocator")
def _() -> None:
    def record(original: Any, one: torch.Tensor, stream: Any) -> None:
        if one.storage_offset() == 0:
            original(one, stream)

    kernels.around("record_stream", record)


@sabotage("peaks_are_never_reset", "statistics")
def _() -> None:
    patch(module(), "reset_peak_memory_stats", lambda *_, **__: None)
    patch(torch.accelerator, "reset_peak_memory_stats", lambda *_, **__: None)


@sabotage("state_is_set_on_the_first_device", "generator")
def _() -> None:
    patch(module(), "set_rng_state", lambda before, state, *_, **__: before(state, 0))


@sabotage("device_of_a_saved_storage_is_forgotten", "serialization")
def _() -> None:
    def load(storage: Any, location: str) -> Any:
        return storage.to(device=torch.device(name(), 0)) if location == name() else None

    serialization.register_package(
        0, lambda one: name() if one.device.type == name() else None, load
    )


@sabotage("loading_flushes_subnormals", "host")
def _() -> None:
    """As a library does that is built with -ffast-math: what the host computes is different."""
    torch.set_flush_denormal(True)


# -------------------------------------------------------------------------- threads, views, storage


@sabotage("copies_of_other_threads_are_halved", "threads")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        plain = self.dim() > 0 and self.shape == source.shape and self.numel() > 1
        if is_main or not plain or not to_device(self, source):
            return copy(self, source, wait)
        half = (self.shape[0] + 1) // 2
        copy(self.detach()[:half], source.detach()[:half], wait)
        return None

    around_copy(change)


@sabotage("downloads_that_do_not_block_wait_for_the_next", "copies")
def _() -> None:
    pending: list[tuple[torch.Tensor, torch.Tensor]] = []

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if not to_host(self, source):
            return copy(self, source, wait)
        late = pending.pop() if pending else None
        if wait and self.is_pinned():
            pending.append((self.detach(), source.detach()))
        else:
            copy(self, source, wait)
        return copy(*late, False) and None if late else None

    around_copy(change)


@sabotage("pinned_rows_are_taken_as_they_lie", "pinned")
def _() -> None:
    """Out of pinned memory the bytes go as they lie, whatever the strides say."""

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and source.is_pinned() and source.dim() == 2:
            source = source.detach().as_strided(source.shape, (source.shape[1], 1))
        return copy(self, source, wait)

    around_copy(change)


@sabotage("growing_forgets_what_was_there", "storage")
def _() -> None:
    def resize(original: Any, one: torch.Tensor, size: Any, **named: Any) -> Any:
        before = one.numel()
        made = original(one, size, **named)
        return one.detach().zero_() and made if one.numel() > before else made

    kernels.around("resize_", resize)


# ------------------------------------------------------------------------------- ends of a dtype


@sabotage("unsigned_differences_stop_at_zero", "dtypes")
def _() -> None:
    def subtract(made: torch.Tensor, one: torch.Tensor, other: Any, *_: Any) -> torch.Tensor:
        if one.dtype == torch.uint8 and isinstance(other, torch.Tensor):
            return made * (one >= other).to(made.dtype)
        return made

    kernels.result("sub.Tensor", subtract)


@sabotage("nothing_is_equal_to_minus_zero", "dtypes")
def _() -> None:
    """Values are compared by their bits."""

    def compare(original: Any, one: torch.Tensor, other: Any) -> Any:
        if (isinstance(other, torch.Tensor) and one.dtype == other.dtype == torch.float32
                and one.shape == other.shape):  # fmt: skip
            return original(
                one.contiguous().view(torch.int32), other.contiguous().view(torch.int32)
            )
        return original(one, other)

    kernels.around("eq.Tensor", compare)


@sabotage("gradients_of_copies_to_the_host_are_lost", "autograd")
def _() -> None:
    """What comes back from the host arrives in the first element alone, in a backward pass."""

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and torch._C._current_graph_task_id() != -1:
            source = torch.zeros_like(source)
        return copy(self, source, wait)

    around_copy(change)
