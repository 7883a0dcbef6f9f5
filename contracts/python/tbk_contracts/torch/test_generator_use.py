# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Generators in use: seeding all, clones, offsets, threads, streams, forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host, process
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.pairs import Case, each_case, line

COUNT = 67
Draw = Callable[[torch.device, torch.Generator], object]

OPERATORS: dict[str, Draw] = {
    "random_": lambda d, g: torch.empty(1, dtype=torch.int64, device=d).random_(generator=g),
    "uniform_": lambda d, g: torch.empty(5, device=d).uniform_(generator=g),
    "normal_": lambda d, g: torch.empty(5, device=d).normal_(generator=g),
    "bernoulli_": lambda d, g: torch.empty(5, device=d).bernoulli_(generator=g),
    "exponential_": lambda d, g: torch.empty(5, device=d).exponential_(generator=g),
    "rand": lambda d, g: torch.rand((), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(9, device=d, generator=g),
    "multinomial": lambda d, g: torch.multinomial(torch.ones(9, device=d), 3, generator=g),
}


def draw(device: torch.device, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns numbers of 63 bits, on the host: none comes twice by chance."""
    drawn = torch.empty(COUNT, dtype=torch.int64, device=device).random_(generator=generator)
    return host.download(drawn)


@clause("GEN-511", needs="generator")
def test_one_seed_for_all_devices(device: torch.device) -> None:
    torch.manual_seed(41)
    first = draw(device), draw(device)
    torch.manual_seed(41)
    check.tensor("numbers", draw(device), first[0])
    check.tensor("next numbers", draw(device), first[1])
    torch.manual_seed(42)
    same = int((draw(device) == first[0]).sum())
    check.that("numbers of another seed", same == 0, expected="others", seen=f"{same} the same")


@clause("GEN-511", needs="generator two_devices")
def test_every_device_is_seeded(devices: list[torch.device]) -> None:
    torch.manual_seed(41)
    first = [draw(device) for device in devices]
    torch.manual_seed(41)
    for device, expected in zip(devices, first, strict=True):
        check.tensor("numbers of each device", draw(device), expected)


@clause("GEN-511", needs="generator accelerator", fresh=True)
def test_a_seed_before_the_first_use(device: torch.device) -> None:
    torch.manual_seed(43)
    expected = draw(device)
    torch.manual_seed(43)
    check.tensor("numbers of a device that was seeded in use", draw(device), expected)


@clause("GEN-511", needs="generator accelerator")
def test_a_seed_in_a_forked_child_does_nothing_bad(device: torch.device) -> None:
    draw(device)

    ended = process.in_fork(lambda: torch.manual_seed(5).initial_seed())
    check.equal("torch.manual_seed in a child of a process that has used the device",
                ended.error or ended.value, 5)  # fmt: skip


@clause("GEN-512", needs="generator")
def test_a_clone_is_equal_and_independent(device: torch.device) -> None:
    generator = torch.Generator(device).manual_seed(7)
    draw(device, generator)
    clone = generator.clone_state()
    check.tensor("state of the clone", clone.get_state(), generator.get_state())
    check.equal("seed of the clone", clone.initial_seed(), 7)
    first, second = draw(device, generator), draw(device, generator)
    check.tensor("numbers of the clone", draw(device, clone), first)
    clone.manual_seed(8)
    check.equal("seed of the first one", generator.initial_seed(), 7)
    clone.set_state(generator.get_state())
    expected = draw(device, clone)
    check.tensor("numbers of the first one", draw(device, generator), expected)
    same = int((expected == second).sum())
    check.that("its numbers go on", same == 0, expected="others", seen=f"{same} the same")


def _offset(generator: torch.Generator) -> int | None:
    """Returns None where there are no offsets, which it says by raising."""
    try:
        return int(generator.get_offset())
    except (RuntimeError, NotImplementedError):
        return None


@clause("GEN-513", needs="generator")
def test_offsets_agree_with_the_state_or_raise(device: torch.device) -> None:
    generator = torch.Generator(device).manual_seed(7)
    draw(device, generator)
    offset = _offset(generator)
    if offset is None:
        check.raises("set_offset, where get_offset raises", (RuntimeError, NotImplementedError),
                     lambda: generator.set_offset(0))  # fmt: skip
        return
    state, expected = generator.get_state(), draw(device, generator)
    after = generator.get_offset()
    check.that("get_offset() after numbers were drawn", after > offset,
               expected=f"more than {offset}", seen=after)  # fmt: skip
    generator.set_offset(offset)
    check.equal("get_offset() after set_offset()", generator.get_offset(), offset)
    check.tensor("state of that offset", generator.get_state(), state)
    check.tensor("numbers from that offset", draw(device, generator), expected)
    generator.set_state(state)
    check.equal("get_offset() after set_state()", generator.get_offset(), offset)
    generator.manual_seed(7)
    check.equal("get_offset() after manual_seed()", generator.get_offset(), 0)


@each_case({"offset": ("0", "4", "64", "2^31", "2^32", "2^32+8", "2^40", "2^62"),
            "seed": ("0", "1", "2^32+5", "2^63+1"), "before": ("fresh", "drawn", "other_offset"),
            "way": ("set_offset", "set_state")}, quick=12)  # fmt: skip
@clause("GEN-513", needs="generator")
def test_any_offset_is_kept(device: torch.device, case: Case) -> None:
    """What is set is told, by the generator and by another one with its state; from there on come
    the same numbers."""
    generator = torch.Generator(device).manual_seed(_number(case["seed"]))
    offset = _number(case["offset"])
    if case["before"] == "drawn":
        draw(device, generator)
    try:
        if case["before"] == "other_offset":
            generator.set_offset(1 << 20)
        generator.set_offset(offset)
    except (RuntimeError, NotImplementedError) as error:
        check.that(
            "why an offset is refused", bool(str(error)), expected="a reason", seen="nothing"
        )
        return
    check.equal(f"get_offset(), {line(case)}", generator.get_offset(), offset)
    other = torch.Generator(device).manual_seed(3)
    if case["way"] == "set_state":
        other.set_state(generator.get_state())
    else:
        other.manual_seed(_number(case["seed"])).set_offset(offset)
    check.equal(f"get_offset() of another one, {line(case)}", other.get_offset(), offset)
    check.equal(f"its seed, {line(case)}", other.initial_seed(), _number(case["seed"]))
    check.tensor(f"numbers from there, {line(case)}", draw(device, other), draw(device, generator))
    after = generator.get_offset()
    check.that(f"get_offset() behind them, {line(case)}", after > offset,
               expected=f"more than {offset}", seen=after)  # fmt: skip


def _number(text: str) -> int:
    """Reads "2^32+8"."""
    power, _, more = text.partition("+")
    base, _, exponent = power.partition("^")
    found: int = int(base) ** int(exponent or 1) + int(more or 0)
    return found


@pytest.mark.parametrize("name", OPERATORS)
@clause("GEN-514", needs="generator")
def test_an_operator_advances_the_state(device: torch.device, name: str) -> None:
    generator = torch.Generator(device).manual_seed(7)
    states = [generator.get_state()]
    for _ in range(3):
        OPERATORS[name](device, generator)
        states.append(generator.get_state())
    check.equal("states that differ", len({bytes(state.tolist()) for state in states}), 4)
    numbers = draw(device, generator)
    generator.set_state(states[0])
    same = int((draw(device, generator) == numbers).sum())
    check.that("numbers drawn after it", same == 0, expected="others", seen=f"{same} the same")


@clause("GEN-515", needs="generator")
def test_threads_get_no_number_twice(device: torch.device) -> None:
    generator = torch.Generator(device).manual_seed(7)

    def draws() -> list[torch.Tensor]:
        return [draw(device, generator) for _ in range(40)]

    numbers = [number for drawn in host.in_threads([draws] * 4)
               for tensor in drawn for number in tensor.tolist()]  # fmt: skip
    check.equal("numbers that differ", len(set(numbers)), len(numbers))


@clause("GEN-516", needs="generator module")
def test_an_index_out_of_range_is_refused(devices: list[torch.device]) -> None:
    beyond = torch.device(devices[0].type, len(devices))
    check.raises("torch.Generator", Exception, lambda: torch.Generator(beyond))
    check.equal("one that is in range", torch.Generator(devices[-1]).device, devices[-1])


@clause("GEN-516", needs="generator accelerator")
def test_without_an_index_it_is_the_current_device(devices: list[torch.device]) -> None:
    before = torch.accelerator.current_device_index()
    try:
        for device in reversed(devices):
            torch.accelerator.set_device_index(device.index)
            check.equal("device", torch.Generator(device.type).device, device)
    finally:
        torch.accelerator.set_device_index(before)


@clause("GEN-517", needs="generator module")
def test_the_state_of_the_default_generator_goes_round(device: torch.device, module: Any) -> None:
    module.manual_seed_all(7)
    draw(device)
    state = module.get_rng_state(device)
    check.equal("dtype of the state", state.dtype, torch.uint8)
    check.equal("device of the state", state.device.type, "cpu")
    expected = draw(device), draw(device)
    module.manual_seed_all(8)
    module.set_rng_state(state, device)
    check.tensor("numbers", draw(device), expected[0])
    check.tensor("next numbers", draw(device), expected[1])


@clause("GEN-517", needs="generator module two_devices")
def test_states_are_told_by_device(
    device: torch.device, other_device: torch.device, module: Any
) -> None:
    module.manual_seed_all(7)
    draw(other_device)
    state = module.get_rng_state(other_device)
    expected = draw(other_device)
    module.set_rng_state(state, device)
    check.tensor("numbers of a device with the other's state", draw(device), expected)
    module.set_rng_state(state, other_device)
    check.tensor("numbers of the other with its own again", draw(other_device), expected)


@clause("GEN-517", needs="generator module")
def test_fork_rng_leaves_no_trace(device: torch.device) -> None:
    torch.manual_seed(7)
    draw(device)
    expected = draw(device)
    torch.manual_seed(7)
    draw(device)
    with torch.random.fork_rng(devices=[device.index], device_type=device.type):
        draw(device)
        torch.manual_seed(99)
    check.tensor("numbers after fork_rng", draw(device), expected)


@clause("GEN-518", needs="generator stream")
def test_streams_are_no_seeds(device: torch.device) -> None:
    torch.manual_seed(7)
    generator = torch.Generator(device).manual_seed(9)
    expected = draw(device), draw(device), draw(device, generator)
    torch.manual_seed(7)
    generator.manual_seed(9)
    with torch.Stream(device):
        check.tensor("numbers of another stream", draw(device), expected[0])
        check.tensor("numbers of a generator there", draw(device, generator), expected[2])
    with torch.Stream(device):
        check.tensor("next numbers, of a third stream", draw(device), expected[1])
