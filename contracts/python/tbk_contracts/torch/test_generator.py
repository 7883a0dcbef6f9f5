# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Generators: seeds, states, offsets, and which one an operator draws from."""

from __future__ import annotations

from functools import partial

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

COUNT = 67  # odd, so that a generator that gives numbers in groups has some left


def draw(device: torch.device, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns numbers of 63 bits, on the host: none comes twice by chance."""
    drawn = torch.empty(COUNT, dtype=torch.int64, device=device).random_(generator=generator)
    return host.download(drawn)


def made(device: torch.device, seed: int) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def differ(what: str, one: torch.Tensor, other: torch.Tensor) -> None:
    same = int((one == other).sum())
    check.that(what, same == 0, expected="other numbers", seen=f"{same} of {COUNT} the same")


@clause("GEN-501", needs="generator")
def test_equal_seeds_give_equal_numbers(device: torch.device) -> None:
    one, other, third = made(device, 7), made(device, 7), made(device, 8)
    for _ in range(3):
        numbers = draw(device, one)
        check.tensor("numbers of the same seed", draw(device, other), numbers)
        differ("numbers of another seed", draw(device, third), numbers)


@clause("GEN-501", needs="generator")
def test_a_seed_begins_the_numbers_again(device: torch.device) -> None:
    used, expected = made(device, 7), draw(device, made(device, 7))
    for _ in range(2):
        draw(device, used)
        used.manual_seed(7)
        check.tensor("numbers of a generator that was used before", draw(device, used), expected)


@clause("GEN-501", needs="generator two_devices")
def test_devices_of_a_kind_give_the_same_numbers(
    device: torch.device, other_device: torch.device
) -> None:
    one, other = made(device, 7), made(other_device, 7)
    for _ in range(3):
        check.tensor("other device", draw(other_device, other), draw(device, one))


@clause("GEN-502", needs="generator module two_devices")
def test_each_device_has_a_default_generator(
    device: torch.device, other_device: torch.device, module: object
) -> None:
    torch.manual_seed(11)
    expected = draw(device), draw(device)
    torch.manual_seed(11)
    check.tensor("the first numbers", draw(device), expected[0])
    check.tensor("those of the other device", draw(other_device), expected[0])
    check.tensor("after the other device has drawn", draw(device), expected[1])


@clause("GEN-503", needs="generator")
def test_the_seed_is_told(device: torch.device) -> None:
    generator = torch.Generator(device)
    check.that("before", isinstance(generator.initial_seed(), int),
               expected="a number", seen=generator.initial_seed())  # fmt: skip
    for seed in (0, 1, (1 << 32) + 5, (1 << 63) - 1, (1 << 64) - 1):
        check.equal("initial_seed()", generator.manual_seed(seed).initial_seed(), seed)
    draw(device, generator)
    check.equal("initial_seed() after numbers were drawn", generator.initial_seed(), (1 << 64) - 1)
    check.equal("a negative seed", generator.manual_seed(-1).initial_seed(), (1 << 64) - 1)


@clause("GEN-504", needs="generator")
def test_a_fresh_seed_is_used(device: torch.device) -> None:
    generator = made(device, 3)
    seeds = [generator.seed() for _ in range(8)]
    check.equal("seeds that differ", len(set(seeds)), 8)
    check.equal("initial_seed()", generator.initial_seed(), seeds[-1])
    check.tensor("numbers", draw(device, generator), draw(device, made(device, seeds[-1])))


@clause("GEN-505", needs="generator")
def test_a_state_is_bytes_of_the_host(device: torch.device) -> None:
    state = made(device, 5).get_state()
    check.equal("dtype", state.dtype, torch.uint8)
    check.equal("device", state.device.type, "cpu")
    check.that("memory", state.is_contiguous(), expected="contiguous", seen=state.stride())


@clause("GEN-505", needs="generator")
def test_a_state_goes_on_from_where_it_was(device: torch.device) -> None:
    generator = made(device, 5)
    for before in range(4):
        if before:
            torch.empty(before, device=device).normal_(generator=generator)
        state = generator.get_state()
        expected = draw(device, generator), draw(device, generator)
        generator.manual_seed(99)
        generator.set_state(state)
        check.tensor("first numbers after set_state", draw(device, generator), expected[0])
        check.tensor("next numbers after set_state", draw(device, generator), expected[1])


@clause("GEN-505", needs="generator")
def test_a_state_brings_back_its_seed(device: torch.device) -> None:
    state = made(device, 5).get_state()
    generator = made(device, 6)
    generator.set_state(state)
    check.equal("initial_seed()", generator.initial_seed(), 5)
    check.tensor("state", generator.get_state(), state)


@clause("GEN-506", needs="generator")
def test_a_wrong_state_is_refused(device: torch.device) -> None:
    generator = made(device, 5)
    state = generator.get_state()
    wrong = {
        "of another dtype": state.to(torch.int8),
        "too short": state[:-1].clone(),
        "too long": torch.cat([state, state[:1]]),
        "empty": state[:0].clone(),
    }
    for name, given in wrong.items():
        check.raises(f"a state that is {name}", (RuntimeError, TypeError),
                     partial(generator.set_state, given))  # fmt: skip
        check.tensor("state after the refusal", generator.get_state(), state)


@clause("GEN-506", needs="generator accelerator")
def test_a_state_on_the_device_is_refused(device: torch.device) -> None:
    generator = made(device, 5)
    state = generator.get_state()
    there = host.upload(state, device)
    check.raises("a state on the device", (RuntimeError, TypeError),
                 lambda: generator.set_state(there))  # fmt: skip
    check.tensor("state after the refusal", generator.get_state(), state)


@clause("GEN-507", needs="generator")
def test_a_state_is_a_snapshot(device: torch.device) -> None:
    generator = made(device, 5)
    state = generator.get_state()
    kept = state.clone()
    expected = draw(device, generator)
    check.tensor("a state after numbers were drawn", state, kept)
    generator.manual_seed(6)
    check.tensor("a state after another seed", state, kept)
    generator.set_state(state)
    state.zero_()
    check.tensor("numbers, the state written over", draw(device, generator), expected)


@clause("GEN-508", needs="generator")
def test_a_generator_is_on_its_device(device: torch.device) -> None:
    check.equal("device", torch.Generator(device).device, device)
    check.equal("device of a clone", torch.Generator(device).clone_state().device, device)


@clause("GEN-508", needs="generator two_devices")
def test_a_generator_is_on_another_device(other_device: torch.device) -> None:
    check.equal("device", torch.Generator(other_device).device, other_device)


@clause("GEN-508", needs="generator")
def test_a_generator_is_not_the_default_one(device: torch.device) -> None:
    torch.manual_seed(21)
    generator = made(device, 4)
    expected = draw(device), draw(device, made(device, 4))
    torch.manual_seed(21)
    check.tensor("its numbers, another seed set for all", draw(device, generator), expected[1])
    check.tensor("those of the default one after that", draw(device), expected[0])
    generator.manual_seed(5)
    torch.manual_seed(21)
    check.tensor("the default one, with another of another seed", draw(device), expected[0])


@clause("GEN-509", needs="generator")
def test_a_generator_that_is_passed_is_used(device: torch.device) -> None:
    first, second = made(device, 1), made(device, 2)
    expected = draw(device, made(device, 1))
    torch.manual_seed(31)
    other, hosts = second.get_state(), torch.get_rng_state()
    check.tensor("numbers", draw(device, first), expected)
    check.tensor("state of another generator", second.get_state(), other)
    check.tensor("state of the host's", torch.get_rng_state(), hosts)
    kept = draw(device)
    torch.manual_seed(31)
    check.tensor("the default one has not advanced", draw(device), kept)


@clause("GEN-510", needs="generator accelerator")
def test_a_generator_of_the_host_is_refused(device: torch.device) -> None:
    numbers = torch.zeros(COUNT, dtype=torch.int64, device=device)
    generator = torch.Generator("cpu")
    state = generator.get_state()
    check.raises("random_", (RuntimeError, TypeError, ValueError),
                 lambda: numbers.random_(generator=generator))  # fmt: skip
    check.raises("torch.rand", (RuntimeError, TypeError, ValueError),
                 lambda: torch.rand(COUNT, device=device, generator=generator))  # fmt: skip
    check.tensor("state of the refused one", generator.get_state(), state)


@clause("GEN-510", needs="generator two_devices")
def test_a_generator_of_another_device_is_refused(
    device: torch.device, other_device: torch.device
) -> None:
    """Or used: PyTorch's own check compares the types of the two devices alone."""
    numbers = torch.zeros(COUNT, dtype=torch.int64, device=device)
    generator = torch.Generator(other_device)
    state = generator.get_state()
    try:
        numbers.random_(generator=generator)
    except (RuntimeError, TypeError, ValueError):
        check.tensor("state of the refused one", generator.get_state(), state)
        return
    check.note("a generator of another device of the same type is used")

    def seeded() -> torch.Tensor:
        return host.download(numbers.random_(generator=generator.manual_seed(7)))

    check.tensor("numbers drawn with it, seeded again", seeded(), seeded())
