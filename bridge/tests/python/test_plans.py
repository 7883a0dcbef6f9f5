# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a backend prepares once, and what never prepares anything: numbers that change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from five.training import FAMILIES, SMALL, Trainer

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
# One for each way in which a number comes to a kernel: into an operator of its own name, into a
# program as it is, rounded to the dtype, as a tensor of the host, and as a number of a reduction.
NUMBERS: dict[str, Callable[[Tensor, float], Any]] = {
    "add with alpha": lambda x, n: torch.add(x, x, alpha=n),
    "sub with alpha": lambda x, n: x.sub_(x, alpha=n),
    "add a number": lambda x, n: x + n,
    "times a number": lambda x, n: x.half() * n,
    "a number of the host": lambda x, n: x / torch.tensor(n),
    "fill": lambda x, n: x.fill_(n),
    "full": lambda x, n: torch.full((3, 5), n, device=x.device),
    "clamp": lambda x, n: x.clamp(-n, n),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "lerp": lambda x, n: x.lerp_(x, n),
    "where": lambda x, n: torch.where(x > n, x, n),
    "leaky relu": torch.nn.functional.leaky_relu,
    "var": lambda x, n: x.var(1, correction=n),
    "norm": lambda x, n: torch.linalg.vector_norm(x, 2.5 + n, dim=1),
    # Not a beta of 0: nothing is added then, which is another launch.
    "addmm": lambda x, n: torch.addmm(x, x[:, :3], x, beta=n + 2, alpha=n),
    "baddbmm": lambda x, n: torch.baddbmm(x, x[None, :, :3], x[None], beta=n + 2, alpha=n),
}


@pytest.fixture(autouse=True)
def planned(backend: DeviceModule, device: torch.device) -> None:
    """Only on a backend that plans launches of programs."""
    torch.ones(2, device=device).exp()
    if not backend.plans().made or not backend.plans().programs:
        pytest.skip("the backend plans no programs")


@pytest.mark.parametrize("name", NUMBERS)
def test_another_number_adds_no_plan(
    backend: DeviceModule, device: torch.device, name: str
) -> None:
    call, operand = NUMBERS[name], torch.rand(3, 5, device=device)
    call(operand.clone(), 0.5)
    before = backend.plans()
    for number in (0.25, 0.75, 1e-3, -0.0, 3e-7):
        call(operand.clone(), number)
    assert backend.plans() == before


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop])
@pytest.mark.parametrize("foreach", [False, True])
def test_a_schedule_adds_no_plan(
    backend: DeviceModule, device: torch.device, optimizer: Any, foreach: bool
) -> None:
    """Nor a program: steps of training after the first ones find all that they need."""
    operand = torch.rand(3, 5, device=device)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.GELU(), torch.nn.Linear(7, 5))
    model.to(device)
    made = optimizer(model.parameters(), lr=0.1, foreach=foreach, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(made, 12)

    def step() -> None:
        made.zero_grad()
        torch.nn.functional.mse_loss(model(operand), operand).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        made.step()
        schedule.step()

    for _ in range(2):
        step()
    before = backend.plans()
    rates = set()
    for _ in range(10):
        step()
        rates.update(schedule.get_last_lr())
    assert len(rates) == 10
    assert backend.plans() == before


def loaded_code() -> int:
    """Returns how many files this process runs code of."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return sum(" r-xp " in line and "/" in line for line in maps)


@pytest.mark.parametrize(("name", "optimizer"), [("GPT", "foreach"), ("LSTM", "fused")])
def test_new_lengths_compile_nothing(
    backend: DeviceModule,
    device: torch.device,
    name: str,
    optimizer: str,
    pytestconfig: pytest.Config,
) -> None:
    """Another learning rate at each step, and sentences of 50 lengths, of which 20 come first.

    New ones are planned, and compiled for is nothing: there is no other program, and a backend that
    compiles to code of this process has loaded none. Once all were seen no more plans are kept.
    """
    steps = pytestconfig.getoption("--tbk-steps")
    size = dataclasses.replace(SMALL, length=52)
    trainer = Trainer(FAMILIES[name], device, size, optimizer=optimizer)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(trainer.made, steps)
    words, _ = FAMILIES[name].batch(size, 0)
    seen, rates = [], set()
    for number in range(steps):
        length = 2 + number * 7 % 50
        trainer.step((words[:, :length], words[:, 1 : length + 1]))
        rates.update(schedule.get_last_lr())
        schedule.step()
        seen.append(backend.plans())
        if number == 20:
            compiled = loaded_code()
    assert len(rates) == steps
    assert {plans.programs for plans in seen[20:]} == {seen[20].programs}
    assert loaded_code() == compiled
    assert seen[50].made > seen[20].made
    assert {plans.kept for plans in seen[50:]} == {seen[50].kept}


def exponentials_of_many_sizes(line: Tensor, expected: Tensor) -> None:
    for size in range(1, len(line)):
        made = line[:size].exp()
        if size % 100 == 0:
            torch.testing.assert_close(made.cpu(), expected[:size])


def test_plans_are_bounded(backend: DeviceModule, device: torch.device) -> None:
    """And found again while they are kept; what had to go is made anew, and right."""
    line = torch.linspace(0, 1, 1200, device=device)
    expected = line.cpu().exp()
    start = backend.plans()
    exponentials_of_many_sizes(line, expected)
    full = backend.plans()
    assert full.made - start.made >= 1190
    assert full.kept - start.kept <= 1024
    line[:1199].exp()
    assert backend.plans() == full
    torch.testing.assert_close(line[:3].exp().cpu(), expected[:3])
    assert backend.plans().made == full.made + 1


def test_threads_share_plans_that_come_and_go(device: torch.device) -> None:
    line = torch.linspace(0, 1, 1200, device=device)
    expected = line.cpu().exp()
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(exponentials_of_many_sizes, line, expected) for _ in range(4)]:
            done.result()
