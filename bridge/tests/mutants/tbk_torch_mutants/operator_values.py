# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators: how exact they are, and what they draw."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.kernels import around, result, rewrite
from tbk_torch_mutants.operators import on_result
from tbk_torch_mutants.table import mutant


@mutant("exp_is_off", "OPS-520", "a part in a thousand too much", tests="operators/exp[")
def _() -> None:
    result("exp", on_result(lambda one: one * 1.001 if one.is_floating_point() else one))


@mutant("mean_of_one_less", "OPS-520", "divided by one less", tests="operators/mean[")
def _() -> None:
    def change(made: torch.Tensor, one: torch.Tensor, *_: Any) -> torch.Tensor:
        count = one.numel()
        return made * count / (count - 1) if made.dim() == 0 and count > 1 else made

    result("mean mean.dim", change)


@mutant(
    "softmax_of_another_dim", "OPS-520", "along the first dimension", tests="operators/softmax["
)
def _() -> None:
    around("_softmax", lambda run, one, dim, half: run(one, 0, half))


@mutant("flip_flips_nothing", "OPS-550", "elements stay where they are", tests="operators/flip[")
def _() -> None:
    result("flip", lambda made, one, *_: one.clone())


@mutant("floor_is_trunc", "OPS-550", "rounds to 0", narrow=True, tests="operators/floor[")
def _() -> None:
    result("floor", lambda made, one: one.trunc())


@mutant("sort_descends", "OPS-550", "in the other direction", tests="operators/sort[")
def _() -> None:
    result("sort sort.stable", lambda made, one, *_: tuple(part.flip(-1) for part in made))


DRAWS = "normal_ uniform_ bernoulli_.float exponential_ random_ random_.from"


def _unseeded(original: Any, one: torch.Tensor, *given: Any, generator: Any = None) -> Any:
    fresh = torch.Generator(one.device)
    fresh.seed()
    return original(one, *given, generator=fresh)


@mutant(
    "draws_ignore_seed", "OPS-551", "other numbers after the same seed", tests="operators/normal"
)
def _() -> None:
    around(DRAWS, _unseeded)


@mutant("sums_lose_the_last_term", "OPS-552", "one term too few", tests="lattice/mm[")
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> Any:
        return original(left[:, :-1], right[:-1]) if left.shape[1] > 1 else original(left, right)

    around("mm", multiply)


@mutant(
    "products_in_bfloat16",
    "OPS-552 OPS-555",
    "float32 is multiplied in bfloat16",
    tests="[mm lattice/mm[",
)
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> Any:
        if left.dtype != torch.float32:
            return original(left, right)
        return original(left.bfloat16().float(), right.bfloat16().float())

    around("mm", multiply)


@mutant(
    "float64_sums_in_float32",
    "OPS-554",
    "float64 is added up in float32",
    tests="[sum [exp [cumsum [add",
)
def _() -> None:
    result("sum sum.dim_IntList mm exp cumsum add.Tensor", on_result(
        lambda one: one.float().double() if one.dtype == torch.float64 else one))  # fmt: skip


@mutant(
    "sums_skip_the_last",
    "OPS-557",
    "the last element of an operand does not count",
    narrow=True,
    tests="counts[sum] counts[amax]",
)
def _() -> None:
    def add(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        return original(one[:-1] if one.dim() == 1 and len(one) > 1 else one, *given, **named)

    around("sum amax", add)


@mutant(
    "gradients_are_off",
    "OPS-559",
    "the gradient of a sigmoid is a part in a hundred too much",
    tests="gradients/sigmoid[",
)
def _() -> None:
    result("sigmoid_backward tanh_backward", on_result(lambda one: one * 1.01))


@mutant(
    "gradient_of_mul_is_off",
    "OPS-559",
    "a product's gradient is that of half of it",
    narrow=True,
    tests="gradients/exp[ gradients/mul[",
)
def _() -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, one: torch.Tensor) -> torch.Tensor:
            return one.view_as(one)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient / 2

    def halve(original: Any, *given: Any) -> Any:
        made = original(*given)
        return Half.apply(made) if made.requires_grad else made  # type: ignore[no-untyped-call]

    around("mul.Tensor sigmoid exp", halve, key="AutogradPrivateUse1")


@mutant(
    "normal_is_too_wide",
    "OPS-560",
    "the deviation is a fifth too much",
    tests="distribution[normal_",
)
def _() -> None:
    result("normal_", lambda made, *_: made.mul_(1.2))


@mutant(
    "uniform_is_narrow",
    "OPS-560",
    "the upper tenth never comes",
    narrow=True,
    tests="distribution[uniform_",
)
def _() -> None:
    result("uniform_", lambda made, *_: made.mul_(0.9))


@mutant(
    "bernoulli_is_fair",
    "OPS-560",
    "any probability is a half",
    narrow=True,
    tests="chance[bernoulli_",
)
def _() -> None:
    def fair(here: torch.Tensor) -> torch.Tensor:
        return (torch.rand(here.shape) < 0.5).to(here.dtype)

    result("bernoulli_.float bernoulli.p bernoulli", lambda made, *_: rewrite(made, fair))


@mutant("small_results_are_0", "OPS-561", "what is below a millionth is 0", tests="kept[")
def _() -> None:
    def clear(one: torch.Tensor) -> torch.Tensor:
        return one.where(one.abs() > 1e-6, 0) if one.is_floating_point() else one

    result("neg mul.Tensor tanh sin expm1 log1p sqrt add.Tensor div.Tensor", on_result(clear))


@mutant("exponentials_end_after_65536", "OPS-520", "elements after 65,536 are 0", narrow=True,
        tests="torch_operator_sizes/")  # fmt: skip
def _() -> None:
    def cut(made: torch.Tensor, *_: Any) -> torch.Tensor:
        if made.numel() > 1 << 16 and made.is_contiguous():
            made.detach().view(-1)[1 << 16 :].zero_()
        return made

    result("exp", cut)
