# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that a device seldom has of its own: wherever they run, results and changes come back.

They move, compare or count, so that what they give is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

Run = Callable[[Any], Any]
Lists = Callable[[Callable[[torch.Tensor], torch.Tensor]], Any]
_names = itertools.count(1)


def results(given: object) -> list[torch.Tensor]:
    """Returns the tensors among what an operator gives."""
    if isinstance(given, torch.Tensor):
        return [given]
    return [one for each in given for one in results(each)] if isinstance(given, tuple) else []


INDEX = torch.tensor([[2, 0, 1, 1], [0, 0, 2, 1]])

# In place, of a tensor of (3, 4) that they get with a function that brings tensors to it.
CHANGES: dict[str, Callable[[torch.Tensor, Any], object]] = {
    "index_add": lambda x, to: x.index_add_(0, to(torch.tensor([2, 0])), to(torch.ones(2, 4))),
    "index_copy": lambda x, to: x.index_copy_(0, to(torch.tensor([2, 0])), to(torch.ones(2, 4))),
    "index_put": lambda x, to: x.index_put_((to(torch.tensor([0, 2])),), to(torch.tensor(5.0))),
    "masked_fill": lambda x, to: x.masked_fill_(to(torch.eye(3, 4) > 0), -3),
    "put": lambda x, to: x.put_(to(torch.tensor([0, 7])), to(torch.tensor([9.0, 8.0]))),
    "scatter": lambda x, to: x.scatter_(0, to(INDEX), to(torch.full((2, 4), 6.0))),
    "sort": lambda x, to: torch.sort(x.clone(), out=(x, to(torch.zeros(3, 4, dtype=torch.int64)))),
    "squeeze_and_fill": lambda x, to: x.fill_diagonal_(7),
    "tril": lambda x, to: x.tril_(),
    "unary_out": lambda x, to: torch.sign(x, out=x),
}
PLACES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "all": lambda base: base[:3, :4],
    "rows": lambda base: base[1:4, 1:5],
    "columns": lambda base: base[:3, ::2][:, :4],
    "transposed": lambda base: base.t()[2:5, 1:5],
}


def base_tensor() -> torch.Tensor:
    """Returns distinct whole numbers: sorting them has one answer, and adding ones is exact."""
    return torch.randperm(40, generator=host.seed()).reshape(5, 8).to(torch.float32) - 11


@pytest.mark.parametrize("name", CHANGES)
@clause("OPS-534")
def test_what_is_changed_comes_back_and_no_more(device: torch.device, name: str) -> None:
    for place, view in PLACES.items():
        here = base_tensor()
        there = host.upload(here, device)
        version = there._version
        CHANGES[name](view(here), lambda one: one)
        CHANGES[name](view(there), lambda one: host.upload(one, device))
        check.tensor(f"{place}: the whole base", host.download(there), here)
        seen = there._version
        check.that(f"{place}: its version", seen > version, expected=f"> {version}", seen=seen)


RESULTS: dict[str, Run] = {
    "cummax": lambda x: torch.cummax(x, 1),
    "flip": lambda x: x.flip(0, 1),
    "gather": lambda x: x.gather(1, INDEX.to(x.device)),
    "kthvalue": lambda x: x.kthvalue(3, 1),
    "masked_select": lambda x: x.masked_select(x > 3),
    "median": lambda x: x.median(0),
    "mode": lambda x: (x > 3).to(torch.int64).mode(1),
    "nonzero": lambda x: (x > 3).nonzero(),
    "nonzero_as_tuple": lambda x: (x > 3).nonzero(as_tuple=True),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "roll": lambda x: x.roll((1, 2), (0, 1)),
    "searchsorted": lambda x: torch.searchsorted(x.reshape(-1).sort()[0], x),
    "sort": lambda x: x.sort(1, descending=True),
    "topk": lambda x: x.topk(3, 1),
    "triu": lambda x: x.triu(1),
    "unique": lambda x: torch.unique(x > 3, return_inverse=True, return_counts=True),
}


