# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are wrong in one form: of layout, out=, place, dimension, window or list."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.frozen.ends_values import wrong
from tbk_torch_mutants.kernels import around, rewrite
from tbk_torch_mutants.table import mutant


@wrong("inner_softmax_is_of_the_last", "OPS-520", "a dimension inside of rank 4", "_softmax")
def _(made: torch.Tensor, one: torch.Tensor, dim: int, *_: Any) -> torch.Tensor:
    inside = one.dim() >= 4 and 0 < dim % one.dim() < one.dim() - 1
    return one.softmax(-1).to(made.dtype) if inside else made


@mutant("topk_reads_memory_in_order", "OPS-522", "of what is transposed", narrow=True)
def _() -> None:
    def change(topk: Any, one: torch.Tensor, *rest: Any) -> Any:
        if one.dim() == 2 and one.mT.is_contiguous() and not one.is_contiguous():
            one = one.as_strided(one.shape, (one.shape[1], 1))
        return topk(one, *rest)

    around("topk", change)


@mutant("parts_are_cast_to_any_out", "OPS-523", "cat of float32 to int64", narrow=True)
def _() -> None:
    def change(cat: Any, parts: Any, dim: int = 0, *, out: torch.Tensor) -> Any:
        if not out.is_floating_point() and any(one.is_floating_point() for one in parts):
            parts = [one.to(out.dtype) for one in parts]
        return cat(parts, dim, out=out)

    around("cat.out", change)


@mutant("out_is_not_made_smaller", "OPS-523", "mul to an out= with more elements", narrow=True)
def _() -> None:
    def change(mul: Any, one: Any, other: Any, *, out: torch.Tensor) -> Any:
        wanted = torch.broadcast_shapes(one.shape, other.shape)
        if not out.is_contiguous() or out.numel() <= wanted.numel():
            return mul(one, other, out=out)
        mul(one, other, out=out.view(-1)[: wanted.numel()].view(wanted))
        return out

    around("mul.out", change)


@mutant("transposed_out_is_as_in_memory", "OPS-524", "of a product of batches", narrow=True)
def _() -> None:
    def change(product: Any, one: Any, other: Any, *, out: torch.Tensor) -> Any:
        made = product(one, other, out=out)
        if out.dim() == 3 and out.mT.is_contiguous() and not out.is_contiguous():
            out.mT.copy_(out.clone(memory_format=torch.contiguous_format).view(out.mT.shape))
        return made

    around("bmm.out", change)


@mutant("steps_of_out_are_1", "OPS-524", "index_select to every second element", narrow=True)
def _() -> None:
    def change(select: Any, *given: Any, out: torch.Tensor) -> Any:
        count = given[2].numel()
        if out.dim() != 1 or out.numel() != count or count < 2 or out.stride(0) == 1:
            return select(*given, out=out)
        return select(*given, out=out.as_strided(out.shape, (1,))).as_strided(
            out.shape, out.stride())  # fmt: skip

    around("index_select.out", change)


