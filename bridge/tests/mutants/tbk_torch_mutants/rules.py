# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Rules of all operators that one of them does not keep: outputs, arguments, lists, hosts,
generators."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.kernels import around, instead, result
from tbk_torch_mutants.table import mutant

OUTPUTS = "torch_operator_outputs/"


@mutant("larger_out_stays_large", "OPS-523", "a product of batches, to more elements than it has",
        narrow=True, tests=f"{OUTPUTS}bmm")  # fmt: skip
def _() -> None:
    def change(product: Any, one: Any, other: Any, *, out: torch.Tensor) -> Any:
        wanted = torch.Size((one.shape[0], one.shape[1], other.shape[2]))
        if not out.is_contiguous() or out.numel() <= wanted.numel():
            return product(one, other, out=out)
        product(one, other, out=out.view(-1)[: wanted.numel()].view(wanted))
        return out

    around("bmm.out", change)


@mutant("reversed_out_is_as_in_memory", "OPS-524", "gather to an out= whose dimensions are turned",
        narrow=True, tests=f"{OUTPUTS}gather")  # fmt: skip
def _() -> None:
    def change(gather: Any, one: Any, dim: int, index: Any, *, out: torch.Tensor, **_: Any) -> Any:
        made = gather(one, dim, index, out=out)
        if out.dim() > 1 and out.mT.is_contiguous() and not out.is_contiguous():
            out.mT.copy_(out.clone(memory_format=torch.contiguous_format).view(out.mT.shape))
        return made

    around("gather.out", change)


@mutant("expanded_quotient_is_taken", "OPS-526", "addcdiv_ of what overlaps itself",
        narrow=True, tests=f"{OUTPUTS}addcdiv")  # fmt: skip
def _() -> None:
    def change(add: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        pairs = zip(one.shape, one.stride(), strict=True)
        if not any(size > 1 and step == 0 for size, step in pairs):
            return add(one, *given, **named)
        add(one.detach().clone(memory_format=torch.contiguous_format), *given, **named)
        return one

    around("addcdiv_", change)


@mutant("shifted_angle_is_taken", "OPS-527", "atan2 to what overlaps an operand", narrow=True,
        tests=f"{OUTPUTS}atan2")  # fmt: skip
def _() -> None:
    def change(angle: Any, one: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor) -> Any:
        return angle(one.detach().clone(), other.detach().clone(), out=out)

    around("atan2.out", change)


@mutant("rows_of_the_host_are_taken", "OPS-528", "index_select with an index on the CPU",
        narrow=True, tests="torch_operator_devices/index_select")  # fmt: skip
def _() -> None:
    def change(select: Any, one: torch.Tensor, dim: int, index: torch.Tensor) -> Any:
        return select(one, dim, index.to(one.device))

    around("index_select", change)


@mutant("bounds_are_put_in_order", "OPS-550", "clamp with a lower bound above the upper one",
        narrow=True, tests="torch_operator_numbers/clamp")  # fmt: skip
def _() -> None:
    def change(clamp: Any, one: torch.Tensor, least: Any = None, most: Any = None) -> Any:
        crossed = least is not None and most is not None and least > most
        return clamp(one, most, least) if crossed else clamp(one, least, most)

    around("clamp", change)


@mutant("second_sums_are_of_the_third", "OPS-520", "cumsum along dimension 1 of four", narrow=True,
        tests="torch_operator_dimensions/cumsum")  # fmt: skip
def _() -> None:
    def change(add: Any, one: torch.Tensor, dim: int, **named: Any) -> Any:
        return add(one, 2 if one.dim() == 4 and dim in (1, -3) else dim, **named)

    around("cumsum", change)


@mutant("dimensionless_dividend_counts", "OPS-521", "fmod of a 0-dim float64 and float32",
        narrow=True, tests="torch_operator_dtypes/fmod")  # fmt: skip
def _() -> None:
    def change(rest: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        made = rest(one, other)
        return made.to(one.dtype) if one.dim() == 0 < other.dim() else made

    around("fmod.Tensor", change)


@mutant("log_normal_has_one_generator", "GEN-509", "one that is passed is not used", narrow=True,
        tests="torch_generator_operators/")  # fmt: skip
def _() -> None:
    def change(
        draw: Any, one: torch.Tensor, mean: float = 1, deviation: float = 2, **_: Any
    ) -> Any:
        return draw(one, mean, deviation)

    around("log_normal_", change)


@mutant("list_is_of_the_first_dtype", "OPS-537", "lists of several dtypes are added in one",
        narrow=True, tests="torch_operator_lists/lists_of_two_dtypes[add")  # fmt: skip
def _() -> None:
    def add(_: Any, ones: Any, others: Any, **named: Any) -> list[torch.Tensor]:
        kind = ones[0].dtype
        return [torch.add(one.to(kind), other.to(kind), **named).to(torch.result_type(one, other))
                for one, other in zip(ones, others, strict=True)]  # fmt: skip

    instead("_foreach_add.List", add)


@mutant("list_ends_after_64", "OPS-537", "tensors behind the 64th are left as they are",
        narrow=True, tests="torch_operator_lists/lists_of_any")  # fmt: skip
def _() -> None:
    def scale(_: Any, ones: Any, number: Any) -> None:
        for one in ones[:64]:
            one.mul_(number)

    instead("_foreach_mul_.Scalar", scale)


def _in_24_bits(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    is_mixed = one.dtype != other.dtype and made.dtype == torch.float64
    return made.float().double() if is_mixed else made


@mutant("mixed_choice_has_24_bits", "OPS-521", "where of float32 and float64", narrow=True,
        tests="torch_operator_dtypes/where")  # fmt: skip
def _() -> None:
    result("where.self", lambda made, _, one, other: _in_24_bits(made, one, other))


@mutant("mixed_sum_has_24_bits", "OPS-521", "int64 and float64", narrow=True,
        tests="torch_operator_dtypes/add")  # fmt: skip
def _() -> None:
    def change(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor, *_: Any) -> torch.Tensor:
        return _in_24_bits(made, one, other) if torch.int64 in (one.dtype, other.dtype) else made

    result("add.Tensor", change)


@mutant("complex_number_is_real", "OPS-521", "a product by one", narrow=True,
        tests="torch_operator_dtypes/mul")  # fmt: skip
def _() -> None:
    def change(product: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        if other.dim() > 0 or one.is_complex() or not other.is_complex():
            return product(one, other)
        return product(one, other.real.clone()).to(torch.result_type(one, other))

    around("mul.Tensor", change)


@mutant("places_of_six_are_turned_round", "OPS-550", "nonzero of six dimensions", narrow=True,
        tests="torch_operator_ranks/nonzero")  # fmt: skip
def _() -> None:
    result("nonzero", lambda made, one: made.flip(1) if one.dim() == 6 else made)


@mutant("sum_over_two_of_six_is_short", "OPS-520", "the last of the first is left out", narrow=True,
        tests="torch_operator_ranks/sum")  # fmt: skip
def _() -> None:
    def change(
        add: Any, one: torch.Tensor, dim: Any = None, keep: bool = False, **named: Any
    ) -> Any:
        if one.dim() == 6 and dim is not None and len(dim) == 2:
            one = one.narrow(dim[0], 0, max(one.shape[dim[0]] - 1, 1))
        return add(one, dim, keep, **named)

    around("sum.dim_IntList", change)
