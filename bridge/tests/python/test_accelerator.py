# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.accelerator and torch.<name> are two ways to the same device, and agree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def test_the_accelerator_is_the_backend(backend: DeviceModule) -> None:
    assert torch.accelerator.current_accelerator(check_available=True) == torch.device(
        backend.backend_name
    )
    assert torch.accelerator.is_available() == backend.is_available()
    assert torch.accelerator.device_count() == backend.device_count()
    if hasattr(torch._utils, "_is_privateuse1_backend_available"):  # 2.11 has none
        assert torch._utils._is_privateuse1_backend_available()


def test_the_current_device_is_one(backend: DeviceModule, other_device: torch.device) -> None:
    torch.accelerator.set_device_index(other_device)
    try:
        assert backend.current_device() == 1
        with torch.accelerator.device_index(0):
            assert backend.current_device() == 0
        backend.set_device(0)
        assert torch.accelerator.current_device_index() == 0
        torch.accelerator.set_device_index(-1)
        assert torch.accelerator.current_device_index() == 0
    finally:
        backend.set_device(0)


def test_the_current_stream_is_one_a_device_and_thread(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    stream = torch.Stream(other_device)
    elsewhere = []

    def look() -> None:
        elsewhere.append(torch.accelerator.current_stream(other_device))

    try:
        torch.accelerator.set_stream(stream)
        assert torch.accelerator.current_device_index() == 1, "set_stream sets the device, too"
        assert backend.current_stream() == stream
        assert backend.current_stream(device) == backend.default_stream(device)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    finally:
        backend.set_stream(backend.default_stream(other_device))
        backend.set_device(0)
    assert elsewhere == [backend.default_stream(other_device)]


def test_waiting_for_one_device_waits_for_its_streams(
    backend: DeviceModule, other_device: torch.device
) -> None:
    stream = torch.Stream(other_device)
    with backend.stream(stream):
        total = torch.ones(1 << 16, device=other_device).sum()
    torch.accelerator.synchronize(other_device)
    assert stream.query()
    assert total.item() == 1 << 16


def test_memory_figures_are_the_same(backend: DeviceModule, device: torch.device) -> None:
    x = torch.empty(1 << 16, device=device)
    assert torch.accelerator.memory_allocated(device) == backend.memory_allocated(device)
    assert torch.accelerator.memory_reserved(device) == backend.memory_reserved(device)
    assert torch.accelerator.memory_stats(device) == backend.memory_stats(device)
    assert torch.accelerator.get_memory_info(device) == backend.mem_get_info(device)
    assert backend.memory_allocated(device) >= x.nbytes


@pytest.mark.filterwarnings("ignore:ComplexHalf", "ignore:Casting complex")
def test_capability_is_of_dtypes_that_exist_on_the_device(
    backend: DeviceModule, device: torch.device
) -> None:
    dtypes = backend.get_device_capability()["supported_dtypes"]
    assert dtypes == torch.accelerator.get_device_capability(device)["supported_dtypes"]
    assert torch.float32 in dtypes
    for dtype in dtypes:
        x = torch.ones(3, device=device).to(dtype)
        assert x.to(torch.float32).tolist() == [1, 1, 1], dtype


Call = Callable[[Any, int], object]

# Every function that takes a device, with an index that no device has.
TAKES_A_DEVICE: dict[str, Call] = {
    "set_device": lambda m, i: m.set_device(i),
    "device": lambda m, i: m.device(i).__enter__(),
    "get_device_properties": lambda m, i: m.get_device_properties(i),
    "get_device_name": lambda m, i: m.get_device_name(i),
    "get_device_capability": lambda m, i: m.get_device_capability(i),
    "can_device_access_peer": lambda m, i: m.can_device_access_peer(0, i),
    "synchronize": lambda m, i: m.synchronize(i),
    "capabilities": lambda m, i: m.capabilities(i),
    "Stream": lambda m, i: m.Stream(i),
    "ExternalStream": lambda m, i: m.ExternalStream(1, i),
    "current_stream": lambda m, i: m.current_stream(i),
    "default_stream": lambda m, i: m.default_stream(i),
    "memory_stats": lambda m, i: m.memory_stats(i),
    "memory_allocated": lambda m, i: m.memory_allocated(i),
    "memory_reserved": lambda m, i: m.memory_reserved(i),
    "max_memory_allocated": lambda m, i: m.max_memory_allocated(i),
    "max_memory_reserved": lambda m, i: m.max_memory_reserved(i),
    "reset_peak_memory_stats": lambda m, i: m.reset_peak_memory_stats(i),
    "reset_accumulated_memory_stats": lambda m, i: m.reset_accumulated_memory_stats(i),
    "mem_get_info": lambda m, i: m.mem_get_info(i),
    "memory_summary": lambda m, i: m.memory_summary(i),
    "set_memory_limit": lambda m, i: m.set_memory_limit(1 << 30, i),
    "get_memory_limit": lambda m, i: m.get_memory_limit(i),
    "set_per_process_memory_fraction": lambda m, i: m.set_per_process_memory_fraction(0.5, i),
    "get_rng_state": lambda m, i: m.get_rng_state(i),
    "set_rng_state": lambda m, i: m.set_rng_state(m.get_rng_state(0), i),
    "accelerator.set_device_index": lambda _, i: torch.accelerator.set_device_index(i),
    "accelerator.device_index": lambda _, i: torch.accelerator.device_index(i).__enter__(),
    "accelerator.synchronize": lambda _, i: torch.accelerator.synchronize(i),
    "accelerator.current_stream": lambda _, i: torch.accelerator.current_stream(i),
    "accelerator.memory_stats": lambda _, i: torch.accelerator.memory_stats(i),
    "accelerator.get_memory_info": lambda _, i: torch.accelerator.get_memory_info(i),
    "torch.empty": lambda m, i: torch.empty(1, device=f"{m.backend_name}:{i}"),
    "torch.zeros": lambda m, i: torch.zeros(1, device=f"{m.backend_name}:{i}"),
    "Tensor.to": lambda m, i: torch.ones(1).to(f"{m.backend_name}:{i}"),
    "torch.Stream": lambda m, i: torch.Stream(f"{m.backend_name}:{i}"),
    "torch.Generator": lambda m, i: torch.Generator(f"{m.backend_name}:{i}"),
    "UntypedStorage": lambda m, i: torch.UntypedStorage(4, device=f"{m.backend_name}:{i}"),
}


@pytest.mark.parametrize("function", TAKES_A_DEVICE)
def test_an_index_out_of_range_is_one_clear_error(backend: DeviceModule, function: str) -> None:
    count = backend.device_count()
    for index in (count, 99):
        with pytest.raises(RuntimeError, match=f"{index}.*{backend.backend_name} has {count}"):
            TAKES_A_DEVICE[function](backend, index)


TAKES_ANY_FORM = [
    name for name in TAKES_A_DEVICE if not name.startswith(("accel", "torch", "T", "U"))
]


@pytest.mark.parametrize("function", TAKES_ANY_FORM)
def test_a_device_of_another_type_is_refused(backend: DeviceModule, function: str) -> None:
    wrong: Any = torch.device("cpu")
    with pytest.raises(ValueError, match=f"expected a device of {backend.backend_name}.*cpu"):
        TAKES_A_DEVICE[function](backend, wrong)