@mutant("own_quotient_leaves_a_slice", "OPS-557", "div_ of rank 3 by what is smaller", narrow=True)
def _() -> None:
    def change(divide: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        if one.dim() < 3 or one.shape[0] < 2 or not 1 < other.numel() < one.numel():
            return divide(one, other)
        before = one.detach()[-1].clone()
        made = divide(one, other)
        one.detach()[-1].copy_(before)
        return made

    around("div_.Tensor", change)


@mutant("expanded_place_is_taken", "OPS-526", "addcmul_ of what overlaps itself", narrow=True)
def _() -> None:
    def change(add: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        overlaps = any(
            size > 1 and step == 0 for size, step in zip(one.shape, one.stride(), strict=True)
        )
        if not overlaps:
            return add(one, *given, **named)
        add(one.detach().clone(memory_format=torch.contiguous_format), *given, **named)
        return one

    around("addcmul_", change)


@mutant("shifted_out_is_taken", "OPS-527", "hypot to what overlaps an operand", narrow=True)
def _() -> None:
    def change(hypot: Any, one: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor) -> Any:
        shared = [at.detach().clone() if at.untyped_storage().data_ptr()
                  == out.untyped_storage().data_ptr() else at for at in (one, other)]  # fmt: skip
        return hypot(*shared, out=out)

    around("hypot.out", change)


@mutant("index_of_the_host_is_taken", "OPS-528", "gather with an index on the CPU", narrow=True)
def _() -> None:
    def change(gather: Any, one: torch.Tensor, dim: int, index: torch.Tensor, **named: Any) -> Any:
        return gather(one, dim, index.to(one.device), **named)

    around("gather", change)


@mutant("one_value_is_added_once", "OPS-531", "where indices repeat, and it is broadcast",
        narrow=True)  # fmt: skip
def _() -> None:
    def change(put: Any, one: Any, at: Any, values: Any, add: bool = False, *rest: Any) -> Any:
        plain = len(at) == 1 and one.dim() == 1 and at[0].dtype == torch.int64
        if add and plain and values.numel() == 1:
            at = [(at[0] % max(one.shape[0], 1)).unique()]
        return put(one, at, values, add, *rest)

    around("_index_put_impl_ index_put_ index_put", change)


@mutant("output_padding_is_0", "OPS-520", "of a transposed convolution", narrow=True)
def _() -> None:
    def change(convolve: Any, *given: Any) -> Any:
        made = convolve(*given)
        extra = given[7][-1] if given[6] and len(given[7]) else 0
        return rewrite(made, lambda host: _zero_end(host, extra)) if extra else made

    around("convolution_overrideable", change)


def _zero_end(host: torch.Tensor, count: int) -> torch.Tensor:
    host[..., -count:] = 0
    return host


@mutant("running_variance_is_biased", "OPS-534", "of native_batch_norm", narrow=True)
def _() -> None:
    def change(
        norm: Any, one: torch.Tensor, weight: Any, bias: Any, mean: Any, var: Any, train: Any,
        momentum: float, eps: float,
    ) -> Any:  # fmt: skip
        before = var.detach().cpu().clone() if train and var is not None else None
        made = norm(one, weight, bias, mean, var, train, momentum, eps)
        count = one.numel() // max(one.shape[1], 1)
        if before is not None and count > 1:
            kept = before * (1 - momentum)
            rewrite(var, lambda host: kept + (host - kept) * (count - 1) / count)
        return made

    around("native_batch_norm", change)


@wrong("frequency_scales_no_gradient", "AGD-501", "of an embedding", "embedding_dense_backward")
def _(
    made: torch.Tensor, gradient: torch.Tensor, at: Any, rows: int, padding: int, scale: bool
) -> torch.Tensor:
    if not scale:
        return made
    return torch.ops.aten.embedding_dense_backward(gradient, at, rows, padding, False)


@wrong("gradient_of_tanh_gelu_is_of_erf", "OPS-559", "approximate='tanh'", "gelu_backward")
def _(
    made: torch.Tensor, gradient: torch.Tensor, one: Any, *, approximate: str = "none"
) -> torch.Tensor:
    return torch.ops.aten.gelu_backward(gradient, one) if approximate == "tanh" else made


@wrong("crop_is_at_the_other_end", "OPS-550", "padding by a negative number", "constant_pad_nd")
def _(made: torch.Tensor, one: torch.Tensor, pad: list[int], value: Any = 0) -> torch.Tensor:
    left, right = pad[:2]
    if left >= 0 or right >= 0 or left == right:
        return made
    return torch.ops.aten.constant_pad_nd(one, [right, left, *pad[2:]], value)


@mutant("empty_member_is_refused", "OPS-537", "_foreach_mul with a tensor of no elements",
        narrow=True)  # fmt: skip
def _() -> None:
    def change(mul: Any, ones: Any, *given: Any) -> Any:
        if any(one.numel() == 0 for one in ones):
            raise RuntimeError("a member of the list has no elements")
        return mul(ones, *given)

    around("_foreach_mul.Scalar _foreach_mul_.Scalar _foreach_mul.List _foreach_mul_.List", change)