@pytest.mark.parametrize("name", RESULTS)
@clause("OPS-534")
def test_results_come_back(device: torch.device, name: str) -> None:
    base = base_tensor()
    for what, view in (("all", base), ("a part", base[1:4, ::2]), ("transposed", base.t())):
        there = host.upload(base, device)
        moved = there.as_strided(view.shape, view.stride(), view.storage_offset())
        expected, seen = results(RESULTS[name](view)), results(RESULTS[name](moved))
        check.equal(f"{what}: number of results", len(seen), len(expected))
        for index, (one, other) in enumerate(zip(seen, expected, strict=True)):
            check.equal(f"{what}: device of result {index}", one.device, device)
            check.tensor(f"{what}: result {index}", host.download(one), other)


@clause("OPS-534")
def test_results_are_written_to_what_is_given(device: torch.device) -> None:
    here = base_tensor()
    there = host.upload(here, device)
    values = host.poisoned((5, 8), torch.float32, device)
    indices = host.poisoned((5, 8), torch.int64, device)
    address = values.data_ptr()
    given = torch.sort(there, 1, out=(values, indices))
    expected = torch.sort(here, 1)
    check.that("what is returned", given[0] is values, expected="what was given", seen="another")
    check.equal("its memory", values.data_ptr(), address)
    check.tensor("values", host.download(values), expected[0])
    check.tensor("indices", host.download(indices), expected[1])
    check.tensor("the operand", host.download(there), here)
    counted = torch.empty(0, dtype=torch.int64, device=device)
    torch.nonzero(there > 3, out=counted)
    check.tensor("a result of unknown size", host.download(counted), (here > 3).nonzero())


@clause("OPS-534")
def test_what_aliases_still_does(device: torch.device) -> None:
    here = base_tensor()
    there = host.upload(here, device)
    view, row = there.t(), there[1]
    for base in (here, there):
        same = base[1].index_fill_(0, torch.tensor([0, 5]).to(base.device), 2)
        base.t()[3:5].masked_fill_((base > 4).t()[3:5], 0)
        same.put_(torch.tensor([7]).to(base.device), torch.tensor([99.0]).to(base.device))
    check.tensor("the base", host.download(there), here)
    check.tensor("a view of it", host.download(view), here.t())
    check.tensor("a row of it", host.download(row), here[1])
    given = row.index_fill_(0, torch.tensor([3]).to(device), 4)
    check.that("what in-place gives", given is row, expected="its argument", seen="another")


def own_operator(schema: str, on_the_host: Callable[..., Any]) -> Any:
    """Returns a new operator that nobody but the CPU has a kernel for."""
    library = torch.library.Library(f"tbk_contracts_{next(_names)}", "DEF")
    library.define(schema)
    name = schema.partition("(")[0]
    library.impl(name, on_the_host, "CPU")
    _libraries.append(library)  # it goes with its operators
    return getattr(getattr(torch.ops, library.ns), name)


_libraries: list[torch.library.Library] = []


def double(tensor: torch.Tensor | None, more: list[torch.Tensor]) -> torch.Tensor:
    for one in more:
        one.mul_(2)
    return more[0] + 1 if tensor is None else tensor + 1


@clause("OPS-534")
def test_what_only_the_host_has_runs_there_or_is_refused(device: torch.device) -> None:
    operator = own_operator("double(Tensor? x, Tensor(a!)[] more) -> Tensor", double)
    base = base_tensor()
    there = host.upload(base, device)
    more = [there[0], there[2, 1:3]]
    try:
        result = operator(None, more)
    except NotImplementedError as refused:
        check.that("the refusal", "double" in str(refused), expected="its name", seen=str(refused))
        check.tensor("what it was given", host.download(there), base)
        return
    expected = base.clone()
    expected[0] *= 2
    expected[2, 1:3] *= 2
    check.equal("device", result.device, device)
    check.tensor("the result", host.download(result), expected[0] + 1)
    check.tensor("what was changed", host.download(there), expected)


