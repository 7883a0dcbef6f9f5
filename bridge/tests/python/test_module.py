# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.<name>: devices, streams, memory, random numbers, AMP, fallback."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

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


# ---- devices


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


def test_peer_access_is_answered_for_every_pair(backend: DeviceModule) -> None:
    indices = range(backend.device_count())
    table = {(a, b): backend.can_device_access_peer(a, b) for a in indices for b in indices}
    assert not any(table[index, index] for index in indices)
    assert all(isinstance(can, bool) for can in table.values())


# ---- streams and events


def test_streams_are_pytorchs_own(backend: DeviceModule, device: torch.device) -> None:
    for stream in (backend.Stream(), torch.Stream(device), backend.current_stream()):
        assert isinstance(stream, torch.Stream)
        assert isinstance(stream, backend.Stream)
        assert not isinstance(stream, backend.ExternalStream)
        assert stream.device == device
    assert not isinstance(device, backend.Stream)
    assert backend.default_stream() == backend.current_stream()
    assert backend.Stream(stream_id=0, device_index=0, device_type=20) == backend.default_stream()


def test_events_are_pytorchs_own(backend: DeviceModule, device: torch.device) -> None:
    for event in (backend.Event(), torch.Event(device)):
        assert isinstance(event, torch.Event)
        assert isinstance(event, backend.Event)
        assert event.query(), "nothing was recorded"
    with pytest.raises(NotImplementedError, match="between processes"):
        backend.Event(interprocess=True)


def test_events_measure_time(backend: DeviceModule) -> None:
    start, end = backend.Event(enable_timing=True), backend.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    stream = backend.Stream()
    stream.wait_event(stream.record_event(end))
    stream.wait_stream(backend.current_stream())
    start.record(stream)
    start.wait(backend.Stream())
    stream.synchronize()
    assert start.query()


