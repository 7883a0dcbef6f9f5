# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a training step of five models costs on a backend, beside PyTorch's CPU.

    python bridge/bench/models.py LIBRARY [--options TEXT] [--steps N] [--threads N] [--size SIZE]
        [--output FILE]

Prints figures and judges nothing. Both devices are timed in one process, in turn, each step until
its device is idle; the ratio is the median of the rounds'. AdamW is foreach; gradients are clipped.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))
from five.training import FAMILIES, PUBLISHED, SMALL, Size, Trainer

STEPS, WARM_UP = 7, 2
SIZES = {"small": SMALL, "published": PUBLISHED}


def stepper(name: str, device: torch.device, size: Size) -> Callable[[], float]:
    """A function that makes one step and returns how many milliseconds it took."""
    family = FAMILIES[name]
    trainer = Trainer(family, device, size)
    batch = family.batch(size, 0)

    def step() -> float:
        start = time.perf_counter()
        trainer.step(batch)
        if device.type != "cpu":
            getattr(torch, device.type).synchronize(device)
        return 1e3 * (time.perf_counter() - start)

    return step


def compare(name: str, device: torch.device, size: Size, steps: int) -> dict[str, object]:
    """Returns the figures of one model."""
    ours, theirs = (stepper(name, each, size) for each in (device, torch.device("cpu")))
    rounds = [(ours(), theirs()) for _ in range(steps + WARM_UP)][WARM_UP:]
    return {
        "model": name,
        "backend_ms": round(statistics.median(a for a, _ in rounds), 2),
        "cpu_ms": round(statistics.median(b for _, b in rounds), 2),
        "ratio": round(statistics.median(a / b for a, b in rounds), 2),
    }


def main() -> int:
    """Prints a table of figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--options", default="")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", choices=SIZES, default="published")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    module = torch_tbk.load(asked.library, options=asked.options)
    device = torch.device(module.backend_name, 0)
    found = []
    print(f"{'a training step':24} {'backend ms':>10} {'CPU ms':>8} {'ratio':>6}")
    for name in FAMILIES:
        row = compare(name, device, SIZES[asked.size], asked.steps)
        found.append(row)
        print(f"{name:24} {row['backend_ms']:>10} {row['cpu_ms']:>8} {row['ratio']:>6}", flush=True)
    if asked.output:
        asked.output.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
