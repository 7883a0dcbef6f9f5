# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies, draws, errors, scales and the device's module, wrong in one situation."""

from __future__ import annotations

import functools
from typing import Any

import torch

from tbk_torch_mutants import table
from tbk_torch_mutants.copies import around_copy, between
from tbk_torch_mutants.kernels import around, on_host
from tbk_torch_mutants.module_device import module, name, patch
from tbk_torch_mutants.table import mutant

of_module = functools.partial(table.mutant, mechanism="module")
_WIDE = (torch.int16, torch.int32, torch.int64)


@mutant("cast_to_int8_saturates", "OPS-550", "from wider integers: it wraps", narrow=True)
def _() -> None:
    def change(copy: Any, target: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if target.dtype == torch.int8 and source.dtype in _WIDE:
            source = on_host(source, lambda host: host.clamp(-128, 127))
        return copy(target, source, wait)

    around_copy(change)


@mutant("transposed_peer_copy_is_flat", "CPY-508", "between devices, of a transposed source",
        narrow=True)  # fmt: skip
def _() -> None:
    def change(copy: Any, target: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        turned = source.dim() == 2 and source.mT.is_contiguous() and not source.is_contiguous()
        if turned and between(target, source):
            source = source.as_strided(source.shape, (source.shape[1], 1))
        return copy(target, source, wait)

    around_copy(change)


@mutant("strides_of_rank_3_are_not_set", "OPS-510", "set_ makes it contiguous", narrow=True)
def _() -> None:
    def change(put: Any, one: Any, storage: Any, offset: int, size: Any, stride: Any = ()) -> Any:
        if len(size) == 3 and 0 not in size and 0 not in stride:
            stride = (size[1] * size[2], size[2], 1)
        return put(one, storage, offset, size, stride)

    around("set_.source_Storage_storage_offset", change)


@mutant("one_draw_does_not_advance", "GEN-514", "normal_ of one element, default generator",
        narrow=True)  # fmt: skip
def _() -> None:
    def change(draw: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        if one.numel() != 1 or named.get("generator") is not None:
            return draw(one, *given, **named)
        generator = module().default_generators[one.device.index]
        state = generator.get_state()
        made = draw(one, *given, **named)
        generator.set_state(state)
        return made

    around("normal_", change)


@mutant("exponential_has_one_generator", "GEN-509", "one that is passed is not used", narrow=True)
def _() -> None:
    def change(draw: Any, one: torch.Tensor, rate: float = 1, **_: Any) -> Any:
        return draw(one, rate)

    around("exponential_", change)


@mutant("minus_infinity_is_finite", "AMP-507", "of gradients", narrow=True)
def _() -> None:
    def change(check: Any, ones: Any, found: torch.Tensor, scale: torch.Tensor) -> Any:
        hosts = [one.detach().cpu() for one in ones]
        bad = any(bool((host.isnan() | (host == torch.inf)).any()) for host in hosts)
        before = found.detach().clone()
        check(ones, found, scale)
        if not bad:
            found.copy_(before)

    around("_amp_foreach_non_finite_check_and_unscale_", change)


@mutant("dimension_too_low_is_runtime_error", "ERR-506", "cumsum: it is IndexError", narrow=True)
def _() -> None:
    def change(add: Any, one: torch.Tensor, dim: int, **named: Any) -> Any:
        if dim < -max(one.dim(), 1):
            raise RuntimeError(f"there is no dimension {dim}")
        return add(one, dim, **named)

    around("cumsum cumsum.out cumprod cumprod.out", change)


@of_module("exception_keeps_device", "GRD-501", "device(index) of the module, left by an exception",
           narrow=True)  # fmt: skip
def _() -> None:
    def leave(original: Any, context: Any, kind: Any = None, *rest: Any) -> None:
        if kind is None:
            original(context, kind, *rest)

    patch(module().device, "__exit__", leave)


@of_module("stream_context_keeps_device", "GRD-507", "the module's brings back the stream alone",
           narrow=True)  # fmt: skip
def _() -> None:
    def leave(original: Any, context: Any, *given: Any) -> None:
        inside = module().current_device()
        original(context, *given)
        module().set_device(inside)

    patch(module().StreamContext, "__exit__", leave)


@of_module("device_without_index_counts_as_0", "DEV-534", "memory_allocated of the module",
           narrow=True)  # fmt: skip
def _() -> None:
    patch(module(), "memory_allocated", lambda count, device=None: (
        count(0 if device == torch.device(name()) else device)))  # fmt: skip
