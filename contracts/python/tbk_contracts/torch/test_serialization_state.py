# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A training that is stopped, saved and resumed goes on as if nothing had happened."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

COST = 3

Make = Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]
OPTIMIZERS: dict[str, Make] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.125, momentum=0.5),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.125),
}
START = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])


def begin(device: torch.device, make: Make) -> tuple[torch.nn.Parameter, torch.optim.Optimizer]:
    weight = torch.nn.Parameter(host.upload(START, device))
    return weight, make([weight])


def steps(weight: torch.nn.Parameter, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        optimizer.zero_grad()
        (weight * weight * 0.5).sum().backward()
        optimizer.step()


def saved(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def loaded(file: bytes, map_location: Any) -> Any:
    return torch.load(io.BytesIO(file), map_location=map_location, weights_only=True)


@pytest.mark.parametrize("name", OPTIMIZERS)
@clause("SER-508")
def test_the_state_of_an_optimizer_comes_back(device: torch.device, name: str) -> None:
    whole, optimizer = begin(device, OPTIMIZERS[name])
    steps(whole, optimizer, 3)
    kept = host.download(whole)
    before = {key: host.download(one) if isinstance(one, torch.Tensor) else one
              for key, one in optimizer.state[whole].items()}  # fmt: skip
    file = saved(optimizer.state_dict())
    steps(whole, optimizer, 2)
    for where in (None, "cpu"):
        resumed, other = begin(device, OPTIMIZERS[name])
        with torch.no_grad():
            resumed.copy_(kept)
        other.load_state_dict(loaded(file, where))
        for key, old in before.items():
            new = other.state[resumed][key]
            if isinstance(old, torch.Tensor):
                check.equal(f"device of {key}", new.device, optimizer.state[whole][key].device)
                check.tensor(key, host.download(new), old)
            else:
                check.equal(key, new, old)
        steps(resumed, other, 2)
        check.tensor("weight after two more steps", host.download(resumed), host.download(whole))


@clause("SER-508")
def test_the_state_is_needed(device: torch.device) -> None:
    """The control: without it, the same steps end elsewhere."""
    whole, optimizer = begin(device, OPTIMIZERS["sgd"])
    steps(whole, optimizer, 3)
    resumed, other = begin(device, OPTIMIZERS["sgd"])
    with torch.no_grad():
        resumed.copy_(host.download(whole))
    steps(whole, optimizer, 2)
    steps(resumed, other, 2)
    same = torch.equal(host.download(whole), host.download(resumed))
    check.equal("the same without the state", same, False)
