# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""faults_child.py FAULTY_LIBRARY BACKEND

Run a program that reaches every function of the backend; then again with each of its calls failing,
one at a time, and look at what became of it. Prints one line of JSON for each injected failure. A
process of its own, because a process has one backend.
"""

from __future__ import annotations

import gc
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
    pinned = pinned_copy(host, device)
    if pinned is not None:
        results.append(pinned)
    if module.device_count() > 1:
        other = x.to(torch.device(device.type, 1))
        results.append((other + 1).cpu())
    torch.accelerator.synchronize()
    memory_info(module)
    results.append(torch.tensor(x[1, 2].item()))
    results.append(torch.cumsum(x, 0).cpu())
    return results


def pinned_copy(host: torch.Tensor, device: torch.device) -> torch.Tensor | None:
    try:
        pinned = host.pin_memory()
    except NotImplementedError:
        return None  # said to be unsupported, or told to be
    moved = pinned.to(device, non_blocking=True)
    back = torch.empty_like(pinned, pin_memory=True).copy_(moved, non_blocking=True)
    torch.accelerator.synchronize()
    return back


def memory_info(module: DeviceModule) -> None:
    try:
        module.mem_get_info()
    except NotImplementedError:
        return


def settle(module: DeviceModule) -> None:
    """Gives everything back that is not in use."""
    gc.collect()
    torch.accelerator.synchronize()
    module.empty_cache()
    torch.accelerator.empty_host_cache()


def attempt(device: torch.device, module: DeviceModule) -> tuple[str, str]:
    try:
        program(device, module)
    except Exception as error:  # what it is, is what the test asks
        return type(error).__name__, str(error)
    return "", ""


def main() -> None:
    library, backend = sys.argv[1:]
    module = torch_tbk.load(library, options=f"inner={backend}")
    faulty = Faulty(Path(library))
    device = torch.device(module.backend_name, 0)
    expected = program(device, module)
    faulty.disarm()
    program(device, module)
    calls = {name: faulty.calls(name) for name in faulty.names()}
    settle(module)
    before = faulty.live()
    for name, count in calls.items():
        for at in sorted({*range(1, min(EACH, count) + 1), count} - {0}):
            for status in ("FAILED", "OUT_OF_MEMORY", "UNSUPPORTED"):
                faulty.arm(name, at, status)
                error, text = attempt(device, module)
                reached = faulty.calls(name) >= at
                faulty.disarm()
                current = torch.accelerator.current_device_index()
                stream = torch.accelerator.current_stream(device).stream_id
                again = program(device, module)
                right = all(torch.equal(a, b) for a, b in zip(again, expected, strict=True))
                del again
                settle(module)
                print(
                    json.dumps(
                        {
                            "call": name, "at": at, "status": status, "reached": reached,
                            "error": error, "text": text, "current_device": current,
                            "current_stream": stream, "right_afterwards": right,
                            "live": faulty.live(), "before": before,
                        }
                    ),
                    flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main()
