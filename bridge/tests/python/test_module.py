# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.<name>: the module itself, devices, generated methods, and what is saved."""

from __future__ import annotations

import copy
import importlib
import io
import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_tbk

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

# What PyTorch and its libraries look for in a device's module, by name.
CALLED_BY_PYTORCH = """
    is_available is_initialized init _lazy_init _lazy_call _is_in_bad_fork device_count
    current_device set_device device device_of synchronize get_device_name get_device_properties
    get_device_capability Stream Event stream current_stream default_stream set_stream
    manual_seed manual_seed_all seed seed_all initial_seed get_rng_state get_rng_state_all
    set_rng_state set_rng_state_all default_generators get_amp_supported_dtype is_bf16_supported
    memory_allocated memory_reserved memory_stats max_memory_allocated max_memory_reserved
    reset_peak_memory_stats empty_cache mem_get_info memory_summary _utils amp random memory
    _exchange_device _maybe_exchange_device
""".split()  # noqa: SIM905


@pytest.mark.parametrize("attribute", CALLED_BY_PYTORCH)
def test_it_has_what_pytorch_looks_for(backend: DeviceModule, attribute: str) -> None:
    assert hasattr(backend, attribute)
    assert attribute in dir(backend)


def test_it_is_a_module_of_torch(backend: DeviceModule) -> None:
    name = backend.backend_name
    assert getattr(torch, name) is backend
    assert torch.get_device_module(name) is backend
    assert importlib.import_module(f"torch.{name}") is backend
    assert importlib.import_module(f"torch.{name}.random") is backend.random
    assert torch.utils.backend_registration._privateuse1_backend_name == name
    assert {"Stream", "synchronize", "backend_version"} <= set(backend.__all__)


def test_the_current_device_is_the_threads_own(
    backend: DeviceModule, other_device: torch.device
) -> None:
    seen = []
    backend.set_device(other_device)
    try:
        thread = threading.Thread(target=lambda: seen.append(backend.current_device()))
        thread.start()
        thread.join()
        assert torch.empty(1, device=other_device.type).device == other_device
    finally:
        backend.set_device(0)
    assert seen == [0]


@pytest.mark.parametrize("form", ["index", "string", "device"])
def test_device_takes_every_form_and_restores(
    backend: DeviceModule, other_device: torch.device, form: str
) -> None:
    forms: dict[str, Any] = {"index": 1, "string": str(other_device), "device": other_device}
    with pytest.raises(KeyError), backend.device(forms[form]):  # noqa: PT012
        assert backend.current_device() == 1
        with backend.device(0):
            assert backend.current_device() == 0
        assert backend.current_device() == 1
        raise KeyError
    assert backend.current_device() == 0


@pytest.mark.parametrize("nothing", [None, -1])
def test_device_of_nothing_changes_nothing(backend: DeviceModule, nothing: int | None) -> None:
    with backend.device(nothing):
        assert backend.current_device() == 0


def test_device_of_follows_the_tensor(backend: DeviceModule, other_device: torch.device) -> None:
    with backend.device_of(torch.empty(1, device=other_device)):
        assert backend.current_device() == 1
    with backend.device_of(torch.empty(1)):
        assert backend.current_device() == 0


def test_a_negative_device_is_not_set(backend: DeviceModule) -> None:
    backend.set_device(-1)
    assert backend.current_device() == 0


def test_properties_are_frozen_and_can_be_pickled(backend: DeviceModule) -> None:
    properties = backend.get_device_properties(0)
    assert properties == backend.get_device_properties(backend.backend_name)
    assert properties.name == backend.get_device_name()
    assert properties.memory_alignment >= 16
    assert properties.memory_alignment % properties.copy_granularity == 0
    assert all(isinstance(dtype, torch.dtype) for dtype in properties.dtypes)
    least, greatest = properties.priority_range
    assert greatest <= 0 <= least
    with pytest.raises(AttributeError):
        properties.name = "another"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(properties)) == properties  # noqa: S301
    assert copy.deepcopy(properties) == properties


