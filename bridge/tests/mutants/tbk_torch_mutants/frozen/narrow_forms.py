# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are wrong in few forms: layouts, dtypes, arguments, draws and copies."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.kernels import around, rewrite
from tbk_torch_mutants.table import mutant


@mutant("cat_keeps_first_dtype", "OPS-521", "of two dtypes the first wins", narrow=True)
def _() -> None:
    def change(cat: Any, tensors: Any, *dim: Any) -> Any:
        made = cat(tensors, *dim)
        return made.to(tensors[0].dtype) if tensors else made

    around("cat", change)


@mutant("as_strided_starts_at_0", "OPS-507", "without an offset, that of its base", narrow=True)
def _() -> None:
    def change(view: Any, one: Any, size: Any, stride: Any, offset: Any = None) -> Any:
        return view(one, size, stride, 0 if offset is None else offset)

    around("as_strided", change)


@mutant("resize_forgets_format", "OPS-509", "memory_format of resize_", narrow=True)
def _() -> None:
    def change(resize: Any, one: Any, size: Any, **_: Any) -> Any:
        return resize(one, size)

    around("resize_", change)


@mutant("zero_of_bool_is_true", "OPS-511", "zero_ of torch.bool", narrow=True)
def _() -> None:
    def change(zero: Any, one: Any) -> Any:
        return one.fill_(True) if one.dtype == torch.bool else zero(one)

    around("zero_", change)


@mutant("fill_of_int64_through_double", "OPS-511", "beyond 2^53", narrow=True)
def _() -> None:
    def change(fill: Any, one: Any, value: Any) -> Any:
        big = isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53
        return fill(one, int(float(value)) - 1024 * (value > 2**62) if big else value)

    around("fill_.Scalar", change)


@mutant("empty_strided_adds_size_1", "OPS-502", "the stride of a size of 1", narrow=True)
def _() -> None:
    def change(empty: Any, size: Any, stride: Any, **named: Any) -> Any:
        strides = [1 if length == 1 else step for length, step in zip(size, stride, strict=True)]
        return empty(size, strides, **named)

    around("empty_strided", change)


@mutant("channels_last_3d_is_ignored", "OPS-501", "the format of rank 5", narrow=True)
def _() -> None:
    def change(empty: Any, size: Any, **named: Any) -> Any:
        if named.get("memory_format") == torch.channels_last_3d:
            named["memory_format"] = torch.contiguous_format
        return empty(size, **named)

    around("empty.memory_format", change)


@mutant("product_of_nothing_is_1", "OPS-530", "an inner size of 0", narrow=True)
def _() -> None:
    def change(product: Any, one: Any, other: Any, *, out: Any) -> Any:
        made = product(one, other, out=out)
        if one.shape[-1] == 0 and made.numel():
            made.fill_(1)
        return made

    around("mm.out", change)


@mutant("beta_0_keeps_nan", "OPS-520", "addmm with beta=0 reads its first operand", narrow=True)
def _() -> None:
    def change(product: Any, first: Any, *operands: Any, **named: Any) -> Any:
        made = product(first, *operands, **named)
        if named.get("beta", 1) == 0 and bool(first.detach().cpu().isnan().any()):
            made.fill_(torch.nan)
        return made

    around("addmm.out", change)


@mutant("own_sum_doubles_alpha", "OPS-525", "x.add_(x, alpha=...)", narrow=True)
def _() -> None:
    def change(add: Any, one: Any, other: Any, *, alpha: Any = 1) -> Any:
        same = one.data_ptr() == other.data_ptr() and alpha != 1 and one.numel() > 0
        return add(one, other, alpha=2 * alpha if same else alpha)

    around("add_.Tensor", change)


@mutant("out_with_offset_is_lost", "OPS-540", "out= that begins inside its storage", narrow=True)
def _() -> None:
    def change(add: Any, *operands: Any, out: Any, **named: Any) -> Any:
        before = out.detach().clone()
        made = add(*operands, out=out, **named)
        inside = out.storage_offset() > 0 and before.shape == out.shape
        return made.copy_(before) if inside else made

    around("add.out", change)


@mutant("second_output_of_sort_is_int32", "OPS-520", "indices of sort", narrow=True)
def _() -> None:
    def change(sort: Any, *arguments: Any, **named: Any) -> Any:
        values, indices = sort(*arguments, **named)
        return values, indices.int()

    around("sort.stable", change)


