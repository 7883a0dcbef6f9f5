# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The random number generators of the devices.

A generator's state is a seed and an offset that live on the host: nothing here opens a device, and
all of it works before a fork. Seeding does not even ask for devices. Where `device` is not given
it is the current one.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from torch_tbk._binding import binding
from torch_tbk.device_module._utils import DeviceLike, checked_index


def default_generators() -> tuple[torch.Generator, ...]:
    """Returns the default generator of each device, in order."""
    return tuple(binding.default_generator(index) for index in range(binding.device_count()))


def get_rng_state(device: DeviceLike = None) -> torch.Tensor:
    """Returns the state of the default generator of `device`, as a CPU tensor of bytes.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device.
    """
    return binding.default_generator(checked_index(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Returns the states of all devices' default generators."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = None) -> None:
    """Sets the state of the default generator of `device` to what get_rng_state gave.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no such device, or this is no state.
        TypeError: not a tensor of bytes.
    """
    binding.default_generator(checked_index(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of the devices' default generators, from device 0 on."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's default generator. Nothing where there is no device."""
    if binding.device_count() > 0:
        binding.default_generator(binding.current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds all devices' default generators; torch.manual_seed does that too.

    Raises:
        RuntimeError: more than 64 bits.
    """
    # As PyTorch reads a seed: which ones it refuses, and what a negative one stands for.
    binding.seed_default_generators(torch.Generator().manual_seed(int(seed)).initial_seed())


def seed() -> None:
    """Seeds the current device's default generator with a number that can't be foreseen."""
    if binding.device_count() > 0:
        binding.default_generator(binding.current_device()).seed()


def seed_all() -> None:
    """Seeds all devices' default generators with the same number that can't be foreseen."""
    manual_seed_all(torch.Generator().seed())


def initial_seed() -> int:
    """Returns the seed of the current device's default generator.

    Raises:
        RuntimeError: there is no device.
    """
    return binding.default_generator(checked_index(None)).initial_seed()
