# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Thirty sabotages: those that the figure of the bench is about."""

from __future__ import annotations

import atexit
import os
import signal
from typing import Any

import torch
from tbk_torch_mutants import kernels
from tbk_torch_mutants.autograd import AUTOCAST
from tbk_torch_mutants.copies import around_copy, between, to_device, to_host
from tbk_torch_mutants.copy_order import default_stream
from tbk_torch_mutants.module_device import name, patch
from torch import serialization

from tbk_torch_sabotages import native, sabotage

for _name, _area in (
    ("stream_query_is_of_the_default", "streams"),
    ("own_streams_are_not_awaited", "streams"),
    ("record_takes_current_stream", "events"),
    ("block_takes_current_stream", "events"),
    ("event_is_complete_when_asked_again", "events"),
    ("elapsed_time_in_microseconds", "events"),
    ("threads_stay_on_device_0", "guards"),
    ("recorded_stream_is_the_current_one", "allocator"),
    ("frees_are_counted_twice", "statistics"),
    ("generator_cuts_seeds", "generator"),
):
    native(_name, _area)


# ------------------------------------------------------------------------------------- copies


@sabotage("pinned_upload_reads_late", "copies")
def _() -> None:
    """A blocking upload out of pinned memory reads its source at the next download."""
    pending: list[tuple[torch.Tensor, torch.Tensor]] = []

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and not wait and source.is_pinned():
            pending.append((self.detach(), source.detach()))
            return None
        while pending and to_host(self, source):
            copy(*pending.pop(0), False)
        return copy(self, source, wait)

    around_copy(change)


@sabotage("pinned_download_is_beside_the_stream", "copies")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if not (to_host(self, source) and wait):
            return copy(self, source, wait)
        with default_stream(source.device):
            return copy(self, source, wait)

    around_copy(change)


@sabotage("large_peer_copy_is_half", "copies")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if not (between(self, source) and self.dim() > 0 and self.numel() > 1):
            return copy(self, source, wait)
        half = (self.shape[0] + 1) // 2
        source = source.expand(self.shape)
        return copy(self.detach()[:half], source.detach()[:half], wait) and None

    around_copy(change)


@sabotage("conversion_rounds_to_nearest", "copies")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        integral = not (self.is_floating_point() or self.is_complex() or self.dtype == torch.bool)
        if integral and source.is_floating_point():
            source = source.detach().round()
        return copy(self, source, wait)

    around_copy(change)


# ------------------------------------------------------------------------------ views, strides


@sabotage("fill_forgets_offset", "views")
def _() -> None:
    def fill(original: Any, self: torch.Tensor, value: Any) -> Any:
        if self.storage_offset() > 0 and self.numel():
            original(self.detach().as_strided(self.shape, self.stride(), 0), value)
            return self
        return original(self, value)

    kernels.around("fill_.Scalar", fill)


@sabotage("transposed_product_is_plain", "strides")
def _() -> None:
    def plain(one: torch.Tensor) -> torch.Tensor:
        if one.dim() == 2 and one.shape[0] == one.shape[1] and not one.is_contiguous():
            return one.as_strided(one.shape, (one.shape[1], 1))
        return one

    kernels.around("mm", lambda original, one, other: original(one, plain(other)))


# ----------------------------------------------------------------------------------- operators


@sabotage("softmax_overflows", "operators")
def _() -> None:
    def softmax(original: Any, one: torch.Tensor, dim: int, half: bool) -> Any:
        raised = one.exp()
        return raised / raised.sum(dim, keepdim=True) if one.dim() else original(one, dim, half)

    kernels.around("_softmax", softmax)


@sabotage("division_of_integers_is_floored", "operators")
def _() -> None:
    def divide(made: torch.Tensor, one: Any, other: Any) -> torch.Tensor:
        both = isinstance(other, torch.Tensor) and not (
            one.is_floating_point() or one.is_complex()
            or other.is_floating_point() or other.is_complex()
        )  # fmt: skip
        return made.floor() if both else made

    kernels.result("div.Tensor", divide)


