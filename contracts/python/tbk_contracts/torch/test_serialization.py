# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is saved comes back: by torch.save, pickle and copies, here, on the host and elsewhere."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype

FORMATS = {"zip": True, "legacy": False}
ALONE = """
import json, sys, torch
loaded = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
print(json.dumps([str(loaded["x"].device), loaded["x"].tolist(), loaded["view"].tolist()]))
"""


def saved(value: object, zipped: bool = True) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return file


def there_and_back(value: Any, zipped: bool = True) -> Any:
    return torch.load(saved(value, zipped), weights_only=True)


def check_same(what: str, seen: torch.Tensor, old: torch.Tensor) -> None:
    """All that a tensor has but its memory."""
    check.equal(f"{what}: device", seen.device, old.device)
    check.equal(f"{what}: strides", seen.stride(), old.stride())
    check.equal(f"{what}: offset", seen.storage_offset(), old.storage_offset())
    check.equal(f"{what}: requires_grad", seen.requires_grad, old.requires_grad)
    check.equal(f"{what}: type", type(seen), type(old))
    check.tensor(what, host.download(seen), host.download(old))


@each_dtype()
@clause("SER-501")
def test_values_come_back(device: torch.device, dtype: torch.dtype) -> None:
    for shape in ((3, 5), (), (0, 2)):
        old = host.upload(host.values(shape, dtype), device)
        check_same(f"{shape}", there_and_back(old), old)


@pytest.mark.parametrize("count", [1023, 1 << 16, (1 << 16) + 1, (1 << 20) + 3])
@pytest.mark.parametrize("name", FORMATS)
@clause("SER-501")
def test_any_size_comes_back(
    devices: list[torch.device], tmp_path: Path, name: str, count: int
) -> None:
    """By way of memory and of a file, from the first device and from the last."""
    for device in {devices[0], devices[-1]}:
        old = host.upload(host.counting((count,)), device)
        held = {"whole": old, "its last elements": old[-7:]}
        torch.save(held, tmp_path / "held", _use_new_zipfile_serialization=FORMATS[name])
        loaded = torch.load(tmp_path / "held", weights_only=True)
        for what, back in (*there_and_back(held, FORMATS[name]).items(), *loaded.items()):
            check_same(what, back, held[what])


@pytest.mark.parametrize("name", FORMATS)
@clause("SER-501")
def test_strides_and_offsets_come_back(device: torch.device, name: str) -> None:
    base = host.upload(host.values((6, 8)), device)
    tensors = {
        "transposed": base.t(),
        "a part": base[1:4, 2::3],
        "expanded": base[0].expand(3, 8),
        "a parameter": torch.nn.Parameter(base),
        "a leaf": base.clone().requires_grad_(),
    }
    for what, old in tensors.items():
        check_same(what, there_and_back(old, FORMATS[name]), old)


@pytest.mark.parametrize("name", FORMATS)
@clause("SER-501")
def test_what_is_shared_stays_shared(device: torch.device, name: str) -> None:
    base = host.upload(host.counting((6,)), device)
    loaded = there_and_back([base, base.view(2, 3).t(), base.clone()], FORMATS[name])
    loaded[0].copy_(torch.full((6,), 50.0))
    check.tensor("a view", host.download(loaded[1]), torch.full((3, 2), 50.0))
    check.tensor("one apart", host.download(loaded[2]), host.counting((6,)))
    check.tensor("the original", host.download(base), host.counting((6,)))


@clause("SER-501", needs="dtype:complex64")
def test_flagged_views_come_back(device: torch.device) -> None:
    old = host.upload(host.values((2, 3), torch.complex64), device)
    for what, view in (("conjugate", old.conj()), ("negative", old.conj().imag)):
        loaded = there_and_back(view)
        check.equal(f"{what}: flags", [loaded.is_conj(), loaded.is_neg()],
                    [view.is_conj(), view.is_neg()])  # fmt: skip
        check.tensor(what, host.download(loaded.resolve_conj().resolve_neg()),
                     host.download(view.resolve_conj().resolve_neg()))  # fmt: skip


def location_of(value: object) -> list[str]:
    seen: list[str] = []

    def note(storage: Any, location: str) -> Any:
        seen.append(location)
        return storage

    torch.load(saved(value), map_location=note, weights_only=True)
    return seen


@clause("SER-502")
def test_the_location_is_name_and_index(device: torch.device) -> None:
    tensor = host.upload(host.counting((3,)), device)
    check.equal("location", location_of(tensor), [str(device)])
    tag = torch.serialization.location_tag(tensor.untyped_storage())
    check.equal("location_tag", tag, str(device))


@clause("SER-502", needs="two_devices")
def test_the_location_tells_devices_apart(devices: list[torch.device]) -> None:
    for one in devices:
        check.equal("location", location_of(host.upload(host.counting((3,)), one)), [str(one)])


Mapping = Callable[[torch.device, torch.device], Any]
MAPPINGS: dict[str, Mapping] = {
    "a_string": lambda old, new: str(new),
    "a_device": lambda old, new: new,
    "a_dict": lambda old, new: {str(old): str(new)},
    "a_function": lambda old, new: (
        lambda storage, location: storage if new.type == "cpu" else storage.to(device=new)
    ),
}


