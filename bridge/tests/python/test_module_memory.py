# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch.<name>: memory and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


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
    with torch.random.fork_rng(devices=[0], device_type=device.type):
        torch.rand(3, device=device)
        assert not torch.equal(backend.get_rng_state(), state)
    assert torch.equal(backend.get_rng_state(), state)


def test_what_is_no_state_is_refused(backend: DeviceModule) -> None:
    state = backend.get_rng_state()
    for wrong in (torch.zeros(3, dtype=torch.uint8), torch.zeros(4)):
        with pytest.raises((RuntimeError, TypeError)):
            backend.set_rng_state(wrong)
    assert torch.equal(backend.get_rng_state(), state)