def add_to(changed: torch.Tensor, *others: torch.Tensor) -> None:
    changed += sum(others)


# The place of the argument that is written among three, of which some are one tensor.
WRITTEN = {"first": 0, "second": 1, "third": 2}
SAME = {"none": (0, 1, 2), "first two": (0, 0, 1), "last two": (0, 1, 1), "ends": (0, 1, 0),
        "all": (0, 0, 0)}  # fmt: skip


@pytest.mark.parametrize("same", SAME)
@pytest.mark.parametrize("written", WRITTEN)
@clause("OPS-534")
def test_one_tensor_may_be_several_arguments(device: torch.device, written: str, same: str) -> None:
    place = WRITTEN[written]

    def on_the_host(*tensors: torch.Tensor) -> None:
        add_to(tensors[place], *(one for at, one in enumerate(tensors) if at != place))

    kinds = ["Tensor(a!)" if at == place else "Tensor" for at in range(3)]
    schema = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, "xyz", strict=True))
    operator = own_operator(f"add_to({schema}) -> ()", on_the_host)
    here = [base_tensor() for _ in range(3)]
    there = [host.upload(one, device) for one in here]
    chosen = SAME[same]
    try:
        operator(*(there[at] for at in chosen))
    except NotImplementedError as refused:
        check.that("the refusal", "add_to" in str(refused), expected="its name", seen=str(refused))
    else:
        on_the_host(*(here[at] for at in chosen))
    for at, one in enumerate(here):
        check.tensor(f"tensor {at}", host.download(there[at]), one)


Random = Callable[[torch.Tensor, torch.Generator], torch.Tensor]
RANDOM: dict[str, Random] = {
    "bernoulli": lambda x, g: torch.bernoulli(torch.full_like(x, 0.5), generator=g),
    "cauchy": lambda x, g: x.cauchy_(generator=g),
    "exponential": lambda x, g: x.exponential_(generator=g),
    "geometric": lambda x, g: x.geometric_(0.25, generator=g),
    "log_normal": lambda x, g: x.log_normal_(generator=g),
    "multinomial": lambda x, g: x.fill_(1).multinomial(8, generator=g),
    "normal": lambda x, g: x.normal_(generator=g),
    "poisson": lambda x, g: torch.poisson(x.fill_(30), generator=g),
    "random": lambda x, g: x.random_(generator=g),
    "randperm": lambda x, g: torch.randperm(64, generator=g, device=x.device),
    "uniform": lambda x, g: x.uniform_(generator=g),
}


def default_states(device: torch.device) -> list[torch.Tensor]:
    states = [torch.get_rng_state()]
    module = torch.get_device_module(device)
    if hasattr(module, "get_rng_state"):
        states.append(module.get_rng_state(device))
    return states


@pytest.mark.parametrize("name", RANDOM)
@clause("OPS-535", needs="generator")
def test_what_is_random_uses_the_generator_that_is_passed(device: torch.device, name: str) -> None:
    def drawn(generator: torch.Generator) -> torch.Tensor:
        return host.download(RANDOM[name](torch.zeros(8, 16).to(device), generator))

    first, second = (torch.Generator(device).manual_seed(11) for _ in range(2))
    before, states = first.get_state(), default_states(device)
    try:
        values = drawn(first)
    except (NotImplementedError, RuntimeError) as refused:
        check.that("the refusal", bool(str(refused)), expected="a text", seen=str(refused))
        check.evidence(check.NOT_SHOWN, f"not offered: {' '.join(str(refused).split())[:120]}")
        return
    after = first.get_state()
    moved = not torch.equal(before, after)
    check.that("the generator that was passed", moved, expected="advances", seen="the same state")
    check.tensor("the same seed again", drawn(second), values)
    more = drawn(first)
    differs = not torch.equal(more, values)
    check.that("the next values", differs, expected="others", seen="the same")
    for state, now in zip(states, default_states(device), strict=True):
        check.tensor("state of a default generator", now, state)
