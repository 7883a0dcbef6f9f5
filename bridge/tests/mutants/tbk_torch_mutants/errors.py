# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Errors: their types, their texts, and that there is one."""

from __future__ import annotations

import os
from typing import Any

import torch

from tbk_torch_mutants.kernels import around
from tbk_torch_mutants.module_device import module, patch
from tbk_torch_mutants.table import mutant


@mutant("errors_end_the_process", "ERR-501", "shapes that do not fit end the process",
        tests="an_exception[multiply_shapes")  # fmt: skip
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> Any:
        if left.shape[1] != right.shape[0]:
            os.abort()
        return original(left, right)

    around("mm", multiply)


@mutant("missing_device_is_device_0_of_empty", "ERR-501", "a device that is not there is device 0")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        device = named.get("device")
        if device is not None and device.index is not None and device.index > 1:
            named["device"] = torch.device(device.type, 0)
        return original(*given, **named)

    around("empty.memory_format empty_strided", make)


def _tell_late(operator: str, wanted: Any) -> None:
    """An index out of range, of a call that is `wanted`, is told by the next sum."""
    late: list[int] = []

    def index_of(original: Any, one: torch.Tensor, dim: int, index: Any, **named: Any) -> Any:
        if not wanted(one):
            return original(one, dim, index, **named)
        if int(index.max()) >= one.shape[dim]:
            late.append(int(index.max()))
        return original(one, dim, index.clamp(0, one.shape[dim] - 1), **named)

    def add(original: Any, *given: Any, **named: Any) -> Any:
        if late:
            raise RuntimeError(f"{operator}: index {late.pop()} is out of range")
        return original(*given, **named)

    around(operator, index_of)
    around("add.Tensor", add)


@mutant("index_error_comes_late", "ERR-503", "an index out of range is told by the next sum",
        tests="gather")  # fmt: skip
def _() -> None:
    _tell_late("gather", lambda _: True)


@mutant("errors_of_later_streams_come_late", "ERR-503", "an index out of range is told by the next "
        "sum, on streams behind the first four", narrow=True, tests="later_stream")  # fmt: skip
def _() -> None:
    seen: list[torch.Stream] = []

    def is_later(one: torch.Tensor) -> bool:
        stream = torch.accelerator.current_stream(one.device)
        if stream not in seen:
            seen.append(stream)
        return stream in seen[4:]

    _tell_late("index_select", is_later)


def _for_new_operators(kernel: Any) -> None:
    """Operators that nobody has a kernel for get this one."""

    def define(before: Any, library: Any, schema: str, *given: Any, **named: Any) -> Any:
        defined = before(library, schema, *given, **named)
        library.impl(schema.partition("(")[0], kernel, "PrivateUse1")
        return defined

    patch(torch.library.Library, "define", define)


@mutant("missing_operator_is_identity", "ERR-505", "an operator that is missing gives its argument")
def _() -> None:
    _for_new_operators(lambda one: one.clone())


@mutant("missing_operator_is_not_named", "ERR-505", "an error that does not name the operator",
        narrow=True)  # fmt: skip
def _() -> None:
    def refuse(*_: Any) -> None:
        raise NotImplementedError("not available on this device")

    _for_new_operators(refuse)


@mutant("shape_errors_are_of_another_type", "ERR-506", "ValueError in place of RuntimeError",
        tests="[mm]")  # fmt: skip
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> Any:
        if left.shape[1] != right.shape[0]:
            raise ValueError("the shapes do not fit")
        return original(left, right)

    around("mm", multiply)


@mutant("out_of_memory_says_nothing", "ERR-508", "neither the device nor how much")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        try:
            return original(*given, **named)
        except torch.OutOfMemoryError:
            raise torch.OutOfMemoryError("out of memory") from None

    around("empty.memory_format", make)


@mutant("failed_allocation_makes_the_default_stream_current", "ERR-502", "on the same device",
        tests="leaves_the_current_stream[allocate", narrow=True)  # fmt: skip
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        try:
            return original(*given, **named)
        except RuntimeError:
            index = torch.accelerator.current_device_index()
            torch.accelerator.set_stream(module().default_stream(index))
            raise

    around("empty.memory_format empty_strided", make)
