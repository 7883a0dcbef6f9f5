# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fifteen sabotages of other classes, which say whether an order was fitted to the first thirty."""

from __future__ import annotations

import functools
from typing import Any

import torch
from tbk_torch_mutants import kernels
from tbk_torch_mutants.autograd import AUTOCAST
from tbk_torch_mutants.copies import around_copy, to_host
from tbk_torch_mutants.module_device import module, name, patch

import tbk_torch_sabotages

sabotage = functools.partial(tbk_torch_sabotages.sabotage, of="held_out")

for _name, _area in (
    ("waits_are_for_the_current_device", "streams"),
    ("second_record_is_lost", "events"),
    ("backward_leaves_its_stream", "autograd"),
    ("peaks_are_what_is_current", "statistics"),
):
    tbk_torch_sabotages.native(_name, _area, of="held_out")


@sabotage("transposed_downloads_keep_the_order_of_memory", "copies")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_host(self, source) and source.dim() > 1 and source.mT.is_contiguous():
            source = source.as_strided(source.shape, torch.empty(source.shape).stride())
        return copy(self, source, wait)

    around_copy(change)


@sabotage("pinned_copies_end_after_a_page", "pinned")
def _() -> None:
    def pin(original: Any, source: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
        made: torch.Tensor = original(source, *given, **named)
        if made.is_contiguous() and made.numel() * made.itemsize > 4096:
            made.view(-1)[4096 // made.itemsize :].zero_()
        return made

    patch(torch.Tensor, "pin_memory", pin)


@sabotage("restored_state_begins_anew", "generator")
def _() -> None:
    """A state that is set has the seed of what was saved, and forgets how many were drawn."""

    def restore(original: Any, state: torch.Tensor, *where: Any) -> None:
        original(state, *where)
        for one in module().default_generators:
            one.manual_seed(one.initial_seed())

    patch(module(), "set_rng_state", restore)


@sabotage("bernoulli_draws_the_same_again", "generator")
def _() -> None:
    def draw(original: Any, self: torch.Tensor, *given: Any, **named: Any) -> Any:
        generator = named.get("generator") or module().default_generators[self.device.index]
        state = generator.get_state()
        made = original(self, *given, **named)
        generator.set_state(state)
        return made

    kernels.around("bernoulli_.float", draw)


@sabotage("autocast_takes_softmax_in_half", "amp")
def _() -> None:
    def softmax(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
        with torch.autocast(one.device.type, enabled=False):
            return torch.softmax(one.half(), *given, **named)

    kernels.around("softmax.int", softmax, key=AUTOCAST)


@sabotage("deep_copies_share_memory", "serialization")
def _() -> None:
    def deepcopy(original: Any, self: torch.Tensor, known: Any) -> Any:
        return self.detach() if self.device.type == name() else original(self, known)

    before = torch.Tensor.__deepcopy__

    def copied(self: torch.Tensor, known: Any) -> Any:
        return deepcopy(before, self, known)

    torch.Tensor.__deepcopy__ = copied  # type: ignore[method-assign]


@sabotage("results_in_place_stay_on_the_host", "fallback")
def _() -> None:
    def compute(_: Any, self: torch.Tensor, *given: Any) -> torch.Tensor:
        self.cpu()
        return self

    kernels.around("sign_ erfinv_ clamp_min_ atan_", compute)


@sabotage("item_reads_the_first_element", "scalars")
def _() -> None:
    def read(original: Any, one: torch.Tensor) -> Any:
        return original(one.detach().as_strided((), (), 0))

    kernels.around("_local_scalar_dense", read)


@sabotage("sum_of_nothing_is_not_written", "empty")
def _() -> None:
    def add_up(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
        return made.fill_(3) if one.numel() == 0 else made

    kernels.result("sum.dim_IntList", add_up)


@sabotage("sums_have_the_first_dtype", "promotion")
def _() -> None:
    def add(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
        return made.to(one.dtype)

    kernels.result("add.Tensor", add)


@sabotage("comparison_with_a_number_is_in_its_dtype", "promotion")
def _() -> None:
    """An integer is compared with a float that was cut to an integer before."""

    def compare(original: Any, one: torch.Tensor, other: Any) -> Any:
        if isinstance(other, torch.Tensor) and other.dim() == 0 and not one.is_floating_point():
            other = other.to(one.dtype) if not one.is_complex() else other
        return original(one, other)

    kernels.around("lt.Tensor gt.Tensor lt.Scalar gt.Scalar", compare)
