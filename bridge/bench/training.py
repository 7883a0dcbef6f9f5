# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a training step costs on a backend, beside PyTorch's own device.

    python bridge/bench/training.py LIBRARY [--options TEXT] [--steps N]

PyTorch's own is CUDA where it has it, else its CPU. Writes JSON and judges nothing. Both are timed
in one process, in turn, each step until its device is idle; the ratio is the median of the rounds'.
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
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))
from models import FAMILIES, Family

STEPS, WARM_UP = 21, 3


def trainer(family: Family, device: torch.device) -> Callable[[], float]:
    """A function that makes one step and returns how many milliseconds it took."""
    torch.manual_seed(0)
    model = family.build().to(device).train()
    optimizer = family.optimizer(model)
    inputs, targets = (tensor.to(device) for tensor in family.batch(0))

    def step() -> float:
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        if device.type != "cpu":
            getattr(torch, device.type).synchronize(device)
        return 1e3 * (time.perf_counter() - start)

    return step


def compare(name: str, ours: torch.device, theirs: torch.device, steps: int) -> dict[str, object]:
    """Returns the figures of one model."""
    first, second = (trainer(FAMILIES[name], device) for device in (ours, theirs))
    rounds = [(first(), second()) for _ in range(steps + WARM_UP)][WARM_UP:]
    return {
        "model": name,
        "beside": f"PyTorch's {theirs.type}",
        "backend_ms": round(statistics.median(a for a, _ in rounds), 3),
        "beside_ms": round(statistics.median(b for _, b in rounds), 3),
        "ratio": round(statistics.median(a / b for a, b in rounds), 3),
    }


def main() -> int:
    """Prints a list of figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--options", default="")
    parser.add_argument("--steps", type=int, default=STEPS)
    asked = parser.parse_args()
    module = torch_tbk.load(asked.library, options=asked.options)
    ours = torch.device(module.backend_name, 0)
    theirs = torch.device("cuda" if torch.cuda.is_available() else "cpu", 0)
    found = [compare(name, ours, theirs, asked.steps) for name in FAMILIES]
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
