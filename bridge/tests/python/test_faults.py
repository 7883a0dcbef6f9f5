# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A backend that fails in the middle of any call: one clear exception, and everything as before."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch_tbk
from faults import Faulty

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

# What torch makes of each status (bridge/csrc/runtime/error.h).
CLASSES = {
    "FAILED": {"AcceleratorError", "RuntimeError"},
    "OUT_OF_MEMORY": {"OutOfMemoryError"},
    "UNSUPPORTED": {"NotImplementedError"},
}
# Failures that the bridge gets round, so that no exception is due: it tries again with an empty
# cache, shares a stream, computes or copies on the host; or has nobody to tell, and warns.
MAY_RECOVER = {
    ("memory_alloc", "OUT_OF_MEMORY"): "the cache is given back and the allocation tried again",
    ("pinned_alloc", "OUT_OF_MEMORY"): "the cache is given back and the allocation tried again",
    ("stream_create", "OUT_OF_MEMORY"): "streams are shared from then on",
    ("event_create", "OUT_OF_MEMORY"): "an event of the other kind gives room, or the host waits",
    ("launch", "OUT_OF_MEMORY"): "the cache is given back and the kernel launched again",
    ("prepare", "OUT_OF_MEMORY"): "the cache is given back and the kernel prepared again",
    ("launch_plan", "OUT_OF_MEMORY"): "the cache is given back and the plan launched again",
    ("launch", "UNSUPPORTED"): "the operator falls back",
    ("prepare", "UNSUPPORTED"): "the operator falls back",
    ("fill", "UNSUPPORTED"): "filled by an upload",
    ("peer_copy", "UNSUPPORTED"): "copied through the host",
    ("peer_can_access", "*"): "copies work without",
    ("memory_free", "*"): "a destructor has nobody to tell: it warns",
    ("memory_info", "*"): "figures for a message are left out",
    (
        "event_record",
        "*",
    ): "a block that is freed without its event is kept until the stream is idle",
    ("event_query", "*"): "the allocator keeps the block and asks again",
}

MANDATORY = ("device_open", "memory_alloc", "memory_free", "upload", "download", "copy")
# By the capability that says whether the backend has them.
FUNCTIONS = {
    "fill": ("fill",),
    "memory info": ("memory_info",),
    "streams": ("stream_create", "stream_query", "stream_synchronize", "device_synchronize"),
    "stream to native handle": ("stream_native_handle",),
    "stream from native handle": ("stream_from_native",),
    "events": ("event_create", "event_record", "event_wait", "event_query", "event_synchronize"),
    "event timing": ("event_elapsed",),
    "pinned memory": ("pinned_alloc",),
    "copies between devices": ("peer_can_access", "peer_copy"),
}
NEVER_FAILED = {
    "callback_enqueue": "the bridge never calls it",
    "random_bits": "the bridge never calls it",
    "device_close": "called where opening has failed already, for the default stream",
}
FAULTY = torch_tbk.reference("cpu").parent / "bridge_tests" / "libfaulty.so"
POOL = 32  # streams of one device and priority, made one by one as they are asked for


@pytest.fixture(scope="module")
def injected(library: Path) -> list[dict[str, Any]]:
    here = Path(__file__).parent
    ran = subprocess.run(
        [sys.executable, str(here / "faults_child.py"), str(FAULTY), str(library)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def functions_of(backend: DeviceModule) -> set[str]:
    """Of the backend, and answered with a status."""
    rows = backend.capabilities()
    native = {feature for feature, row in rows.items() if row.source == "native"}
    kernels = {rows[feature].detail for feature in native if feature.startswith("kernel ")}
    found = {function for feature in native for function in FUNCTIONS.get(feature, ())}
    found |= {"launch"} if kernels else set()
    found |= {"prepare", "launch_plan"} if "planned once a signature" in kernels else set()
    if backend.device_count() < 2:
        found -= set(FUNCTIONS["copies between devices"])
    return found | set(MANDATORY)


def test_every_function_was_failed(injected: list[dict[str, Any]], backend: DeviceModule) -> None:
    reached = {row["call"] for row in injected if row["reached"]}
    assert functions_of(backend) - reached == set()
    assert not reached & set(NEVER_FAILED), "no longer true of the bridge"


def test_the_functions_are_all_of_them() -> None:
    faulty = Faulty(FAULTY)
    of_kernels = {"launch", "prepare", "launch_plan"}
    known = [*MANDATORY, *itertools.chain(*FUNCTIONS.values()), *NEVER_FAILED, *of_kernels]
    assert sorted(known) == sorted(faulty.names())


def test_each_is_one_clear_exception(injected: list[dict[str, Any]]) -> None:
    for row in injected:
        if not row["reached"]:
            continue
        call, status = row["call"], row["status"]
        recovers = (call, status) in MAY_RECOVER or (call, "*") in MAY_RECOVER
        if not row["error"]:
            assert recovers, f"swallowed: {row}"
            continue
        assert row["error"] in CLASSES[status], row
        assert f"injected into {call}" in row["text"], row


def test_state_is_restored(injected: list[dict[str, Any]]) -> None:
    for row in injected:
        assert row["current_device"] == 0, row
        assert row["current_stream"] == 0, row
        assert row["right_afterwards"], row


def test_nothing_leaks(injected: list[dict[str, Any]]) -> None:
    # Streams and events are pooled, so that a later run may hold more of them than the first; what
    # grows with each failure would show at the end.
    first, last = injected[0], injected[-1]
    assert last["live"]["memory"] == first["before"]["memory"]
    assert last["live"]["pinned"] == last["before"]["pinned"]
    for row in injected:
        # A block that could not be given back is the backend's loss, and is counted as alive there.
        assert row["live"]["memory"] >= row["before"]["memory"]
    assert last["live"]["events"] <= last["before"]["events"] + 16, last
    assert last["live"]["streams"] <= last["before"]["streams"] + POOL, last