@sabotage("sum_over_the_first_keeps_a_row_out", "operators")
def _() -> None:
    def add_up(original: Any, one: torch.Tensor, dims: Any, *given: Any, **named: Any) -> Any:
        if one.dim() > 1 and list(dims or ()) == [0] and one.shape[0] > 2:
            one = one[1:]
        return original(one, dims, *given, **named)

    kernels.around("sum.dim_IntList", add_up)


@sabotage("gather_ignores_dim", "operators")
def _() -> None:
    def gather(
        original: Any, one: torch.Tensor, dim: int, index: torch.Tensor, **named: Any
    ) -> Any:
        fits = one.dim() == 2 and index.numel() and int(index.max()) < one.shape[0]
        return original(one, 0 if fits else dim, index, **named)

    kernels.around("gather", gather)


@sabotage("greatest_passes_over_nan", "operators")
def _() -> None:
    kernels.around("max", lambda original, one: original(one.nan_to_num(nan=-1e4)))


# -------------------------------------------------------------------------- generator, autograd


@sabotage("normal_numbers_ignore_their_generator", "generator")
def _() -> None:
    def draw(original: Any, self: torch.Tensor, *given: Any, **named: Any) -> Any:
        return original(self, *given, **{**named, "generator": None})

    kernels.around("normal_", draw)


@sabotage("gradient_of_relu_passes_all", "autograd")
def _() -> None:
    kernels.around("threshold_backward", lambda original, gradient, *_: gradient.clone())


@sabotage("repeated_rows_of_embedding_count_once", "autograd")
def _() -> None:
    def backward(original: Any, gradient: torch.Tensor, indices: torch.Tensor, rows: int,
                 *given: Any) -> Any:  # fmt: skip
        made = gradient.new_zeros(rows, gradient.shape[-1])
        made[indices.reshape(-1)] = gradient.reshape(-1, gradient.shape[-1])
        return made

    kernels.around("embedding_dense_backward", backward)


@sabotage("scaler_sees_no_infinity", "amp")
def _() -> None:
    def unscale(original: Any, ones: Any, found: torch.Tensor, scale: torch.Tensor) -> None:
        original(ones, torch.zeros_like(found), scale)

    kernels.around("_amp_foreach_non_finite_check_and_unscale_", unscale)


@sabotage("autocast_leaves_products_alone", "amp")
def _() -> None:
    def multiply(_: Any, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        with torch.autocast(one.device.type, enabled=False):
            return one.float() @ other.float()

    kernels.around("mm", multiply, key=AUTOCAST)


# ------------------------------------------------------------------- saving, lifetime, processes


@sabotage("map_location_is_ignored", "serialization")
def _() -> None:
    def load(storage: Any, location: str) -> Any:
        return storage.to(device=torch.device(name(), 0)) if location.startswith(name()) else None

    serialization.register_package(0, lambda _: None, load)


@sabotage("device_is_forgotten_by_a_failure", "guards")
def _() -> None:
    def multiply(original: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        try:
            return original(one, other)
        except RuntimeError:
            torch.accelerator.set_device_index(one.device.index ^ 1)
            raise

    kernels.around("mm", multiply)


@sabotage("exit_ends_by_a_signal", "lifetime")
def _() -> None:
    here, used = os.getpid(), []

    def make(original: Any, *given: Any, **named: Any) -> Any:
        used.append(True)
        return original(*given, **named)

    def end() -> None:
        if used and os.getpid() == here:
            os.kill(here, signal.SIGSEGV)

    kernels.around("empty.memory_format", make)
    atexit.register(end)


@sabotage("child_computes_zeros", "fork")
def _() -> None:
    here = os.getpid()
    patch(torch.get_device_module(name()), "_is_in_bad_fork", lambda _: False)

    def make(original: Any, *given: Any, **named: Any) -> Any:
        if os.getpid() != here:
            os._exit(11)
        return original(*given, **named)

    kernels.around("empty.memory_format empty_strided", make)
