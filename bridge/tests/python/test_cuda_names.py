# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What torch.cuda has: each name is there, or stands in the docs with the reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

TOOL = Path(__file__).parents[2] / "tools" / "generate_cuda_names.py"


def test_the_table_has_every_name_of_this_pytorch() -> None:
    command = [sys.executable, str(TOOL), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"run {TOOL}"


def test_streams_have_the_priority_they_were_made_with(backend: DeviceModule) -> None:
    least, greatest = backend.Stream.priority_range()
    for wanted in (least, greatest, least + 5, greatest - 5):
        assert backend.Stream(priority=wanted).priority == min(max(wanted, greatest), least)


def test_nested_statistics_are_the_flat_ones(backend: DeviceModule) -> None:
    backend.init()
    flat, nested = backend.memory_stats(), backend.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["peak"] == flat["allocated_bytes.all.peak"]
    host = backend.host_memory_stats_as_nested_dict()
    assert host["allocations"]["current"] == backend.host_memory_stats()["allocations.current"]


def test_a_fraction_is_told_as_it_was_set(backend: DeviceModule) -> None:
    assert backend.get_per_process_memory_fraction() == 1.0
    backend.set_per_process_memory_fraction(0.25)
    try:
        assert backend.get_per_process_memory_fraction() == pytest.approx(0.25, abs=1e-6)
    finally:
        backend.set_memory_limit(None)


def test_what_is_always_so(backend: DeviceModule) -> None:
    assert backend.OutOfMemoryError is torch.OutOfMemoryError
    assert not backend.is_current_stream_capturing()
    backend.ipc_collect()
    with pytest.raises((NotImplementedError, ValueError)):
        backend.get_stream_from_external(0)


def test_host_statistics_are_reset_one_by_one(backend: DeviceModule) -> None:
    if backend.capabilities()["pinned memory"].source == "none":
        pytest.skip("no pinned memory")
    block = torch.empty(100).pin_memory()
    del block
    backend.reset_peak_host_memory_stats()
    stats = backend.host_memory_stats()
    assert stats["active_requests.peak"] == stats["active_requests.current"]
    assert stats["active_requests.allocated"] > 0
    backend.reset_accumulated_host_memory_stats()
    assert backend.host_memory_stats()["active_requests.allocated"] == 0
