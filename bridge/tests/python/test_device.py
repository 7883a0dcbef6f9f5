# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Devices as torch.accelerator sees them: it goes to the guard, not to the device's module."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
import torch_tbk

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Child = Callable[..., str]

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
FLOAT8 = (
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
)
DTYPES = (*INTEGERS, *UNSIGNED, *FLOATS, *COMPLEX, *FLOAT8)


def test_both_sources_agree_on_the_devices(backend: DeviceModule) -> None:
    assert torch.accelerator.current_accelerator() == torch.device(backend.backend_name)
    assert torch.accelerator.device_count() == backend.device_count() > 0
    assert torch.accelerator.is_available() is backend.is_available() is True


def test_a_new_thread_starts_on_device_0(backend: DeviceModule, other_device: torch.device) -> None:
    seen = []

    def elsewhere() -> None:
        seen.append(torch.accelerator.current_device_index())
        torch.accelerator.set_device_index(other_device.index)
        seen.append(torch.accelerator.current_device_index())

    with torch.accelerator.device_index(other_device.index):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == [0, other_device.index]
    assert torch.accelerator.current_device_index() == 0


@pytest.mark.parametrize("use", ["set", "synchronize", "capability", "stream", "empty"])
def test_an_index_out_of_range_is_refused(backend: DeviceModule, use: str) -> None:
    count = backend.device_count()
    name = backend.backend_name
    uses: dict[str, Callable[[], object]] = {
        "set": lambda: torch.accelerator.set_device_index(count),
        "synchronize": lambda: torch.accelerator.synchronize(count),
        "capability": lambda: torch.accelerator.get_device_capability(count),
        "stream": lambda: torch.accelerator.current_stream(count),
        "empty": lambda: torch.empty(1, device=f"{name}:{count}"),
    }
    with pytest.raises(RuntimeError, match=f"device index {count}: {name} has {count} device"):
        uses[use]()
    assert torch.accelerator.current_device_index() == 0


def test_a_negative_index_is_not_set(backend: DeviceModule, other_device: torch.device) -> None:
    with torch.accelerator.device_index(other_device.index):
        torch.accelerator.set_device_index(-1)
        assert torch.accelerator.current_device_index() == other_device.index


def test_no_index_means_the_current_device(
    backend: DeviceModule, other_device: torch.device
) -> None:
    made = torch.empty(1, device=backend.backend_name)
    with torch.accelerator.device_index(other_device.index):
        assert torch.empty(1, device=backend.backend_name).device == other_device
        assert torch.empty_like(made).device == made.device
        assert torch.Stream(backend.backend_name).device == other_device
    assert made.device.index == 0


def test_capability_names_the_dtypes_that_copies_convert(backend: DeviceModule) -> None:
    supported = torch.accelerator.get_device_capability(0)["supported_dtypes"]
    assert supported == set(DTYPES)
    assert backend.get_device_properties(0).dtypes <= supported


@pytest.mark.filterwarnings("ignore:ComplexHalf support", "ignore:Casting complex values")
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_every_dtype_named_converts_to_every_other(
    device: torch.device, source: torch.dtype
) -> None:
    values = torch.tensor([0, 1, 2, 4]).to(source)
    on_device = values.to(device)
    for dtype in DTYPES:
        wanted = values.to(dtype)
        seen = on_device.to(wanted.dtype)
        assert (seen.dtype, seen.device) == (wanted.dtype, device)
        assert torch.equal(seen.cpu().view(torch.uint8), wanted.view(torch.uint8)), dtype


def test_capabilities_know_every_operator_that_has_arguments(backend: DeviceModule) -> None:
    header = Path(__file__).parents[3] / "contracts" / "include" / "tbk" / "tbk_operators.h"
    names = re.findall(r'#define TBK_NAME_\w+ "(.+)"', header.read_text(encoding="utf-8"))
    assert names
    listed = [key for key in backend.capabilities() if key.startswith("kernel ")]
    assert listed == [f"kernel {name}" for name in names]


def test_an_operator_leaves_the_current_device(
    backend: DeviceModule, other_device: torch.device
) -> None:
    x = torch.arange(6.0, device=other_device, requires_grad=True)
    loss = (x * 2).sum() + x.view(2, 3).t().contiguous().sum()
    loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0] * 6
    assert x.grad.device == other_device
    assert torch.accelerator.current_device_index() == 0


def test_no_devices_leave_pytorch_as_it_was(child: Child) -> None:
    program = """
import json, sys, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options="devices=0")
def told(use):
    try:
        return str(use())
    except RuntimeError as error:
        return str(error)
seen = [module.device_count(), module.is_available(), torch.accelerator.is_available()]
seen.append(str(torch.accelerator.current_accelerator(check_available=True)))
name = module.backend_name
uses = [lambda: torch.empty(1, device=name), lambda: torch.ones(1).to(name)]
uses += [lambda: torch.Stream(name), torch.accelerator.current_stream]
torch.manual_seed(1)
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
print(json.dumps([seen, list(map(told, uses)), x.grad.tolist()]))
"""
    seen, told, gradient = json.loads(child(program, torch_tbk.reference("cpu")))
    assert seen == [0, False, False, "None"]
    assert all("has 0 devices" in text for text in told), told
    assert gradient == [2.0, 2.0]


def test_a_device_is_opened_by_its_own_use_alone(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
import json, sys, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
opened = lambda: [torch_tbk._binding.binding.is_open(i) for i in range(module.device_count())]
last = module.device_count() - 1
seen = []
torch.accelerator.set_device_index(last)
torch.accelerator.current_stream(last), torch.accelerator.current_device_index()
torch.accelerator.get_device_capability(last), torch.accelerator.synchronize(last)
torch.accelerator.current_stream(last).synchronize(), torch.accelerator.current_stream(last).query()
torch.accelerator.set_stream(torch.accelerator.current_stream(last))
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
seen.append(opened())
torch.empty(1, device=f"{module.backend_name}:{last}")
seen.append(opened())
print(json.dumps(seen))
"""
    before, after = json.loads(child(program, library, backend_options))
    assert not any(before)
    assert after == [False] * (len(after) - 1) + [True]


@pytest.mark.parametrize(
    ("mutant", "expected"),
    [
        ("driver_overwritten", ["the driver of device 0", "the driver of device 1"]),
        ("driver_of_1024_bytes", ["d" * 1023] * 2),
        ("driver_empty", ["", ""]),
    ],
)
def test_properties_name_the_driver_of_each_device(
    child: Callable[..., str], mutant: str, expected: list[str]
) -> None:
    program = """
import json, sys
import torch, torch_tbk
module = getattr(torch, torch_tbk.load(sys.argv[1], options=f"mutant={sys.argv[2]}").backend_name)
print(json.dumps([module.get_device_properties(index).driver for index in range(2)]))
"""
    assert json.loads(child(program, torch_tbk.reference("mutants"), mutant)) == expected