def test_every_capability_says_who(backend: DeviceModule) -> None:
    rows = backend.capabilities()
    assert {"streams", "events", "pinned memory", "random bits"} <= set(rows)
    assert {row.source for row in rows.values()} <= {"native", "bridge", "none"}
    assert any(feature.startswith("kernel ") for feature in rows)


# What a backend is asked where it serves the feature.
ASKED = {
    "streams": {"stream_create"},
    "stream priorities": {"stream_create"},
    "stream to native handle": {"stream_native_handle"},
    "stream from native handle": {"stream_from_native"},
    "events": {"event_record"},
    "event timing": {"event_elapsed"},
    "waits across devices": {"event_wait"},
    "fill": {"fill"},
    "copies of any byte": {"upload"},
    "copies between devices": {"peer_copy"},
    "pinned memory": {"pinned_alloc"},
    "memory info": {"memory_info"},
}
PROPERTIES = {"flat addresses", "host-visible memory"}
ASK = """
import json, sys
from pathlib import Path
import torch, torch_tbk
from faults import Faulty
from faults_child import program

module = torch_tbk.load(sys.argv[1], options=f"inner={sys.argv[2]}")
faulty = Faulty(Path(sys.argv[1]))
program(torch.device(module.backend_name, 0), module)
calls = {name: faulty.calls(name) for name in faulty.names()}
native = [name for name, row in module.capabilities().items() if row.source == "native"]
print(json.dumps([native, [name for name, count in calls.items() if count]]))
"""


def test_what_is_said_to_be_native_is_used(child: Callable[..., str], library: Path) -> None:
    """And what the bridge does itself is not, whatever the backend has for it."""
    faulty = torch_tbk.reference("cpu").parent / "bridge_tests" / "libfaulty.so"
    said = child(ASK, faulty, library, PYTHONPATH=str(Path(__file__).parent))
    native, called = json.loads(said)
    for feature in set(native) - PROPERTIES:
        wanted = {"launch", "launch_plan"} if feature.startswith("kernel ") else ASKED[feature]
        assert wanted & set(called), feature


def test_peer_access_is_answered_for_every_pair(backend: DeviceModule) -> None:
    indices = range(backend.device_count())
    table = {(a, b): backend.can_device_access_peer(a, b) for a in indices for b in indices}
    assert not any(table[index, index] for index in indices)
    assert all(isinstance(can, bool) for can in table.values())


def test_tensors_move_by_method(backend: DeviceModule, other_device: torch.device) -> None:
    name = backend.backend_name
    x = torch.arange(3)
    moved, far = getattr(x, name)(), getattr(x, name)(1)
    assert (moved.device.index, far.device) == (0, other_device)
    assert getattr(moved, f"is_{name}")
    assert not getattr(x, f"is_{name}")
    assert far.cpu().tolist() == [0, 1, 2]


def test_modules_move_by_method(backend: DeviceModule, device: torch.device) -> None:
    layer = getattr(torch.nn.Linear(2, 2), backend.backend_name)()
    assert {parameter.device for parameter in layer.parameters()} == {device}


def test_packed_sequences_move_by_method(backend: DeviceModule, device: torch.device) -> None:
    name = backend.backend_name
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 1), torch.ones(2, 1)])
    moved = getattr(packed, name)()
    assert moved.data.device == device
    assert getattr(moved, f"is_{name}")


def test_storages_move_by_method(backend: DeviceModule, device: torch.device) -> None:
    name = backend.backend_name
    storage = torch.arange(3, dtype=torch.uint8).untyped_storage()
    moved = getattr(storage, name)()
    assert moved.device == device
    assert getattr(moved, f"is_{name}")
    assert list(moved.cpu()) == [0, 1, 2]


def test_a_checkpoint_comes_back_where_it_was(
    backend: DeviceModule, other_device: torch.device
) -> None:
    file = io.BytesIO()
    torch.save(torch.arange(3, device=other_device), file)
    first = f"{other_device.type}:0"
    for location, wanted in ((None, str(other_device)), ("cpu", "cpu"), (first, first)):
        file.seek(0)
        back = torch.load(file, map_location=location)
        assert str(back.device) == wanted
        assert back.tolist() == [0, 1, 2]
    file.seek(0)
    with backend.device(1):
        assert torch.load(file, map_location=other_device.type).device == other_device
