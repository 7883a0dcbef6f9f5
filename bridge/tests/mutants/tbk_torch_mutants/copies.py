# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies: their values."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.table import mutant


def to_device(self: torch.Tensor, source: torch.Tensor) -> bool:
    return source.device.type == "cpu" and self.device.type != "cpu"


def to_host(self: torch.Tensor, source: torch.Tensor) -> bool:
    return source.device.type != "cpu" and self.device.type == "cpu"


def on_device(self: torch.Tensor, source: torch.Tensor) -> bool:
    return source.device == self.device


def between(self: torch.Tensor, source: torch.Tensor) -> bool:
    return "cpu" not in (source.device.type, self.device.type) and source.device != self.device


def around_copy(change: Any) -> None:
    """`change(copy, self, source, non_blocking)` in place of copy_."""

    def copy(
        original: Any, self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False
    ) -> Any:
        result = change(original, self, source, non_blocking)
        return self if result is None else result

    kernels.around("copy_", copy)


def _all_but_last(wanted: Any) -> None:
    """The last element is not copied, of what is contiguous."""

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        plain = self.is_contiguous() and source.is_contiguous() and self.shape == source.shape
        if not (plain and wanted(self, source) and self.numel() > 1):
            return copy(self, source, wait)
        last = self.numel() - 1
        copy(self.detach().view(-1)[:last], source.detach().view(-1)[:last], wait)
        return None

    around_copy(change)


@mutant("upload_leaves_last_element", "CPY-501", "the last element does not arrive on the device")
def _() -> None:
    _all_but_last(to_device)


@mutant("download_leaves_last_element", "CPY-501", "the last element does not arrive on the host")
def _() -> None:
    _all_but_last(to_host)


@mutant("device_copy_leaves_last_element", "CPY-501", "the last element is lost on the device",
        narrow=True)  # fmt: skip
def _() -> None:
    _all_but_last(on_device)


@mutant("peer_copy_leaves_last_element", "CPY-501", "the last element is lost between devices",
        narrow=True)  # fmt: skip
def _() -> None:
    _all_but_last(between)


@mutant("copies_in_channels_last_are_of_bytes", "CPY-508",
        "a copy into channels last keeps the order of memory", narrow=True)  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        last = self.dim() == 4 and self.is_contiguous(memory_format=torch.channels_last)
        if on_device(self, source) and last and source.is_contiguous():
            source = source.detach().as_strided(self.shape, self.stride())
        return copy(self, source, wait)

    around_copy(change)


@mutant("a_copy_that_is_asked_for_is_the_tensor", "MEM-590",
        "to(copy=True) gives the tensor itself where it has that device and dtype", narrow=True,
        mechanism="module")  # fmt: skip
