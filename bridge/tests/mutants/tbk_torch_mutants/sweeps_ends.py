# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults at one end of a dimension of products, draws, indices, moves, results and domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tbk_torch_mutants.kernels import around, rewrite
from tbk_torch_mutants.table import mutant

Change = Callable[..., torch.Tensor]


def _wrong(
    name: str, clause: str, breaks: str, operators: str, tests: str
) -> Callable[[Change], Change]:
    """The function that follows makes the wrong result, on the host, from the right one."""

    def register(change: Change) -> Change:
        def call(original: Any, *arguments: Any, **named: Any) -> Any:
            given = [one.detach().cpu() if isinstance(one, torch.Tensor) else one
                     for one in arguments]  # fmt: skip
            made = original(*arguments, **named)
            return change(made.detach().cpu().clone(), *given).to(made.device)

        mutant(name, clause, breaks, narrow=True, tests=tests)(lambda: around(operators, call))
        return change

    return register


def _last_is(made: torch.Tensor, value: float) -> torch.Tensor:
    if made.numel():
        made.view(-1)[-1] = value
    return made


@_wrong("129th_batch_is_0", "OPS-557", "of a product of batches", "bmm", "products[name=bmm")
def _(made: torch.Tensor, *_: Any) -> torch.Tensor:
    made[128:129] = 0
    return made


@mutant("chance_of_0_happens", "OPS-560", "once in many", narrow=True,
        tests="what_is_certain[name=bernoulli_ of 0")  # fmt: skip
def _() -> None:
    def draw(original: Any, one: torch.Tensor, chance: float = 0.5, **named: Any) -> Any:
        made = original(one, chance, **named)
        return rewrite(made, lambda host: _last_is(host.contiguous(), 1)) if chance == 0 else made

    around("bernoulli_.float", draw)


@mutant("upper_half_never_comes", "OPS-560", "of a range of 60 bits", narrow=True,
        tests="bounds[name=random_ of 60")  # fmt: skip
def _() -> None:
    around("random_.from", lambda original, one, low, high=None, **named: original(
        one, low, high // 2 if high is not None and high > 1 << 40 else high, **named))  # fmt: skip


@mutant("one_normal_number_is_infinite", "OPS-560", "the logarithm of 0", narrow=True,
        tests="open_ends[name=normal_")  # fmt: skip
def _() -> None:
    def draw(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        made = original(one, *given, **named)
        large = made.numel() > 10_000
        return rewrite(made, lambda host: _last_is(host.contiguous(), torch.inf)) if large else made

    around("normal_", draw)


@mutant("copies_by_index_from_the_end", "OPS-550", "index_copy_ of a negative dimension",
        narrow=True, tests="writes_by_index[name=index_copy")  # fmt: skip
def _() -> None:
    def copy(original: Any, one: torch.Tensor, dim: int, at: Any, by: Any, **named: Any) -> Any:
        wrong = dim < 0 and at.numel() > 1
        return original(one, dim, at.flip(0) if wrong else at, by, **named)

    around("index_copy index_copy_ index_copy.out", copy)


@_wrong("all_of_a_mask", "OPS-550", "the last element that a full mask selects", "masked_select",
        "masks[name=masked_select")  # fmt: skip
def _(made: torch.Tensor, _: Any, mask: torch.Tensor) -> torch.Tensor:
    return made[:-1] if bool(mask.all()) and made.numel() > 1 else made


@_wrong("triangle_below_all", "OPS-550", "triu that begins below the last row", "triu",
        "moves_by_a_number[name=triu")  # fmt: skip
def _(made: torch.Tensor, one: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
    return made * 0 if diagonal < -one.shape[-2] else made


@_wrong("last_of_a_falling_row", "OPS-550", "arange with a negative step",
        "arange.start_out arange.start_step", "rows_of_integers[name=down")  # fmt: skip
def _(made: torch.Tensor, start: Any, end: Any, step: Any = 1, *_: Any) -> torch.Tensor:
    return _last_is(made, start) if step < 0 else made


@_wrong("products_of_int16_wrap", "OPS-529", "cumprod, though its result is int64", "cumprod",
        "results_beyond_a_dtype[name=cumprod")  # fmt: skip
def _(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
    return made.to(torch.int16).to(made.dtype) if one.dtype == torch.int16 else made


@mutant("numbers_of_int16_have_no_sign", "CPY-501", "as Python has them", narrow=True,
        tests="numbers_of_python[dtype=int16")  # fmt: skip
def _() -> None:
    def number(original: Any, one: torch.Tensor) -> Any:
        value = original(one)
        return value % 65536 if one.dtype == torch.int16 else value

    around("_local_scalar_dense", number)


@_wrong("sinh_overflows_early", "OPS-520", "where exp is infinite in float16", "sinh sinh.out",
        "/domains[name=sinh")  # fmt: skip
def _(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
    return made.masked_fill(one > 12, torch.inf)


@_wrong("squares_overflow", "OPS-520", "hypot of numbers whose squares are infinite", "hypot",
        "domains_of_two[name=hypot")  # fmt: skip
def _(made: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one * one + other * other).sqrt().to(made.dtype)


@_wrong("softmax_of_large", "OPS-520", "without taking the largest number away", "_softmax",
        "rows_of_one_kind[name=softmax,row=large")  # fmt: skip
def _(made: torch.Tensor, one: torch.Tensor, dim: int, *_: Any) -> torch.Tensor:
    return made.masked_fill((one > 89).any(dim, keepdim=True), torch.nan)


@_wrong("line_ends_early", "OPS-520", "the last number of linspace", "linspace linspace.out",
        "both_ends_of_a_line")  # fmt: skip
def _(made: torch.Tensor, _: Any, end: Any, steps: int, *__: Any) -> torch.Tensor:
    return _last_is(made, end * (1 - 1e-6)) if steps > 8 else made


@_wrong("seventh_tensor_is_lost", "OPS-520", "of those that are joined", "cat", "are_joined[cat]")
def _(made: torch.Tensor, parts: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
    if len(parts) >= 7:
        begin = sum(one.shape[dim] for one in parts[:6])
        made.narrow(dim, begin, parts[6].shape[dim]).zero_()
    return made


@_wrong("dimensions_apart_are_halved", "OPS-520", "of five, in a sum", "sum.dim_IntList",
        "no_neighbours[sum")  # fmt: skip
def _(made: torch.Tensor, given: torch.Tensor, dim: Any, *_: Any) -> torch.Tensor:
    is_hit = given.dim() >= 5 and len(dim) == 2 and abs(dim[0] - dim[1]) == 2
    return made / 2 if is_hit else made


@mutant("last_of_many_is_not_added", "OPS-520", "at its index", narrow=True,
        tests="last_of_many_counts[index_put")  # fmt: skip
def _() -> None:
    def put(original: Any, one: torch.Tensor, at: Any, by: torch.Tensor, adds: bool = False,
            *more: Any) -> Any:  # fmt: skip
        if adds and at[0].numel() > 70_000:
            at, by = [at[0][:-1]], by[:-1]
        return original(one, at, by, adds, *more)

    around("_index_put_impl_", put)


@mutant("first_of_many_stays", "OPS-560", "in a long permutation", narrow=True,
        tests="moves_both_ends")  # fmt: skip
def _() -> None:
    def permute(original: Any, length: int, **named: Any) -> Any:
        made = original(length, **named)
        return rewrite(made, _zero_first) if length > 100_000 else made

    around("randperm.generator_out", permute)


def _zero_first(made: torch.Tensor) -> torch.Tensor:
    made[made == 0] = made[0].clone()
    made[0] = 0
    return made
