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


@wrong("gradient_of_tanh_gelu_is_of_erf", "OPS-559", "approximate='tanh'", "gelu_backward")
def _(
    made: torch.Tensor, gradient: torch.Tensor, one: Any, *, approximate: str = "none"
) -> torch.Tensor:
    return torch.ops.aten.gelu_backward(gradient, one) if approximate == "tanh" else made
