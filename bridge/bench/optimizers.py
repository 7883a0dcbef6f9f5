# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times a step of AdamW over 100 parameters on a backend, beside PyTorch's CPU.

    python bridge/bench/optimizers.py LIBRARY [--options TEXT] [--rounds N] [--steps N]
        [--parameters N] [--threads N] [--output FILE]

Prints figures and judges nothing. Each form of the step (a loop, foreach, fused) is timed on both
devices in one process, in turn, until the device is idle: some steps of one in a row, then as many
of the other. Nobody trains on two devices step by step, and whoever does so here (--steps 1) times
caches that the other has just filled. A round's figure is its median step; the ratio is the median
of the rounds', and beside it stands that of the two quickest steps, which other load disturbs
least.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch_tbk

ROUNDS, STEPS, WARM_UP = 61, 10, 2
ELEMENTS = (1, 64, 1024)
# AdamW is told whether to take foreach operators, and whether one that is fused.
FORMS = {"loop": (False, False), "foreach": (True, False), "fused": (False, True)}
# The most that a form and size may be of the CPU's, where that was set.
LIMITS = {("foreach", 1): 0.7, ("foreach", 64): 0.7}


def stepper(device: torch.device, form: str, elements: int, parameters: int) -> Callable[[], float]:
    """Returns a function that makes one step and returns how many microseconds it took."""
    random = torch.Generator().manual_seed(0)
    lists = [
        torch.randn(elements, generator=random).to(device).requires_grad_()
        for _ in range(parameters)
    ]
    for each in lists:
        each.grad = torch.randn(elements, generator=random).to(device)
    foreach, fused = FORMS[form]
    optimizer = torch.optim.AdamW(lists, lr=1e-3, foreach=foreach, fused=fused)

    def step() -> float:
        start = time.perf_counter()
        optimizer.step()
        if device.type != "cpu":
            getattr(torch, device.type).synchronize(device)
        return 1e6 * (time.perf_counter() - start)

    return step


def compare(
    device: torch.device, form: str, elements: int, asked: argparse.Namespace
) -> dict[str, object]:
    """Returns the figures of one form and size."""
    devices = (device, torch.device("cpu"))
    steps = [stepper(each, form, elements, asked.parameters) for each in devices]
    timed = [
        [[step() for _ in range(asked.steps)] for step in steps]
        for _ in range(asked.rounds + WARM_UP)
    ][WARM_UP:]
    rounds = [(statistics.median(ours), statistics.median(theirs)) for ours, theirs in timed]
    quickest = [min(min(each[of]) for each in timed) for of in (0, 1)]
    return {
        "form": form,
        "elements": elements,
        "backend_us": round(statistics.median(a for a, _ in rounds), 1),
        "cpu_us": round(statistics.median(b for _, b in rounds), 1),
        "ratio": round(statistics.median(a / b for a, b in rounds), 3),
        "quickest": round(quickest[0] / quickest[1], 3),
        "limit": LIMITS.get((form, elements), 0.0),
    }


def main() -> int:
    """Prints a table of figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--options", default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--parameters", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    module = torch_tbk.load(asked.library, options=asked.options)
    device = torch.device(module.backend_name, 0)
    print(f"AdamW over {asked.parameters} parameters on {module.backend_name}")
    print(f"{'a step':28} {'backend us':>10} {'CPU us':>8} {'ratio':>6} {'quick':>6} {'limit':>6}")
    found = []
    for form in FORMS:
        for elements in ELEMENTS:
            row = compare(device, form, elements, asked)
            found.append(row)
            print(
                f"{f'{form}, {elements} elements each':28} {row['backend_us']:>10}"
                f" {row['cpu_us']:>8} {row['ratio']:>6} {row['quickest']:>6}"
                f" {row['limit'] or '-':>6}",
                flush=True,
            )
    if asked.output:
        asked.output.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