@mutant("nan_is_sorted_first", "OPS-529", "in ascending order", narrow=True)
def _() -> None:
    def change(sort: Any, one: Any, *arguments: Any, **named: Any) -> Any:
        values, indices = sort(one, *arguments, **named)
        host = values.detach().cpu()
        if host.dim() != 1 or not host.is_floating_point() or not bool(host.isnan().any()):
            return values, indices
        order = torch.argsort(host.isnan().logical_not().int(), stable=True).to(values.device)
        return values[order], indices[order]

    around("sort.stable", change)


@mutant("negative_index_is_0", "OPS-550", "of a list of indices", narrow=True)
def _() -> None:
    def change(index: Any, one: Any, indices: Any) -> Any:
        whole = [
            at.clamp(min=0) if at is not None and at.dtype == torch.int64 else at for at in indices
        ]
        return index(one, whole)

    around("index.Tensor", change)


@mutant("scatter_of_nothing_clears", "OPS-503", "an index without elements", narrow=True)
def _() -> None:
    def change(scatter: Any, one: Any, dim: Any, index: Any, source: Any, **named: Any) -> Any:
        made = scatter(one, dim, index, source, **named)
        return torch.zeros_like(made) if index.numel() == 0 else made

    around("scatter.src", change)


@mutant("uniform_reaches_its_end", "OPS-560", "the first number is the upper bound", narrow=True)
def _() -> None:
    def change(draw: Any, one: Any, low: Any = 0, high: Any = 1, **named: Any) -> Any:
        made = draw(one, low, high, **named)
        if made.numel() >= 1000:
            made.view(-1)[0] = high
        return made

    around("uniform_", change)


@mutant("bernoulli_of_1_has_a_0", "OPS-560", "the certain event does not happen", narrow=True)
def _() -> None:
    def change(draw: Any, one: Any, chance: Any = 0.5, **named: Any) -> Any:
        made = draw(one, chance, **named)
        if chance == 1 and made.numel() >= 100:
            made.view(-1)[-1] = 0
        return made

    around("bernoulli_.float", change)


@mutant("large_randperm_repeats", "OPS-560", "one number twice, from 1000 on", narrow=True)
def _() -> None:
    def change(draw: Any, n: Any, *arguments: Any, **named: Any) -> Any:
        made = draw(n, *arguments, **named)
        if n >= 1000:
            made[0] = made[1].clone()
        return made

    around("randperm randperm.generator", change)


@mutant("large_download_loses_tail", "CPY-501", "above 1 MiB, the last element", narrow=True)
def _() -> None:
    def change(copy: Any, target: Any, source: Any, *rest: Any) -> Any:
        made = copy(target, source, *rest)
        if target.device.type == "cpu" and target.nbytes > 1 << 20 and target.is_contiguous():
            target.view(-1)[-1] = 0
        return made

    around("copy_", change)


@mutant("upload_of_rank_5_is_flat", "CPY-508", "strides of rank 5 from the host", narrow=True)
def _() -> None:
    def change(copy: Any, target: Any, source: Any, *rest: Any) -> Any:
        if source.device.type == "cpu" and source.dim() >= 5 and not source.is_contiguous():
            source = source.as_strided(source.shape, source.new_empty(source.shape).stride())
        return copy(target, source, *rest)

    around("copy_", change)


@mutant("cast_to_bfloat16_truncates", "CPY-508", "instead of to the nearest", narrow=True)
def _() -> None:
    def change(copy: Any, target: Any, source: Any, *rest: Any) -> Any:
        if (source.dtype, target.dtype) != (torch.float32, torch.bfloat16):
            return copy(target, source, *rest)
        bits = source.detach().cpu().view(torch.int32) & -65536
        return copy(target, bits.view(torch.float32).to(source.device), *rest)

    around("copy_", change)


@mutant("copy_of_nan_to_bool_is_false", "OPS-550", "float32 to bool", narrow=True)
def _() -> None:
    def change(copy: Any, target: Any, source: Any, *rest: Any) -> Any:
        made = copy(target, source, *rest)
        if target.dtype != torch.bool or not source.is_floating_point():
            return made
        missing = source.detach().cpu().isnan()
        if bool(missing.any()) and missing.shape == target.shape:
            rewrite(target, lambda host: host & ~missing)
        return made

    around("copy_", change)


@mutant("item_of_int64_through_double", "CPY-512", "beyond 2^53", narrow=True)
def _() -> None:
    def change(item: Any, one: Any) -> Any:
        value = item(one)
        return int(float(value)) if one.dtype == torch.int64 else value

    around("_local_scalar_dense", change)
