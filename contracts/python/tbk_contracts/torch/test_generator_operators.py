# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each operator that draws: from the generator that is passed, or from the default one, of which it
takes numbers, however few it draws."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.test_generator import differ, draw, made

Draw = Callable[[torch.Tensor, torch.Generator | None], torch.Tensor]
MANY = 33

# From a tensor of ones, as many numbers.
OPERATORS: dict[str, Draw] = {
    "random_": lambda x, g: x.random_(generator=g),
    "random_ below": lambda x, g: x.random_(1 << 20, generator=g),
    "random_ between": lambda x, g: x.random_(-5, 1 << 20, generator=g),
    "uniform_": lambda x, g: x.uniform_(generator=g),
    "normal_": lambda x, g: x.normal_(generator=g),
    "exponential_": lambda x, g: x.exponential_(generator=g),
    "log_normal_": lambda x, g: x.log_normal_(generator=g),
    "cauchy_": lambda x, g: x.cauchy_(generator=g),
    "geometric_": lambda x, g: x.geometric_(0.001, generator=g),
    "bernoulli_": lambda x, g: x.bernoulli_(0.5, generator=g),
    "bernoulli_ of a tensor": lambda x, g: x.bernoulli_(x / 2, generator=g),
    "bernoulli": lambda x, g: torch.bernoulli(x / 2, generator=g),
    "poisson": lambda x, g: torch.poisson(x * 1000, generator=g),
    "binomial": lambda x, g: torch.binomial(x * 1000, x / 2, generator=g),
    "_standard_gamma": lambda x, g: torch._standard_gamma(x, generator=g),
    "normal": lambda x, g: torch.normal(x, 2.0, generator=g),
    "normal of a number": lambda x, g: torch.normal(2.0, x, generator=g),
    "normal of two tensors": lambda x, g: torch.normal(x, x, generator=g),
    "multinomial": lambda x, g: torch.multinomial(
        torch.ones((max(x.numel(), 1), 1000), device=x.device), 1, generator=g),
    "rand": lambda x, g: torch.rand(x.shape, device=x.device, generator=g),
    "randn": lambda x, g: torch.randn(x.shape, device=x.device, generator=g),
    "randint": lambda x, g: torch.randint(1 << 20, x.shape, device=x.device, generator=g),
    "randint between": lambda x, g: torch.randint(-5, 1 << 20, x.shape, device=x.device,
                                                  generator=g),
    "randperm": lambda x, g: torch.randperm(x.numel() + 1, device=x.device, generator=g),
}  # fmt: skip


def _drawn(
    name: str, device: torch.device, shape: tuple[int, ...], generator: torch.Generator | None
) -> torch.Tensor:
    return host.download(OPERATORS[name](torch.ones(shape, device=device), generator))


@pytest.mark.parametrize("name", OPERATORS)
@clause("GEN-509", needs="generator dtype:float32 dtype:int64")
def test_numbers_are_of_the_generator_that_is_passed(device: torch.device, name: str) -> None:
    """Whatever the default one is seeded with; and it goes on from where it was."""
    torch.manual_seed(31)
    kept = draw(device)
    first = _drawn(name, device, (MANY,), made(device, 7))
    torch.manual_seed(31)
    check.tensor(f"{name} with a generator", _drawn(name, device, (MANY,), made(device, 7)), first)
    check.tensor(f"the default one, after {name}", draw(device), kept)
    other = _drawn(name, device, (MANY,), made(device, 8))
    check.that(f"{name} with one of another seed", not torch.equal(other, first),
               expected="other numbers", seen="the same")  # fmt: skip


@pytest.mark.parametrize("of", ["default", "passed"])
@pytest.mark.parametrize("name", OPERATORS)
@clause("GEN-514", needs="generator dtype:float32 dtype:int64")
def test_few_numbers_advance_it_too(device: torch.device, name: str, of: str) -> None:
    for shape in ((), (1,), (1, 1), (2,), (5,)):
        generator = made(device, 7) if of == "passed" else None
        torch.manual_seed(31)
        kept = draw(device, generator)
        generator = made(device, 7) if of == "passed" else None
        torch.manual_seed(31)
        _drawn(name, device, shape, generator)
        differ(f"numbers after {name} of {list(shape)}", draw(device, generator), kept)
