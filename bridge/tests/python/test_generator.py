# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Generators of the devices: seed, offset and state, none of which needs an open device."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

DEFAULT_SEED = 67280421310721


@pytest.fixture
def generator(device: torch.device) -> torch.Generator:
    return torch.Generator(device)


def state_of(seed: int, offset: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(struct.pack("=QQ", seed, offset)), dtype=torch.uint8)


def test_a_new_generator_has_the_default_seed(
    generator: torch.Generator, device: torch.device
) -> None:
    assert generator.device == device
    assert generator.initial_seed() == DEFAULT_SEED
    assert torch.equal(generator.get_state(), state_of(DEFAULT_SEED, 0))


def test_the_state_is_seed_and_offset(generator: torch.Generator) -> None:
    generator.manual_seed(7)
    generator.set_offset(12)
    state = generator.get_state()
    assert torch.equal(state, state_of(7, 12))
    generator.manual_seed(8)
    assert generator.get_offset() == 0
    assert torch.equal(state, state_of(7, 12)), "a state is a snapshot"
    generator.set_state(state)
    assert (generator.initial_seed(), generator.get_offset()) == (7, 12)


@pytest.mark.parametrize("seed", [0, (1 << 64) - 1, -1])
def test_any_seed_is_taken(generator: torch.Generator, seed: int) -> None:
    assert generator.manual_seed(seed).initial_seed() == seed % (1 << 64)


@pytest.mark.parametrize(
    "state",
    [
        torch.zeros(8, dtype=torch.uint8),
        torch.zeros(17, dtype=torch.uint8),
        torch.zeros(16, dtype=torch.int8),
        torch.zeros(32, dtype=torch.uint8)[::2],
        torch.zeros(16, dtype=torch.uint8, device="meta"),
    ],
    ids=["short", "long", "dtype", "strided", "device"],
)
def test_a_wrong_state_is_refused(generator: torch.Generator, state: torch.Tensor) -> None:
    generator.manual_seed(7)
    with pytest.raises(RuntimeError, match="16 uint8"):
        generator.set_state(state)
    assert torch.equal(generator.get_state(), state_of(7, 0))


def test_an_offset_is_a_multiple_of_four(generator: torch.Generator) -> None:
    with pytest.raises(RuntimeError, match="multiple of 4, not 3"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="multiple of 4, not 5"):
        generator.set_state(state_of(0, 5))
    assert generator.get_offset() == 0


def test_a_clone_goes_its_own_way(generator: torch.Generator) -> None:
    generator.manual_seed(7)
    clone = generator.clone_state()
    assert torch.equal(clone.get_state(), generator.get_state())
    clone.manual_seed(8)
    assert generator.initial_seed() == 7


def test_a_seed_that_nobody_knows(generator: torch.Generator) -> None:
    seeds = {generator.seed() for _ in range(8)}
    assert len(seeds) == 8
    assert generator.initial_seed() in seeds


def test_default_generators_are_apart(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    first, second = (backend.default_generators[place.index] for place in (device, other_device))
    kept = first.get_state(), second.get_state()
    first.manual_seed(1)
    second.manual_seed(2)
    assert (first.initial_seed(), second.initial_seed()) == (1, 2)
    first.set_state(kept[0])
    second.set_state(kept[1])


def test_random_numbers_of_threads_do_not_repeat(device: torch.device) -> None:
    generator = torch.Generator(device).manual_seed(3)
    drawn: list[torch.Tensor] = []

    def draw() -> None:
        for _ in range(20):
            drawn.append(torch.rand(16, generator=generator, device=device).cpu())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(values.tolist()) for values in drawn}) == 80


def test_generators_open_nothing(
    child: Callable[..., str], library: str, backend_options: str
) -> None:
    program = """
import sys, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
torch.Generator(module.backend_name).manual_seed(3).get_state()
torch.manual_seed(5)
print(module.default_generators[0].initial_seed(), torch._C._accelerator_isAllocatorInitialized())
"""
    assert child(program, library, backend_options).split() == ["5", "False"]
