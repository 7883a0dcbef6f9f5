# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The default generators of several devices, by the functions of the device's module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.test_generator_use import draw


def seeded(device: torch.device, seed: int) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


@clause("GEN-517", needs="generator module two_devices")
def test_states_of_all_devices_go_round(devices: list[torch.device], module: Any) -> None:
    """Each device has a state of its own, which comes back to it and to no other."""
    if not all(hasattr(module, name) for name in ("get_rng_state_all", "set_rng_state_all")):
        check.evidence(check.NOT_SHOWN, "the module has no states of all devices at once")
        return
    for index, device in enumerate(devices):
        module.set_rng_state(seeded(device, 70 + index).get_state(), device)
    states = module.get_rng_state_all()
    check.equal("how many states", len(states), len(devices))
    for state, device in zip(states, devices, strict=True):
        check.tensor(f"the state of {device}", state, module.get_rng_state(device))
    expected = [draw(device) for device in devices]
    module.manual_seed_all(8)
    module.set_rng_state_all(states)
    for device, numbers in zip(devices, expected, strict=True):
        check.tensor(f"numbers of {device}", draw(device), numbers)


Named = Callable[[torch.device], tuple[object, ...]]
FORMS: dict[str, Named] = {
    "index": lambda device: (device.index,),
    "text": lambda device: (str(device),),
    "device": lambda device: (device,),
    "none": lambda _: (),
}


@pytest.mark.parametrize("form", FORMS)
@clause("GEN-517", needs="generator module two_devices")
def test_a_state_is_that_of_the_device_named(
    devices: list[torch.device], module: Any, form: str
) -> None:
    """However it is named; where none is, it is the current one."""
    before = torch.accelerator.current_device_index()
    try:
        for index, device in enumerate(devices):
            seed = 40 + index
            other = devices[(index + 1) % len(devices)]
            torch.accelerator.set_device_index((device if form == "none" else other).index)
            module.manual_seed_all(9)
            state = seeded(device, seed).get_state()
            module.set_rng_state(state, *FORMS[form](device))
            check.tensor("the state", module.get_rng_state(*FORMS[form](device)), state)
            check.tensor("numbers", draw(device), draw(device, seeded(device, seed)))
            check.tensor("those of the other", draw(other), draw(other, seeded(other, 9)))
    finally:
        torch.accelerator.set_device_index(before)
