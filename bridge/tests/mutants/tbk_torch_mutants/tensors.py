# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors: views, sizes, storages, factories."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.kernels import around, result, rewrite
from tbk_torch_mutants.table import mutant

VIEWS = "view as_strided _reshape_alias unfold view_as_real view_as_complex"


@mutant("views_copy", "OPS-504 OPS-507", "a view is a copy", tests="[view] [as_strided]")
def _() -> None:
    result(VIEWS, lambda made, *_: made.clone())


@mutant(
    "as_strided_copies",
    "OPS-504 OPS-507",
    "one way to a view makes a copy",
    narrow=True,
    tests="[as_strided]",
)
def _() -> None:
    result("as_strided", lambda made, *_: made.clone())


@mutant("as_strided_checks_nothing", "OPS-505", "what lies beyond the storage is cut off")
def _() -> None:
    def cut(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        try:
            return original(one, *given, **named)
        except RuntimeError:
            return original(one, one.shape, one.stride())

    around("as_strided", cut)


@mutant("view_copies_where_it_must", "OPS-506", "a view that does not fit is a copy")
def _() -> None:
    def view(original: Any, one: torch.Tensor, size: Any) -> Any:
        try:
            return original(one, size)
        except RuntimeError:
            return original(one.clone(memory_format=torch.contiguous_format), size)

    around("view", view)


@mutant("reshape_makes_views", "OPS-506", "reshape takes strides for those of a contiguous tensor")
def _() -> None:
    def copy(original: Any, one: torch.Tensor, **named: Any) -> Any:
        if named.get("memory_format") == torch.contiguous_format and not one.is_contiguous():
            return one.detach().as_strided(one.shape, torch.empty(one.shape).stride(), 0)
        return original(one, **named)

    around("clone", copy)


@mutant("resize_loses_elements", "OPS-509", "what grows is 0")
def _() -> None:
    def resize(original: Any, one: torch.Tensor, size: Any, **named: Any) -> Any:
        before = one.untyped_storage().nbytes()
        made = original(one, size, **named)
        return made.zero_() if one.untyped_storage().nbytes() > before else made

    around("resize_", resize)


@mutant("resize_shrinks_storage", "OPS-509", "what shrinks has new memory", narrow=True)
def _() -> None:
    def resize(original: Any, one: torch.Tensor, size: Any, **named: Any) -> Any:
        smaller = torch.Size(size).numel() < one.numel()
        made = original(one, size, **named)
        if smaller:
            one.set_(one.clone().untyped_storage(), 0, one.shape, one.stride())
        return made

    around("resize_", resize)


@mutant("set_ignores_offset", "OPS-510", "the offset is 0")
def _() -> None:
    around("set_.source_Storage_storage_offset",
           lambda put, one, storage, _, *given: put(one, storage, 0, *given))  # fmt: skip


@mutant("set_takes_any_storage", "OPS-510", "a storage of the host is passed over", narrow=True)
def _() -> None:
    def put(original: Any, one: torch.Tensor, storage: Any, *given: Any) -> Any:
        return one if storage.device.type == "cpu" else original(one, storage, *given)

    around("set_.source_Storage_storage_offset", put)


@mutant("factories_are_short", "OPS-511", "the last element of a factory is 0", tests="factories_")
def _() -> None:
    def last(made: torch.Tensor, *_: Any) -> torch.Tensor:
        def clear(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.numel():
                tensor.view(-1)[-1] = 0
            return tensor

        return rewrite(made, clear)

    result("arange.start_step linspace eye full ones arange.start_out eye.m_out", last)


@mutant(
    "fill_through_int8", "OPS-511", "values are filled in as bytes", narrow=True, tests="fills_"
)
def _() -> None:
    around("fill_.Scalar", lambda fill, one, value: fill(one, (int(value.real) + 128) % 256 - 127))


@mutant("data_is_of_one_device", "OPS-512", "data of another device is refused")
def _() -> None:
    def has(_: Any, one: torch.Tensor, other: torch.Tensor) -> bool:
        return one.device == other.device

    around("_has_compatible_shallow_copy_type", has)


def _() -> None:
    around("_has_compatible_shallow_copy_type", lambda *_: True)


@mutant("deterministic_memory_is_not_filled", "OPS-513", "fresh memory holds what was there")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        settings: Any = torch.utils.deterministic
        fills = settings.fill_uninitialized_memory
        settings.fill_uninitialized_memory = False
        try:
            made = original(*given, **named)
        finally:
            settings.fill_uninitialized_memory = fills
        return made

    around("empty.memory_format empty_strided resize_", make)


@mutant("empty_ignores_format", "OPS-501", "every tensor is contiguous", tests="format")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        return original(*given, **{**named, "memory_format": None})

    around("empty.memory_format", make)


@mutant(
    "empty_is_float32",
    "OPS-501",
    "the dtype is always float32",
    narrow=True,
    tests="dtype_asked_for",
)
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        return original(*given, **{**named, "dtype": torch.float32})

    around("empty.memory_format", make)


def _() -> None:
    around("empty.memory_format",
           lambda make, *given, **named: make(*given, **{**named, "layout": None}))  # fmt: skip
    for key in ("SparsePrivateUse1", "SparseCsrPrivateUse1"):
        around("empty.memory_format", lambda _, size, **named: torch.empty(
            size, device=named["device"]), key=key)  # fmt: skip


@mutant("empty_strided_is_contiguous", "OPS-502", "strides are not honoured")
def _() -> None:
    def make(original: Any, size: Any, _: Any, **named: Any) -> Any:
        return original(size, list(torch.empty(size).stride()), **named)

    around("empty_strided", make)


@mutant("empty_strided_takes_any", "OPS-502", "negative strides are taken for positive ones",
        narrow=True)  # fmt: skip
def _() -> None:
    def make(original: Any, size: Any, stride: Any, **named: Any) -> Any:
        return original(size, [abs(one) for one in stride], **named)

    around("empty_strided", make)
