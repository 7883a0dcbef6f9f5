# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Ignores what an operator is told beside its operands, where a view begins, or how long a storage
is."""

from __future__ import annotations

import functools
from typing import Any

import torch

from tbk_torch_mutants import kernels, table
from tbk_torch_mutants.copies import around_copy, on_device, to_host
from tbk_torch_mutants.module_device import patch

mutant = functools.partial(table.mutant, narrow=True)


def _truncated(source: torch.Tensor) -> torch.Tensor:
    bits = source.detach().cpu().contiguous().view(torch.int32)
    return (bits & -(1 << 16)).view(torch.float32)


@mutant("bfloat16_on_the_host_is_truncated", "CPY-508",
        "float32 of the device becomes bfloat16 on the host without rounding",
        tests="are_rounded_once[float32-bfloat16")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        pair = source.dtype, self.dtype
        if to_host(self, source) and pair == (torch.float32, torch.bfloat16):
            return self.copy_(_truncated(source))
        return copy(self, source, wait)

    around_copy(change)


@mutant("int64_is_rounded_by_way_of_float64", "CPY-508", "int64 becomes float32 in two steps",
        tests="are_rounded_once[int64-float32")  # fmt: skip
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        pair = source.dtype, self.dtype
        if on_device(self, source) and pair == (torch.int64, torch.float32):
            source = source.to(torch.float64)
        return copy(self, source, wait)

    around_copy(change)


@mutant("item_of_unsigned_numbers_is_signed", "CPY-512", "2**64 - 1 is -1 where it is asked for",
        tests="has_each_bit")  # fmt: skip
def _() -> None:
    signed = {torch.uint64: torch.int64, torch.uint32: torch.int32}

    def item(original: Any, one: torch.Tensor) -> Any:
        narrow = signed.get(one.dtype)
        return original(one) if narrow is None else original(one.detach().view(narrow))

    kernels.around("_local_scalar_dense", item)


@mutant("scatter_reduce_in_place_includes_itself", "OPS-550",
        "scatter_reduce_ takes what was there into account whatever it is told",
        tests="scatter_reduce_amax_in_place scatter_reduce_amin_in_place")  # fmt: skip
def _() -> None:
    def scatter(original: Any, one: torch.Tensor, *given: Any, include_self: bool = True) -> Any:
        return original(one, *given, include_self=include_self or given[3] in ("amax", "amin"))

    kernels.around("scatter_reduce_.two", scatter)


@mutant("embedding_gradient_ignores_the_frequency", "OPS-559",
        "the gradient of an embedding is not divided by how often it was taken",
        tests="operator_gradients/nn_functional_embedding")  # fmt: skip
def _() -> None:
    def backward(original: Any, *given: Any) -> Any:
        return original(*given[:4], False)

    kernels.around("embedding_dense_backward", backward)


@mutant("sum_of_float32_stays_float32", "OPS-554", "sum(dtype=float64) adds in float32",
        tests="in_the_dtype_asked_for[sum")  # fmt: skip
def _() -> None:
    def add(original: Any, one: torch.Tensor, *given: Any, dtype: torch.dtype | None = None) -> Any:
        if one.dtype == torch.float32 and dtype == torch.float64:
            return original(one, *given, dtype=torch.float32).to(dtype)
        return original(one, *given, dtype=dtype)

    kernels.around("sum sum.dim_IntList", add)


@mutant("foreach_norm_is_the_2_norm", "OPS-537", "_foreach_norm ignores which norm is asked for",
        tests="lists_take")  # fmt: skip
def _() -> None:
    def norm(original: Any, lists: Any, order: Any = 2, *given: Any) -> Any:
        return [torch.linalg.vector_norm(one, 2) for one in lists]

    kernels.instead("_foreach_norm.Scalar", norm)


@mutant("a_tensor_equals_itself", "OPS-550", "torch.equal does not look at the same memory",
        tests="may_be_both_operands[equal")  # fmt: skip
def _() -> None:
    def equal(original: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        same = one.data_ptr() == other.data_ptr() and one.shape == other.shape
        return True if same else original(one, other)

    kernels.around("equal", equal)


@mutant("random_numbers_have_32_bits", "OPS-560", "a range beyond 2**32 is drawn with 32 bits",
        tests="each_bit_is_drawn")  # fmt: skip
def _() -> None:
    def draw(
        original: Any, one: torch.Tensor, low: int, high: Any, *given: Any, **named: Any
    ) -> Any:
        top = 1 << 63 if high is None else high
        return original(one, low, min(top, low + (1 << 32)), *given, **named)

    kernels.around("random_.from", draw)


@mutant("as_strided_begins_with_the_storage", "OPS-507",
        "as_strided without an offset begins at 0", mechanism="module",
        tests="of_the_same_storage[as_strided")  # fmt: skip
def _() -> None:
    def view(before: Any, one: torch.Tensor, size: Any, stride: Any, offset: Any = None) -> Any:
        begin = 0 if offset is None and one.device.type != "cpu" else offset
        return before(one, size, stride, begin)

    patch(torch.Tensor, "as_strided", view)


@mutant("empty_like_forgets_channels_last_3d", "OPS-501",
        "empty_like makes a contiguous tensor where channels_last_3d is asked for",
        tests="made_alike")  # fmt: skip
def _() -> None:
    def make(_: Any, one: torch.Tensor, **named: Any) -> torch.Tensor:
        order = named.get("memory_format") or torch.preserve_format
        if order == torch.channels_last_3d:
            order = torch.contiguous_format
        shape = torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="meta")
        strides = torch.empty_like(shape, memory_format=order).stride()
        dtype, device = named.get("dtype") or one.dtype, named.get("device") or one.device
        return torch.empty_strided(one.shape, strides, dtype=dtype, device=device)

    kernels.instead("empty_like", make)


@mutant("large_storages_lose_their_front", "MEM-530", "growing beyond 1 MiB clears",
        mechanism="module", tests="storage_grows")  # fmt: skip
def _() -> None:
    def resize(before: Any, storage: Any, size: int) -> Any:
        had, made = storage.nbytes(), before(storage, size)
        if storage.device.type != "cpu" and had < size and size > 1 << 20:
            storage.fill_(0)
        return made

    patch(torch.UntypedStorage, "resize_", resize)


@mutant("dlpack_takes_what_requires_a_gradient", "INT-501",
        "a tensor that requires a gradient is exported", mechanism="module",
        tests="dlpack_refuses")  # fmt: skip
def _() -> None:
    patch(torch.Tensor, "__dlpack__", lambda export, one, **named: export(one.detach(), **named))


@mutant("deep_copies_have_no_gradient", "SER-507", "deepcopy loses .grad", mechanism="module",
        tests="gradient_of_its_own")  # fmt: skip
def _() -> None:
    def copied(before: Any, one: torch.Tensor, memo: Any) -> Any:
        made = before(one, memo)
        if one.device.type != "cpu" and one.is_leaf:
            made.grad = None
        return made

    patch(torch.Tensor, "__deepcopy__", copied)
