# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Isolated tests of the torch layer a second, against pytest-forked, measured in turn in one run.

    torch_isolation.py --forked PYTHON [--tests 300] [--rounds 3] [--device cpu]

PYTHON is an interpreter that sees the same packages, and pytest-forked. Both run the same small
contracts in a process each, out of a process that has imported PyTorch and its operator database,
as the contracts of the torch layer have. A short run is subtracted from a long one, so that what is
paid once does not count. Prints one JSON object: medians of the rounds, and the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runs import TBK_RUN

CONTRACTS = """
import pytest
import torch
from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from torch.testing._internal import common_methods_invocations  # as the operators' tests do


@pytest.mark.parametrize("n", range({count}))
@clause("CPY-501")
def test_sum(device, n):
    sent = host.values((8, 8))
    check.tensor("a sum", host.download(host.upload(sent, device) + 0), sent)
"""
SHORT = 10


def folder(root: Path, count: int) -> Path:
    made = root / f"contracts{count}"
    made.mkdir()
    (made / "test_sums.py").write_text(CONTRACTS.format(count=count))
    return made


def supervised(path: Path, device: str) -> list[str]:
    return [
        str(TBK_RUN), "--torch-device", device, "--python", sys.executable, "--isolation", "fork",
        "--quiet", "--output", str(path / "results.jsonl"),
    ]  # fmt: skip


def forked(python: str, path: Path, device: str) -> list[str]:
    return [
        python, "-m", "pytest", "-p", "pytest_forked", "--forked", "-p", "no:cacheprovider", "-q",
        "-c", os.devnull, f"--rootdir={path}", "--import-mode=importlib", f"--tbk-device={device}",
        str(path),
    ]  # fmt: skip


def cost(command: list[str], path: Path) -> tuple[float, float]:
    """Returns seconds by the clock, and of all processors."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **one_thread, "TBK_TORCH_CONTRACTS": str(path)},
    )
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended - began, used


def per_test(command: Callable[[Path], list[str]], root: Path, count: int) -> tuple[float, float]:
    short = cost(command(root / f"contracts{SHORT}"), root / f"contracts{SHORT}")
    long = cost(command(root / f"contracts{count}"), root / f"contracts{count}")
    return (long[0] - short[0]) / (count - SHORT), (long[1] - short[1]) / (count - SHORT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forked", required=True)
    parser.add_argument("--tests", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    words = parser.parse_args()
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for count in (SHORT, words.tests):
            folder(root, count)
        for _ in range(words.rounds):
            ours.append(per_test(lambda path: supervised(path, words.device), root, words.tests))
            theirs.append(
                per_test(lambda path: forked(words.forked, path, words.device), root, words.tests)
            )
    load.append(os.getloadavg()[0])
    wall, cpu = (statistics.median(one[i] for one in ours) for i in range(2))
    forked_wall, forked_cpu = (statistics.median(one[i] for one in theirs) for i in range(2))
    print(
        json.dumps(
            {
                "tests_per_second": round(1 / wall, 1),
                "forked_tests_per_second": round(1 / forked_wall, 1),
                "ratio": round(forked_wall / wall, 2),
                "cpu_ms_per_test": round(1e3 * cpu, 2),
                "forked_cpu_ms_per_test": round(1e3 * forked_cpu, 2),
                "cpu_ratio": round(forked_cpu / cpu, 2),
                "cores": os.cpu_count(),
                "load": [round(one, 1) for one in load],
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
