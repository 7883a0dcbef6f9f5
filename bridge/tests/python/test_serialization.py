# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.save and torch.load, pickle and copies, across devices and to the host."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch


def saved(value: object, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("zipped", [True, False])
def test_a_tensor_comes_back_where_it_was(device: torch.device, zipped: bool) -> None:
    for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.bool, torch.complex64):
        host = torch.arange(6).reshape(2, 3).to(dtype)
        file = saved(host.to(device), _use_new_zipfile_serialization=zipped)
        loaded = torch.load(file, weights_only=True)
        assert (loaded.device, loaded.dtype) == (device, dtype)
        assert torch.equal(loaded.cpu(), host)


@pytest.mark.parametrize("where", ["a string", "a device", "a table", "a function"])
def test_map_location(device: torch.device, other_device: torch.device, where: str) -> None:
    host = torch.arange(4.0)
    for target in (torch.device("cpu"), device, other_device):
        location: Any = {
            "a string": str(target),
            "a device": target,
            "a table": {str(other_device): str(target)},
            "a function": lambda storage, _, to=target: (
                storage if to.type == "cpu" else storage.to(device=to)
            ),
        }[where]
        loaded = torch.load(saved(host.to(other_device)), map_location=location)
        assert loaded.device == target
        assert torch.equal(loaded.cpu(), host)


def test_what_the_host_saved_is_loaded_here(device: torch.device) -> None:
    loaded = torch.load(saved(torch.arange(4.0)), map_location=device)
    assert loaded.device == device
    assert loaded.tolist() == [0, 1, 2, 3]


def test_a_device_that_is_not_there_is_refused(device: torch.device) -> None:
    file = saved(torch.ones(2, device=device))
    with pytest.raises(RuntimeError, match="99"):
        torch.load(file, map_location=f"{device.type}:99")


def test_what_is_shared_stays_shared(device: torch.device) -> None:
    base = torch.arange(6.0, device=device)
    loaded = torch.load(saved([base, base.view(2, 3).t()]), weights_only=True)
    loaded[0][1] = 50
    assert loaded[1].tolist() == [[0, 3], [50, 4], [2, 5]]
    assert loaded[1].stride() == (1, 3)


def test_pickle(device: torch.device) -> None:
    tensor = torch.arange(6.0, device=device).reshape(2, 3)
    for value in (tensor, tensor.t(), torch.nn.Parameter(tensor), tensor[1, 1:]):
        back = pickle.loads(pickle.dumps(value))  # noqa: S301
        assert type(back) is type(value)
        assert (back.device, back.requires_grad) == (device, value.requires_grad)
        assert back.stride() == value.stride()
        assert torch.equal(back.detach().cpu(), value.detach().cpu())


def train(device: torch.device) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.rand(8, 4).to(device)).square().sum().backward()
    optimizer.step()
    return model, optimizer


def test_the_state_of_a_model_in_training(device: torch.device) -> None:
    model, optimizer = train(device)
    file = saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    fresh, fresh_optimizer = train(device)
    state = torch.load(file, weights_only=True, map_location="cpu")
    fresh.load_state_dict(state["model"])
    fresh_optimizer.load_state_dict(state["optimizer"])
    for one, other in zip(model.state_dict().values(), fresh.state_dict().values(), strict=True):
        assert other.device == device
        assert torch.equal(one.cpu(), other.cpu())
    for parameter in fresh.parameters():
        assert fresh_optimizer.state[parameter]["exp_avg"].device == device


def test_a_deep_copy_of_a_model(device: torch.device) -> None:
    model, _ = train(device)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        next(model.parameters()).zero_()
    assert next(twin.parameters()).device == device
    assert next(twin.parameters()).detach().cpu().abs().sum() > 0