def test_a_stream_context_restores_stream_and_device(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    here, there = backend.Stream(), backend.Stream(other_device)
    context = backend.stream(there)
    with backend.stream(here), context as entered:
        assert entered is there
        assert backend.current_device() == 1
        assert backend.current_stream() == there
        assert backend.current_stream(device) == here
        with context:
            assert backend.current_stream() == there
        assert backend.current_device() == 1
    assert backend.current_device() == 0
    assert backend.current_stream(other_device) == backend.default_stream(other_device)
    assert backend.current_stream(device) == backend.default_stream(device)


def test_a_stream_context_switches_the_device_for_a_stream_that_is_current_already(
    backend: DeviceModule, other_device: torch.device
) -> None:
    with backend.stream(backend.default_stream(other_device)):
        assert backend.current_device() == other_device.index
    assert backend.current_device() == 0


def test_no_stream_is_no_change(backend: DeviceModule) -> None:
    before = backend.current_stream()
    backend.set_stream(None)
    with backend.stream(None):
        assert backend.current_stream() == before


def test_priorities_out_of_range_are_clamped(backend: DeviceModule) -> None:
    least, greatest = backend.Stream.priority_range()
    for priority in (greatest - 100, greatest, 0, least, least + 100):
        backend.Stream(priority=priority).synchronize()


def test_an_external_stream_stands_for_the_queue_it_wraps(backend: DeviceModule) -> None:
    can = backend.capabilities()
    stream = backend.Stream()
    if can["stream to native handle"].source == "none":
        with pytest.raises(NotImplementedError):
            stream.native_handle  # noqa: B018
        with pytest.raises(NotImplementedError):
            backend.ExternalStream(1)
        return
    external = backend.ExternalStream(stream.native_handle)
    assert isinstance(external, backend.ExternalStream)
    assert external.native_handle == stream.native_handle
    with external:
        x = torch.arange(8.0, device=external.device) * 2
    external.synchronize()
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


# ---- memory


def test_memory_is_counted_and_given_back(backend: DeviceModule, device: torch.device) -> None:
    before = backend.memory_allocated()
    backend.reset_peak_memory_stats()
    x = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    inside = backend.memory_allocated() - before
    assert inside >= 1 << 20
    assert backend.memory_reserved() >= backend.memory_allocated()
    del x
    assert backend.memory_allocated() == before
    assert backend.max_memory_allocated() == before + inside
    assert backend.memory_stats()["allocation.all.current"] >= 0
    assert "reserved" in backend.memory_summary()
    held = backend.memory_reserved()
    backend.empty_cache()
    assert backend.memory_reserved() <= held


def test_a_limit_ends_in_out_of_memory(backend: DeviceModule, device: torch.device) -> None:
    backend.empty_cache()
    limit = backend.memory_reserved() + (8 << 20)
    backend.set_memory_limit(limit)
    try:
        assert backend.get_memory_limit() == limit
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(9 << 20, dtype=torch.uint8, device=device)
        torch.empty(1 << 20, dtype=torch.uint8, device=device)
    finally:
        backend.set_memory_limit(None)
    assert backend.get_memory_limit() is None


def test_a_fraction_is_a_limit_in_bytes(backend: DeviceModule) -> None:
    total = backend.get_device_properties().total_memory or backend.mem_get_info()[1]
    backend.set_per_process_memory_fraction(0.5)
    try:
        assert backend.get_memory_limit() == total // 2
    finally:
        backend.set_memory_limit(None)
    for fraction in (0, -1, 1.5):
        with pytest.raises(ValueError, match="at most 1"):
            backend.set_per_process_memory_fraction(fraction)
    with pytest.raises(ValueError, match="positive"):
        backend.set_memory_limit(0)


def test_memory_info_agrees_with_the_properties(backend: DeviceModule) -> None:
    free, total = backend.mem_get_info()
    assert 0 <= free <= total
    assert backend.get_device_properties().total_memory in (0, total)


def test_pinned_memory_is_counted_where_there_is_any(
    backend: DeviceModule, device: torch.device
) -> None:
    if backend.capabilities()["pinned memory"].source == "none":
        with pytest.raises(NotImplementedError):
            torch.ones(4).pin_memory()
        return
    backend.empty_host_cache()
    before = backend.host_memory_stats()["active_requests.current"]
    pinned = torch.ones(4).pin_memory()
    assert pinned.is_pinned()
    assert backend.host_memory_stats()["active_requests.current"] == before + 1


# ---- random numbers


def test_each_device_has_a_generator_of_its_own(backend: DeviceModule) -> None:
    generators = backend.default_generators
    assert len(generators) == backend.device_count()
    assert [generator.device.index for generator in generators] == list(range(len(generators)))
    assert generators[0] is backend.default_generators[0]


def test_a_seed_repeats_the_numbers(backend: DeviceModule, device: torch.device) -> None:
    def draw() -> list[float]:
        numbers: list[float] = torch.rand(7, device=device).tolist()
        return numbers

    torch.manual_seed(5)
    first = draw()
    state = backend.get_rng_state()
    second = draw()
    assert first != second
    backend.manual_seed(5)
    assert (backend.initial_seed(), draw()) == (5, first)
    backend.set_rng_state(state)
    assert draw() == second
    backend.seed_all()
    assert draw() not in (first, second)


def test_states_of_all_devices_go_round(backend: DeviceModule) -> None:
    backend.manual_seed_all(11)
    states = backend.get_rng_state_all()
    assert len(states) == backend.device_count()
    assert all(state.device.type == "cpu" for state in states)
    backend.seed()
    assert not torch.equal(backend.get_rng_state(), states[0])
    backend.set_rng_state_all(states)
    assert all(map(torch.equal, backend.get_rng_state_all(), states))


def test_fork_rng_leaves_the_state_as_it_was(backend: DeviceModule, device: torch.device) -> None:
    state = backend.get_rng_state()
    with torch.random.fork_rng(devices=[0]):
        torch.rand(3, device=device)
        assert not torch.equal(backend.get_rng_state(), state)
    assert torch.equal(backend.get_rng_state(), state)


def test_what_is_no_state_is_refused(backend: DeviceModule) -> None:
    state = backend.get_rng_state()
    for wrong in (torch.zeros(3, dtype=torch.uint8), torch.zeros(4)):
        with pytest.raises((RuntimeError, TypeError)):
            backend.set_rng_state(wrong)
    assert torch.equal(backend.get_rng_state(), state)


# ---- mixed precision


def test_autocast_computes_in_the_dtype(backend: DeviceModule, device: torch.device) -> None:
    a = torch.ones(4, 4, device=device)
    for dtype in backend.get_amp_supported_dtype():
        with backend.amp.autocast(dtype=dtype):
            assert (a @ a).dtype == dtype
    assert (a @ a).dtype == torch.float32
    native = torch.bfloat16 in backend.get_device_properties().dtypes
    assert backend.is_bf16_supported()
    assert backend.is_bf16_supported(including_emulation=False) == native


def test_grad_scaler_skips_a_step_that_overflows(
    backend: DeviceModule, device: torch.device
) -> None:
    weight = torch.ones(3, device=device, requires_grad=True)
    scaler = backend.amp.GradScaler(init_scale=8.0)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    for loss, left in ((weight.sum() * float("inf"), 1.0), (weight.sum(), 0.0)):
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [left] * 3
    assert scaler.get_scale() == 4.0


# ---- fallback


def test_fallbacks_are_counted_by_operator_and_device(
    backend: DeviceModule, device: torch.device
) -> None:
    x = torch.arange(4.0, device=device)
    backend.reset_fallbacks()
    for _ in range(3):
        torch.special.bessel_j0(x)
    (row,) = (row for row in backend.fallbacks() if "bessel_j0" in row.operator)
    assert (row.device, row.count) == (device.index, 3)
    backend.reset_fallbacks()
    assert backend.fallbacks() == []


def test_a_fallback_can_be_refused_or_warned_about(
    backend: DeviceModule, device: torch.device
) -> None:
    x = torch.arange(4.0, device=device)
    with backend.fallback_mode("error"):
        assert backend.get_fallback_mode() == "error"
        with pytest.raises(NotImplementedError, match="bessel_j1"):
            torch.special.bessel_j1(x)
    with backend.fallback_mode("warn"), pytest.warns(UserWarning, match="bessel_y0"):
        torch.special.bessel_y0(x)
    with pytest.raises(ValueError, match="no fallback mode 'loud'"):
        backend.set_fallback_mode("loud")  # type: ignore[arg-type]


# ---- generated methods, and what is saved


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
