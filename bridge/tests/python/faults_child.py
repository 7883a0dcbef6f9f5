# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""faults_child.py FAULTY_LIBRARY BACKEND

Run a program that reaches every function of the backend; then again with each of its calls failing,
one at a time, and look at what became of it. Prints one line of JSON for each injected failure. A
process of its own, because a process has one backend.
"""

from __future__ import annotations

import gc
import itertools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch_tbk
from faults import Faulty

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

EACH = 3  # the first calls of each function, and the last
# Want of memory is the last: when there is none for a stream, streams are shared from then on.
STATUSES = ("FAILED", "UNSUPPORTED", "OUT_OF_MEMORY")
# Pools of the bridge's make these calls rare: they come before the pools are full.
POOLED = ("stream_from_native", "stream_create", "event_create")
SIZES = itertools.count(5)  # what is planned once a signature gets a new one each time


def program(device: torch.device, module: DeviceModule) -> list[torch.Tensor]:
    """Reaches what a user reaches; the results are on the host."""
    results = []
    host = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    x = host.to(device)
    y = torch.full((4, 6), 2.0, device=device)
    results.append((x + y).mul(y).sum(1).cpu())
    results.append((x @ y.t()).cpu())
    results.append(torch.where(x > 3, x, y).t().contiguous().cpu())
    results.append(torch.zeros(4096, device=device).add_(1).sum().cpu())
    side = torch.Stream(device)
    start, end = (torch.Event(device, enable_timing=True) for _ in range(2))
    start.record()
    with side:
        side.wait_event(start)
        z = x * 3
        end.record(side)
    end.wait()
    end.synchronize()
    assert end.query()
    side.query()
    start.elapsed_time(end)
    x.record_stream(side)
    side.synchronize()
    results.append(z.cpu())
    native_handles(module, side)
    if is_native(module, "pinned memory"):
        results.append(pinned_copy(host, device))
    if module.device_count() > 1:
        module.can_device_access_peer(0, 1)
        other = x.to(torch.device(device.type, 1))
        results.append((other + 1).cpu())
    torch.accelerator.synchronize()
    if is_native(module, "memory info"):
        module.mem_get_info()
    results.append(torch.tensor(x[1, 2].item()))
    results.append(torch.cumsum(x, 0).cpu())
    results.append(x.clone().cpu())
    size = next(SIZES)
    results.append(
        (torch.ones(2, size, device=device) @ torch.ones(size, 2, device=device)).cpu() / size
    )
    module.manual_seed(7)
    results.append(torch.rand(8, device=device).cpu())
    torch.empty(1 << 25, dtype=torch.uint8, device=device)
    module.empty_cache()
    return results


def is_native(module: DeviceModule, feature: str) -> bool:
    return module.capabilities()[feature].source == "native"


def native_handles(module: DeviceModule, stream: torch.Stream) -> None:
    if is_native(module, "stream to native handle"):
        handle: int = stream.native_handle  # type: ignore[attr-defined]
        if is_native(module, "stream from native handle"):
            module.ExternalStream(handle).query()


def pinned_copy(host: torch.Tensor, device: torch.device) -> torch.Tensor:
    pinned = host.pin_memory()
    moved = pinned.to(device, non_blocking=True)
    back = torch.empty_like(pinned, pin_memory=True).copy_(moved, non_blocking=True)
    torch.accelerator.synchronize()
    return back


def settle(module: DeviceModule) -> None:
    """Gives everything back that is not in use."""
    gc.collect()
    torch.accelerator.synchronize()
    module.empty_cache()
    module.empty_host_cache()


def attempt(device: torch.device, module: DeviceModule) -> tuple[str, str]:
    try:
        program(device, module)
    except Exception as error:  # what it is, is what the test asks
        return type(error).__name__, str(error)
    return "", ""


class Injection:
    """Fails the calls one by one, and prints what became of each."""

    def __init__(self, faulty: Faulty, module: DeviceModule) -> None:
        self._faulty = faulty
        self._module = module
        self._device = torch.device(module.backend_name, 0)
        self._held: list[torch.Event] = []
        self._before = faulty.live()
        self._expected: list[torch.Tensor] = []

    def run(self) -> None:
        opening = [
            self._attempt(name, 1, status)
            for name in ("device_open", "stream_create")  # the default stream
            for status in STATUSES
        ]
        self._expected = program(self._device, self._module)
        for row in opening:
            self._print(row)
        for name in POOLED:
            self._fail(name, self._count()[name])
        self._held.clear()
        # What the pools keep was made.
        settle(self._module)
        self._before = self._faulty.live()
        for name, count in self._count().items():
            if name not in POOLED:
                self._fail(name, count)

    def _count(self) -> dict[str, int]:
        """Returns the calls of a run that finds nothing cached."""
        settle(self._module)
        self._empty_event_pool()
        self._faulty.disarm()
        program(self._device, self._module)
        return {name: self._faulty.calls(name) for name in self._faulty.names()}

    def _fail(self, name: str, count: int) -> None:
        settle(self._module)
        for at in sorted({*range(1, min(EACH, count) + 1), count} - {0}):
            for status in STATUSES:
                if name == "event_create":
                    self._empty_event_pool()
                self._print(self._attempt(name, at, status))

    def _empty_event_pool(self) -> None:
        """Holds all events that there are, so that the next one has to be created."""
        self._faulty.disarm()
        while is_native(self._module, "events") and not self._faulty.calls("event_create"):
            self._held.append(torch.Event(self._device, enable_timing=True))
            self._held[-1].record()

    def _attempt(self, name: str, at: int, status: str) -> dict[str, object]:
        self._faulty.arm(name, at, status)
        error, text = attempt(self._device, self._module)
        reached = self._faulty.calls(name) >= at
        self._faulty.disarm()
        return {
            "call": name, "at": at, "status": status, "reached": reached,
            "error": error, "text": text,
            "current_device": torch.accelerator.current_device_index(),
            "current_stream": torch.accelerator.current_stream(self._device).stream_id,
        }  # fmt: skip

    def _print(self, row: dict[str, object]) -> None:
        again = program(self._device, self._module)
        right = all(torch.equal(a, b) for a, b in zip(again, self._expected, strict=True))
        del again
        settle(self._module)
        after = {"right_afterwards": right, "live": self._faulty.live(), "before": self._before}
        print(json.dumps(row | after), flush=True)


def main() -> None:
    library, backend = sys.argv[1:]
    module = torch_tbk.load(library, options=f"inner={backend}")
    Injection(Faulty(Path(library)), module).run()


if __name__ == "__main__":
    main()