def _() -> None:
    convert = torch.Tensor.to

    def to(self: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
        made: torch.Tensor = convert(self, *given, **named)
        same = made.device == self.device and made.dtype == self.dtype
        return self if same and self.device.type != "cpu" else made

    torch.Tensor.to = to  # type: ignore[method-assign,assignment]


@mutant("pinned_memory_has_no_strides", "CPY-508",
        "an upload takes the elements of pinned memory as they lie", narrow=True,
        tests="pinned_memory[upload-transposed")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and source.is_pinned() and source.storage_offset() == 0:
            source = source.detach().as_strided(source.shape, torch.empty(source.shape).stride())
        return copy(self, source, wait)

    around_copy(change)


@mutant("layouts_that_end_alike_are_one", "CPY-508",
        "elements are copied as they lie where the last two strides agree", narrow=True,
        tests="dimensions_in_any_order")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        alike = self.shape == source.shape and self.stride()[-2:] == source.stride()[-2:]
        dense = source.numel() * source.itemsize == source.untyped_storage().nbytes()
        if alike and dense and self.dim() > 2 and self.dtype == source.dtype:
            source = source.detach().as_strided(source.shape, self.stride(), 0)
        return copy(self, source, wait)

    around_copy(change)


def _through(dtype: torch.dtype, narrow: torch.dtype) -> None:
    """Values of one dtype lose what another one can't hold."""

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and source.dtype == dtype:
            source = source.to(narrow).to(dtype)
        return copy(self, source, wait)

    around_copy(change)


@mutant(
    "float64_is_copied_in_float32",
    "CPY-501",
    "half of the digits of float64",
    narrow=True,
    tests="[float64",
)
def _() -> None:
    _through(torch.float64, torch.float32)


@mutant(
    "int64_is_copied_in_int32",
    "CPY-501",
    "the upper half of int64 is lost",
    narrow=True,
    tests="[int64",
)
def _() -> None:
    _through(torch.int64, torch.int32)


@mutant(
    "bfloat16_is_copied_in_float8",
    "CPY-501",
    "half of the bits of bfloat16",
    narrow=True,
    tests="[bfloat16",
)
def _() -> None:
    _through(torch.bfloat16, torch.float8_e5m2)


@mutant("nan_is_copied_as_0", "CPY-501", "NaN is 0 on the device", narrow=True)
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and source.is_floating_point() and source.itemsize > 1:
            source = torch.where(source.isnan(), torch.zeros_like(source), source)
        return copy(self, source, wait)

    around_copy(change)


@mutant(
    "bytes_for_values",
    "CPY-508",
    "another dtype gets the bits as they are",
    tests="conversion convert",
)
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if self.dtype != source.dtype and self.itemsize == source.itemsize:
            source = source.resolve_conj().resolve_neg().contiguous().view(self.dtype)
        return copy(self, source, wait)

    around_copy(change)


def _forget(what: Any) -> None:
    """The copy of sources of one kind has no effect."""

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        return None if what(self, source) else copy(self, source, wait)

    around_copy(change)


@mutant("scalar_copy_is_lost", "CPY-508", "0-dim tensors are not copied", narrow=True)
def _() -> None:
    _forget(lambda self, source: self.dim() == 0)


@mutant(
    "broadcast_copy_is_lost", "CPY-508", "a source that is broadcast is not copied", narrow=True
)
def _() -> None:
    _forget(lambda self, source: self.shape != source.shape)


@mutant("strides_are_ignored", "CPY-508", "a strided source is taken for a contiguous one")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        held = source.untyped_storage().nbytes() // max(1, source.itemsize)
        flagged = source.is_conj() or source.is_neg()
        if not (source.is_contiguous() or flagged) and held >= source.numel():
            source = source.detach().as_strided(source.shape, torch.empty(source.shape).stride(), 0)
        return copy(self, source, wait)

    around_copy(change)


@mutant("strided_destination_is_lost", "CPY-508", "a strided destination is not written",
        narrow=True)  # fmt: skip
def _() -> None:
    _forget(lambda self, source: not self.is_contiguous())


def _bare(source: torch.Tensor, conjugate: bool) -> torch.Tensor:
    if conjugate:
        return source.conj() if source.is_conj() else source
    return torch._neg_view(source) if source.is_neg() else source


@mutant("conjugate_is_ignored", "CPY-508 OPS-543", "a conjugated view is copied as it is stored")
def _() -> None:
    around_copy(lambda copy, self, source, wait: copy(self, _bare(source, True), wait))


@mutant("negative_is_ignored", "CPY-508 OPS-543", "a negated view is copied as it is stored",
        narrow=True)  # fmt: skip
def _() -> None:
    around_copy(lambda copy, self, source, wait: copy(self, _bare(source, False), wait))


@mutant("copy_onto_itself_clears", "CPY-509", "a tensor copied onto itself is 0")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if self.data_ptr() == source.data_ptr() and self.numel() and on_device(self, source):
            return self.zero_()
        return copy(self, source, wait)

    around_copy(change)


@mutant("overlaps_are_taken", "CPY-509", "an overlap that raises on the CPU has no effect",
        narrow=True)  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        try:
            return copy(self, source, wait)
        except RuntimeError as error:
            if "memory" not in str(error):
                raise
            return None

    around_copy(change)


@mutant("empty_copy_raises", "CPY-510", "no elements raise")
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if self.numel() == 0:
            raise RuntimeError("nothing to copy")
        return copy(self, source, wait)

    around_copy(change)


@mutant("empty_copy_checks_nothing", "CPY-510", "no elements, and shapes are not checked",
        narrow=True)  # fmt: skip
def _() -> None:
    _forget(lambda self, source: self.numel() == 0)


@mutant("copy_does_not_resize", "CPY-511", "_copy_from_and_resize leaves the shape")
def _() -> None:
    def copy(original: Any, self: torch.Tensor, destination: torch.Tensor) -> torch.Tensor:
        return original(self, destination) if self.shape == destination.shape else destination

    kernels.around("_copy_from_and_resize", copy)


@mutant(
    "failed_copy_changes_destination",
    "CPY-514 ERR-502",
    "a copy that fails has cleared what it was for",
)
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        try:
            return copy(self, source, wait)
        except RuntimeError:
            self.detach().zero_()
            raise

    around_copy(change)