def check_mapping(old: torch.device, new: torch.device, mapping: Mapping) -> None:
    values = host.values((3, 4))
    base = host.upload(values, old)
    for zipped in FORMATS.values():
        file = saved([base, base.t()], zipped)
        loaded = torch.load(file, map_location=mapping(old, new), weights_only=True)
        check.equal(f"devices from {old}", [one.device for one in loaded], [new, new])
        check.tensor("values", host.download(loaded[0]), values)
        loaded[1].copy_(torch.zeros(4, 3))
        check.tensor("shared memory, written", host.download(loaded[0]), torch.zeros(3, 4))


@pytest.mark.parametrize("name", MAPPINGS)
@clause("SER-503")
def test_map_location_between_host_and_device(device: torch.device, name: str) -> None:
    for old, new in (
        (device, torch.device("cpu")),
        (torch.device("cpu"), device),
        (device, device),
    ):
        if name != "a_function" or device.type != "cpu":
            check_mapping(old, new, MAPPINGS[name])
        else:
            check_mapping(old, old, MAPPINGS[name])


@pytest.mark.parametrize("name", MAPPINGS)
@clause("SER-503", needs="two_devices")
def test_map_location_between_devices(
    device: torch.device, other_device: torch.device, name: str
) -> None:
    check_mapping(device, other_device, MAPPINGS[name])
    check_mapping(other_device, device, MAPPINGS[name])
    current = torch.accelerator.current_device_index()
    check.equal("current device afterwards", current, device.index)


@clause("SER-503", needs="two_devices")
def test_without_a_map_it_comes_back_where_it_was(devices: list[torch.device]) -> None:
    for one in devices:
        old = host.upload(host.values((3,)), one)
        check_same(f"on {one}", there_and_back(old), old)


@clause("SER-504", needs="module")
def test_a_device_that_is_not_there_is_refused(device: torch.device, module: Any) -> None:
    file = saved(host.upload(host.counting((2,)), device))
    for index in (module.device_count(), 99):
        file.seek(0)
        where = f"{device.type}:{index}"
        load = partial(torch.load, file, map_location=where, weights_only=True)
        raised = check.raises(f"index {index}", RuntimeError, load)
        told = str(index) in str(raised)
        check.that("the message names the index", told, expected=index, seen=str(raised))


@clause("SER-505", slow=True)
def test_a_file_loads_where_the_backend_is_not(device: torch.device, tmp_path: Path) -> None:
    base = host.upload(host.counting((2, 3)), device)
    file = tmp_path / "saved.pt"
    torch.save({"x": base, "view": base.t()[1]}, file)
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALONE, str(file)], env=environment, check=False,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    check.that("exit code", ran.returncode == 0, expected=0, seen=ran.stderr[-300:])
    expected = ["cpu", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [1.0, 4.0]]
    check.equal("what it says", json.loads(ran.stdout), expected)


@clause("SER-507")
def test_a_deep_copy_is_apart(device: torch.device) -> None:
    values = host.values((3, 4))
    base = host.upload(values, device)
    views = [base, base.t(), torch.nn.Parameter(base)]
    twins = copy.deepcopy(views)
    for twin, old in zip(twins, views, strict=True):
        check_same("a deep copy", twin, old)
    base.copy_(torch.zeros(3, 4))
    check.tensor("it after the original was written", host.download(twins[0]), values)
    twins[0].copy_(torch.ones(3, 4))
    check.tensor("its own view", host.download(twins[1]), torch.ones(4, 3))
    check.tensor("the original", host.download(base), torch.zeros(3, 4))


@clause("SER-507")
def test_a_deep_copy_has_a_gradient_of_its_own(device: torch.device) -> None:
    values, gradient = host.values((3, 4)), host.values((3, 4))
    old = host.upload(values, device).requires_grad_()
    old.grad = host.upload(gradient, device)
    twin = copy.deepcopy(old)
    check_same("a deep copy of a leaf", twin, old)
    check.equal("it has a gradient", twin.grad is not None, True)
    check.tensor("its gradient", host.gradient(twin), gradient)
    old.grad.copy_(torch.zeros(3, 4))
    check.tensor("its gradient after the first one was written", host.gradient(twin), gradient)


@clause("SER-507")
def test_a_deep_copy_of_a_module(device: torch.device) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).to(device)
    before = [host.download(one) for one in model.state_dict().values()]
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.full(parameter.shape, 7.0))
    for one, old in zip(twin.state_dict().values(), before, strict=True):
        check.equal("device", one.device, device)
        check.tensor("a tensor of the copy", host.download(one), old)


@clause("SER-507")
def test_pickles_come_back(device: torch.device) -> None:
    base = host.upload(host.values((3, 4)), device)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        for old in (base, base.t(), base[1, 1:], torch.nn.Parameter(base)):
            back = pickle.loads(pickle.dumps(old, protocol))  # noqa: S301  # made here
            check_same(f"protocol {protocol}", back, old)


@clause("SER-507")
def test_weights_only_takes_a_state_dict(device: torch.device) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).to(device)
    loaded = there_and_back(model.state_dict())
    for name, old in model.state_dict().items():
        check_same(name, loaded[name], old)
