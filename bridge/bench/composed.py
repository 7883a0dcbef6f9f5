# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that compute places of coordinates, through PyTorch, on a backend beside PyTorch's CPU.

    python bridge/bench/composed.py LIBRARY [--options TEXT] [--rounds N] [--case TEXT]
        [--output FILE]

Prints figures and judges nothing. Both run on the thread that calls, in turn, in one process; a row
is the median of the ratios of neighbours. Results are compared before anything is timed.
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
from torch import Tensor
from torch.nn import functional

Call = Callable[[Tensor], Tensor]


def resized(**how: object) -> Call:
    return lambda x: functional.interpolate(x, **how)  # type: ignore[arg-type]


def depthwise(x: Tensor) -> Tensor:
    channels = x.shape[1]
    weight = torch.ones(channels, 1, 3, 3).to(x.device)
    return functional.conv2d(x, weight, padding=1, groups=channels)


CALLS: dict[str, Call] = {
    "max_pool2d, 3 by 2": lambda x: functional.max_pool2d(x, 3, 2, 1),
    "max_pool2d, 2": lambda x: functional.max_pool2d(x, 2),
    "avg_pool2d, 3 by 2": lambda x: functional.avg_pool2d(x, 3, 2, 1),
    "adaptive_avg_pool2d to 7": lambda x: functional.adaptive_avg_pool2d(x, 7),
    "adaptive_max_pool2d to 7": lambda x: functional.adaptive_max_pool2d(x, 7),
    "nearest, twice as large": resized(scale_factor=2),
    "bilinear, twice as large": resized(scale_factor=2, mode="bilinear"),
    "bicubic, twice as large": resized(scale_factor=2, mode="bicubic"),
    "reflection by 3": lambda x: functional.pad(x, (3, 3, 3, 3), mode="reflect"),
    "constant padding by 3": lambda x: functional.pad(x, (3, 3, 3, 3)),
    "flip": lambda x: x.flip(3),
    "roll": lambda x: x.roll(3, 3),
    "depthwise conv2d, 3": depthwise,
}


def seconds_of(call: Call, x: Tensor) -> float:
    """Returns the time of this thread, so that others' work on the machine counts little."""
    begin = time.thread_time()
    call(x)
    return time.thread_time() - begin


def compare(name: str, device: torch.device, x: Tensor, rounds: int) -> dict[str, object]:
    call, there = CALLS[name], x.to(device)
    torch.testing.assert_close(call(there).cpu(), call(x), rtol=1e-4, atol=1e-4)
    taken = [(seconds_of(call, there), seconds_of(call, x)) for _ in range(rounds)]
    return {
        "name": name,
        "backend_us": round(1e6 * statistics.median(a for a, _ in taken)),
        "cpu_us": round(1e6 * statistics.median(b for _, b in taken)),
        "ratio": round(statistics.median(a / b for a, b in taken), 2),
    }


def main() -> int:
    """Prints a table of figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--options", default="policy=inline,memory=1G")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--case", default="")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    module = torch_tbk.load(asked.library, options=asked.options)
    device, x = torch.device(module.backend_name, 0), torch.randn(8, 32, 56, 56)
    found = []
    print(f"{'8x32x56x56 float32':26} {'backend us':>10} {'CPU us':>8} {'ratio':>6}")
    for name in CALLS:
        if asked.case not in name:
            continue
        row = compare(name, device, x, asked.rounds)
        found.append(row)
        print(f"{name:26} {row['backend_us']:>10} {row['cpu_us']:>8} {row['ratio']:>6}", flush=True)
    if asked.output:
        asked.output.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
