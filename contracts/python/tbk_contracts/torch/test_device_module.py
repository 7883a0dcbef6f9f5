# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a device says it can do, and its name in PyTorch."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def claimed(device: torch.device) -> list[torch.dtype]:
    """Returns the dtypes that the device says it supports, in a fixed order."""
    capability = torch.accelerator.get_device_capability(device)
    dtypes: set[torch.dtype] = capability["supported_dtypes"]
    return sorted(dtypes, key=str)


PARTS = 4  # of all pairs of dtypes: a device may take half a second for each that is new to it


@pytest.mark.parametrize("part", range(PARTS))
@clause("DEV-523", needs="accelerator capability_query")
def test_each_dtype_reported_can_be_converted_to_each_other(
    device: torch.device, part: int
) -> None:
    dtypes = claimed(device)
    check.that("supported_dtypes", torch.float32 in dtypes,
               expected="float32 among them", seen=dtypes)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex32 is experimental; an imaginary part is dropped
        ones = {dtype: torch.ones(3).to(dtype) for dtype in dtypes}  # 1 is a value of each dtype
        there = {dtype: host.upload(ones[dtype], device) for dtype in dtypes}
        for source, target in itertools.product(dtypes[part::PARTS], dtypes):
            made = there[source].to(target)
            check.equal("the dtype of a conversion", made.dtype, target)
            check.tensor("ones of a dtype, converted to another", host.download(made), ones[target])


@clause("DEV-524", needs="accelerator module capability_query")
def test_the_capability_of_a_device_that_does_not_exist_is_refused(module: Any) -> None:
    ask = torch.accelerator.get_device_capability
    for other in ("cpu", "meta:0"):
        check.raises("the capability of another device type", (ValueError, RuntimeError),
                     partial(ask, torch.device(other)))  # fmt: skip
    for index in (module.device_count(), 99):
        check.raises("the capability of a device beyond the count", (ValueError, RuntimeError),
                     partial(ask, index))  # fmt: skip


@clause("DEV-525", needs="accelerator two_devices capability_query")
def test_the_capability_is_that_of_the_device_asked_for(devices: list[torch.device]) -> None:
    for device in devices:
        for dtype in claimed(device):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # complex32 is experimental
                sent = torch.ones(3).to(dtype)
                seen = host.download(host.upload(sent, device))
            check.tensor("a dtype that the device claims", seen, sent)


@clause("DEV-526", needs="privateuse1")
def test_the_name_can_be_given_again_but_not_changed(device: torch.device) -> None:
    rename = torch.utils.backend_registration.rename_privateuse1_backend
    rename(device.type)
    check.raises("another name", RuntimeError, lambda: rename("tbk_another_name"))
    check.equal("the name", torch._C._get_privateuse1_backend_name(), device.type)
    check.equal("the type of a tensor", torch.empty(1, device=device).device.type, device.type)


@clause("DEV-527", needs="privateuse1")
def test_a_second_device_module_is_refused(device: torch.device, module: Any) -> None:
    other = type(sys)("another")
    check.raises("a second module", RuntimeError,
                 lambda: torch._register_device_module(device.type, other))  # fmt: skip
    check.that("the device module", torch.get_device_module(device) is module,
               expected="the first one", seen=torch.get_device_module(device))  # fmt: skip
    check.that("the attribute of torch", getattr(torch, device.type) is module,
               expected="the first one", seen=getattr(torch, device.type))  # fmt: skip


@clause("DEV-530", needs="privateuse1")
def test_the_renamed_backend_is_the_accelerator(device: torch.device) -> None:
    for checked in (False, True):
        answer = torch.accelerator.current_accelerator(check_available=checked)
        check.equal("torch.accelerator.current_accelerator()", answer, torch.device(device.type))
    check.equal("the type of the current stream's device",
                torch.accelerator.current_stream().device.type, device.type)  # fmt: skip


@clause("DEV-531", needs="privateuse1")
def test_tensor_module_and_packed_sequence_have_the_methods_of_the_name(
    devices: list[torch.device],
) -> None:
    name = devices[0].type
    for device in devices:
        sent = host.values((4, 3))
        there = getattr(sent, name)(device.index)
        check.equal("Tensor.<name>(index): the device", there.device, device)
        check.equal("Tensor.is_<name>", getattr(there, f"is_{name}"), True)
        check.equal("Tensor.is_<name> of a tensor on the CPU", getattr(sent, f"is_{name}"), False)
        check.tensor("Tensor.<name>(index): the values", host.download(there), sent)

        linear = torch.nn.Linear(3, 2)
        weight = linear.weight.detach().clone()
        getattr(linear, name)(device.index)
        check.equal("Module.<name>(index): the device", linear.weight.device, device)
        check.tensor("Module.<name>(index): the values", host.download(linear.weight), weight)

        lengths = torch.tensor([2, 1, 1, 1])
        packed = torch.nn.utils.rnn.pack_padded_sequence(sent.reshape(4, 3, 1), lengths, True)
        moved = getattr(packed, name)(device.index)
        check.equal("PackedSequence.<name>(index): the device", moved.data.device, device)
        check.equal("PackedSequence.is_<name>", getattr(moved, f"is_{name}"), True)
        check.equal("PackedSequence.is_<name> of one on the CPU",
                    getattr(packed, f"is_{name}"), False)  # fmt: skip
        check.tensor("PackedSequence.<name>(index): the values",
                     host.download(moved.data), packed.data)  # fmt: skip


def after_import_torch(name: str, autoload: str | None) -> subprocess.CompletedProcess[str]:
    """Returns what a process says that imports PyTorch, nothing else, and uses the device."""
    environment = {key: value for key, value in os.environ.items() if key != AUTOLOAD}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    if autoload is not None:
        environment[AUTOLOAD] = autoload
    program = f"import torch; print(torch.ones(3).to({name!r}).to('cpu').tolist())"
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@clause("DEV-532", needs="autoload")
def test_import_torch_alone_makes_the_device_usable(device: torch.device) -> None:
    for value in (None, "1"):
        ran = after_import_torch(device.type, value)
        check.equal(f"what a process prints with {AUTOLOAD}={value}",
                    (ran.returncode, ran.stdout.strip()), (0, "[1.0, 1.0, 1.0]"))  # fmt: skip
    ran = after_import_torch(device.type, "0")
    check.that(f"the device with {AUTOLOAD}=0", ran.returncode != 0 and device.type in ran.stderr,
               expected="an error that names it", seen=ran.stdout + ran.stderr)  # fmt: skip
