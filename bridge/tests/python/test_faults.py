# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A backend that fails in the middle of any call: one clear exception, and everything as before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_tbk

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
    ("stream_create", "OUT_OF_MEMORY"): "streams are shared from then on",
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
    ("pinned_alloc", "UNSUPPORTED"): "the program takes it for a backend without pinned memory",
    ("event_query", "*"): "the allocator keeps the block and asks again",
}


POOL = 32  # streams of one device and priority, made one by one as they are asked for


@pytest.fixture(scope="module")
def injected(library: Path) -> list[dict[str, Any]]:
    faulty = torch_tbk.reference("cpu").parent / "bridge_tests" / "libfaulty.so"
    here = Path(__file__).parent
    ran = subprocess.run(
        [sys.executable, str(here / "faults_child.py"), str(faulty), str(library)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_failures_were_injected(injected: list[dict[str, Any]]) -> None:
    reached = {row["call"] for row in injected if row["reached"]}
    assert {"memory_alloc", "upload", "download"} <= reached
    assert len(injected) > 20


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
    assert last["live"]["pinned"] == first["before"]["pinned"]
    for row in injected:
        # A block that could not be given back is the backend's loss, and is counted as alive there.
        assert row["live"]["memory"] >= row["before"]["memory"]
    assert last["live"]["events"] <= first["before"]["events"] + 16, last
    assert last["live"]["streams"] <= first["before"]["streams"] + POOL, last
