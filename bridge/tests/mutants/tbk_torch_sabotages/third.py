# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Eighteen of a third hand: memory formats, one dtype of many, sizes above 2^16, the second device,
another stream than the default one, what a context or a failure leaves behind."""

from __future__ import annotations

import functools
from typing import Any

import torch
from tbk_torch_mutants import kernels
from tbk_torch_mutants.copies import around_copy, on_device
from tbk_torch_mutants.copy_order import default_stream
from tbk_torch_mutants.module_device import module, name, patch
from torch import serialization

import tbk_torch_sabotages

sabotage = functools.partial(tbk_torch_sabotages.sabotage, of="third")
MANY = 1 << 16
PAGE = 4096


# --------------------------------------------------------------------------------- copies, layouts


@sabotage("copies_into_channels_last_keep_the_order_of_memory", "layouts")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        last = self.dim() == 4 and self.is_contiguous(memory_format=torch.channels_last)
        if on_device(self, source) and last and source.is_contiguous():
            source = source.detach().as_strided(self.shape, self.stride())
        return copy(self, source, wait)

    around_copy(change)


@sabotage("a_copy_that_is_asked_for_is_none", "copies")
def _() -> None:
    def convert(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        made = original(one, *given, **named)
        same = made.device == one.device and made.dtype == one.dtype
        return one if same and one.device.type == name() else made

    patch(torch.Tensor, "to", convert)


@sabotage("a_failed_allocation_leaves_its_device", "guards")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> torch.Tensor:
        try:
            made: torch.Tensor = original(*given, **named)
        except RuntimeError:
            torch.accelerator.set_device_index(torch.accelerator.current_device_index() ^ 1)
            raise
        return made

    kernels.around("empty.memory_format", make)


@sabotage("pinned_views_begin_at_their_storage", "pinned")
def _() -> None:
    def pin(original: Any, source: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
        if source.storage_offset() > 0:
            source = source.detach().as_strided(source.shape, source.stride(), 0)
        made: torch.Tensor = original(source, *given, **named)
        return made

    patch(torch.Tensor, "pin_memory", pin)


@sabotage("loaded_storages_end_after_a_page", "serialization")
def _() -> None:
    def load(storage: Any, location: str) -> Any:
        if not location.startswith(name()):
            return None
        index = torch.device(location).index or 0
        made = storage.to(device=torch.device(name(), index))
        if storage.nbytes() > PAGE:
            torch.empty(0, dtype=torch.uint8, device=made.device).set_(made)[PAGE:].zero_()
        return made

    serialization.register_package(0, lambda _: None, load)


# -------------------------------------------------------------------------------- one dtype of many


@sabotage("absolute_values_of_int8_saturate", "dtypes")
def _() -> None:
    def change(made: torch.Tensor, *_: Any) -> Any:
        return made.masked_fill(made == -128, 127) if made.dtype == torch.int8 else made

    kernels.result("abs", change)


@sabotage("comparisons_of_uint8_are_signed", "dtypes")
def _() -> None:
    def compare(original: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        if not one.dtype == other.dtype == torch.uint8:
            return original(one, other)
        return original(one.view(torch.int8), other.view(torch.int8))

    kernels.around("lt.Tensor gt.Tensor le.Tensor ge.Tensor", compare)


@sabotage("even_numbers_become_false", "dtypes")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        integral = not (source.is_floating_point() or source.is_complex())
        if on_device(self, source) and self.dtype == torch.bool != source.dtype and integral:
            source = source.detach().bitwise_and(1)
        return copy(self, source, wait)

    around_copy(change)


# ------------------------------------------------------------------- sizes, devices, streams, views


@sabotage("large_exponentials_end_after_65536_elements", "sizes")
def _() -> None:
    def change(made: torch.Tensor, *_: Any) -> torch.Tensor:
        if made.numel() > MANY and made.is_contiguous():
            made.detach().view(-1)[MANY:].zero_()
        return made

    kernels.result("exp", change)


@sabotage("sums_on_the_second_device_leave_the_last_out", "devices")
def _() -> None:
    def add_up(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        if one.device.index and one.dim() and one.shape[-1] > 1:
            one = one.detach()[..., :-1]
        return original(one, *given, **named)

    kernels.around("sum.dim_IntList", add_up)


@sabotage("products_on_a_side_stream_run_on_the_default", "streams")
def _() -> None:
    def multiply(original: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        with default_stream(one.device):
            return original(one, other)

    kernels.around("mm", multiply)


@sabotage("functions_in_place_of_views_are_lost", "views")
def _() -> None:
    def compute(original: Any, self: torch.Tensor) -> torch.Tensor:
        if not self.is_contiguous():
            original(self.detach().contiguous())
            return self
        return original(self)  # type: ignore[no-any-return]

    kernels.around("exp_ neg_ sqrt_ abs_", compute)


@sabotage("accumulation_by_index_is_assignment", "operators")
def _() -> None:
    def put(original: Any, self: torch.Tensor, indices: Any, values: Any, *given: Any) -> Any:
        return original(self, indices, values, False, *given[1:])

    kernels.around("_index_put_impl_", put)


# ---------------------------------------------------------------- what is told, and what is current


@sabotage("the_cache_is_never_emptied", "allocator")
def _() -> None:
    patch(module(), "empty_cache", lambda *_: None)
    patch(torch.accelerator, "empty_cache", lambda *_: None)


@sabotage("memory_of_all_devices_is_counted", "statistics")
def _() -> None:
    def add_up(before: Any, *_: Any) -> int:
        return sum(before(index) for index in range(module().device_count()))

    patch(module(), "memory_allocated", add_up)
    patch(torch.accelerator, "memory_allocated", add_up)


@sabotage("state_is_asked_of_the_current_device", "generator")
def _() -> None:
    patch(module(), "get_rng_state", lambda before, *_, **__: before())


@sabotage("autocast_knows_one_dtype", "amp")
def _() -> None:
    def choose(before: Any, kind: str, dtype: torch.dtype) -> None:
        before(kind, torch.bfloat16 if kind == name() else dtype)

    patch(torch, "set_autocast_dtype", choose)


@sabotage("current_stream_ignores_its_device", "streams")
def _() -> None:
    patch(torch.accelerator, "current_stream", lambda before, *_: before())
    patch(module(), "current_stream", lambda before, *_: before())
