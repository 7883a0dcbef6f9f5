# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Scaled gradients: GradScaler and the operator that it is made of."""

from __future__ import annotations

import math

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

BAD = {"inf": math.inf, "minus_inf": -math.inf, "nan": math.nan}


def weight_of(device: torch.device) -> tuple[torch.nn.Parameter, torch.optim.Optimizer]:
    weight = torch.nn.Parameter(host.upload(torch.ones(4), device))
    return weight, torch.optim.SGD([weight], lr=1.0)


def scaler_of(device: torch.device) -> torch.amp.GradScaler:
    return torch.amp.GradScaler(device.type, init_scale=8.0, growth_interval=2)


@clause("AMP-506")
def test_losses_are_scaled_and_gradients_unscaled(device: torch.device) -> None:
    weight, optimizer = weight_of(device)
    scaler = scaler_of(device)
    loss = scaler.scale((weight * 3).sum())
    check.tensor("scaled loss", host.download(loss), torch.tensor(96.0))
    check.equal("its device", loss.device, device)
    loss.backward()
    check.tensor("scaled gradient", host.gradient(weight), torch.full((4,), 24.0))
    scaler.unscale_(optimizer)
    check.tensor("unscaled gradient", host.gradient(weight), torch.full((4,), 3.0))
    scaler.step(optimizer)
    check.tensor("weight after a step", host.download(weight), torch.full((4,), -2.0))
    scaler.update()
    check.equal("scale after one good step", scaler.get_scale(), 8.0)


@clause("AMP-506")
def test_the_scale_grows(device: torch.device) -> None:
    weight, optimizer = weight_of(device)
    scaler = scaler_of(device)
    seen = []
    for _ in range(5):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append(scaler.get_scale())
    check.equal("scales", seen, [8.0, 16.0, 16.0, 32.0, 32.0])
    check.tensor("weight", host.download(weight), torch.full((4,), -4.0))


@pytest.mark.parametrize("name", BAD)
@clause("AMP-506")
def test_a_step_with_what_is_not_finite_is_left_out(device: torch.device, name: str) -> None:
    for at in (0, 3):
        weight, optimizer = weight_of(device)
        scaler = scaler_of(device)
        factor = torch.ones(4)
        factor[at] = BAD[name]
        scaler.scale((weight * host.upload(factor, device)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        check.tensor("weight", host.download(weight), torch.ones(4))
        check.equal("scale", scaler.get_scale(), 4.0)
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        check.tensor("weight after a good step", host.download(weight), torch.zeros(4))


@clause("AMP-506")
def test_the_scale_stays_finite(device: torch.device) -> None:
    largest = 2.0**127  # of what float32 holds
    scaler = torch.amp.GradScaler(device.type, init_scale=largest / 2, growth_interval=1)
    seen = []
    for _ in range(3):
        weight, optimizer = weight_of(device)
        scaler.scale(weight.sum() * 0).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append(scaler.get_scale())
    check.equal("scales", seen, [largest] * 3)


@clause("AMP-506")
def test_the_state_of_a_scaler_comes_back(device: torch.device) -> None:
    scaler, other = scaler_of(device), scaler_of(device)
    weight, optimizer = weight_of(device)
    scaler.scale((weight * math.inf).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    other.load_state_dict(scaler.state_dict())
    check.equal("scale", other.get_scale(), 4.0)


@clause("AMP-506", needs="two_devices")
def test_parameters_on_two_devices(device: torch.device, other_device: torch.device) -> None:
    for bad in (None, device, other_device):
        weights = [torch.nn.Parameter(host.upload(torch.ones(3), one))
                   for one in (device, other_device)]  # fmt: skip
        optimizer = torch.optim.SGD(weights, lr=1.0)
        scaler = scaler_of(device)
        for weight in weights:
            factor = host.upload(torch.ones(3), weight.device)
            if weight.device == bad:
                factor = host.upload(torch.tensor([1.0, math.inf, 1.0]), weight.device)
            scaler.scale((weight * factor).sum()).backward()
        scaler.unscale_(optimizer)
        if bad is None:
            for weight in weights:
                check.tensor("unscaled gradient", host.gradient(weight), torch.ones(3))
        scaler.step(optimizer)
        scaler.update()
        expected = torch.zeros(3) if bad is None else torch.ones(3)
        for weight in weights:
            check.equal("device of a weight", weight.device, weight.data.device)
            check.tensor(f"weight, bad on {bad}", host.download(weight), expected)
        check.equal(f"scale, bad on {bad}", scaler.get_scale(), 8.0 if bad is None else 4.0)


def unscale(tensors: list[torch.Tensor], device: torch.device) -> float:
    """Divides by 4 in place; whether something was not finite."""
    found = host.upload(torch.zeros(1), device)
    factor = host.upload(torch.full((1,), 0.25), device)
    torch._amp_foreach_non_finite_check_and_unscale_(tensors, found, factor)
    return float(host.download(found))


@clause("AMP-507")
def test_an_empty_list_is_nothing(device: torch.device) -> None:
    check.equal("found in an empty list", unscale([], device), 0.0)


@clause("AMP-507")
def test_lists_of_all_shapes_and_strides(device: torch.device) -> None:
    here = [
        host.counting((5,)), torch.tensor(8.0), torch.empty(0), host.counting((3, 4)).t(),
        host.counting((4, 6))[:, ::2],
    ]  # fmt: skip
    base = host.upload(host.counting((4, 6)), device)
    there = [host.upload(one, device) for one in here[:-1]] + [base[:, ::2]]
    check.equal("found among finite ones", unscale(there, device), 0.0)
    for index, (one, other) in enumerate(zip(there, here, strict=True)):
        check.tensor(f"tensor {index}", host.download(one), other / 4)
    check.tensor(
        "beside a strided one", host.download(base[:, 1::2]), host.counting((4, 6))[:, 1::2]
    )


@pytest.mark.parametrize("name", BAD)
@clause("AMP-507")
def test_what_was_found_stays_found(device: torch.device, name: str) -> None:
    """Gradients of one optimizer come in several lists, one for each dtype and device."""
    found = host.upload(torch.zeros(1), device)
    factor = host.upload(torch.full((1,), 0.25), device)
    lists = ([1.0, 2.0], [BAD[name], 1.0], [3.0, 4.0], [5.0])
    for values, right in zip(lists, (0.0, 1.0, 1.0, 1.0), strict=True):
        gradients = [host.upload(torch.tensor([one]), device) for one in values]
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, factor)
        check.equal(f"found, behind a list of {values}", float(host.download(found)), right)


@pytest.mark.parametrize("name", BAD)
@clause("AMP-507")
def test_what_is_not_finite_is_found_in_any_of_them(device: torch.device, name: str) -> None:
    for where in range(3):
        here = [host.counting((5,)), host.counting((2, 3)).t(), host.counting((600,))]
        here[where][tuple(length - 1 for length in here[where].shape)] = BAD[name]
        there = [host.upload(one, device) for one in here]
        check.equal(f"found in tensor {where}", unscale(there, device), 1.0)


@clause("AMP-507", needs="dtype:bfloat16 dtype:float16")
def test_lists_of_several_dtypes(device: torch.device) -> None:
    dtypes = [torch.float32, torch.bfloat16, torch.float16]
    there = [host.upload(host.counting((5,)).to(one), device) for one in dtypes]
    check.equal("found among finite ones", unscale(there, device), 0.0)
    for one, dtype in zip(there, dtypes, strict=True):
        check.tensor(
            f"a tensor of {dtype}", host.download(one), (host.counting((5,)) / 4).to(dtype)
        )
