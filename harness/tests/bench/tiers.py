# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Seconds that the tiers of the C layer take on a library, and what of it the generic kernels are.

    tiers.py TBK-RUN LIB [--rounds 5]

The quick tier is run whole and without the tests of generic kernels in turn, the thorough one once.
Prints one JSON object: seconds by the clock and of all processors, medians of the rounds and the
least of them, and the 1-minute load before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

GENERIC = "program"  # the suites of generic kernels begin so


def suites(tool: str, library: str) -> list[str]:
    """Returns the suites of the quick tier, in order."""
    listed = subprocess.run([tool, "--list", library], check=True, capture_output=True, text=True)
    ids = [line.split()[0] for line in listed.stdout.splitlines() if "/" in line]
    return list(dict.fromkeys(name.split("/")[0] for name in ids))


def run(tool: str, library: str, results: Path, *options: str) -> tuple[float, float, int]:
    """Returns seconds by the clock and of the processors, and how many tests passed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [tool, library, "--quiet", f"--output={results}", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    footer = json.loads(results.read_text().splitlines()[-1])
    return seconds, used, footer["counts"]["pass"]


def told(rounds: list[tuple[float, float, int]]) -> dict[str, float]:
    """Returns what a record says of its rounds."""
    return {
        "tests": rounds[0][2],
        "seconds": round(statistics.median(r[0] for r in rounds), 2),
        "least_seconds": round(min(r[0] for r in rounds), 2),
        "processor_seconds": round(statistics.median(r[1] for r in rounds), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tool", metavar="TBK-RUN")
    parser.add_argument("library", metavar="LIB")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    named = [name for name in suites(given.tool, given.library) if not name.startswith(GENERIC)]
    without = [f"--only={name}" for name in named]
    load = os.getloadavg()[0]
    whole, partly = [], []
    with tempfile.TemporaryDirectory(prefix="tbk-bench-") as folder:
        results = Path(folder) / "results.jsonl"
        for _ in range(given.rounds):
            whole.append(run(given.tool, given.library, results))
            partly.append(run(given.tool, given.library, results, *without))
        thorough = run(given.tool, given.library, results, "--tier=thorough")
    print(json.dumps({
        "library": Path(given.library).name,
        "cores": len(os.sched_getaffinity(0)),
        "quick": told(whole),
        "quick_without_generic_kernels": told(partly),
        "thorough": told([thorough]),
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
    }))  # fmt: skip


if __name__ == "__main__":
    main()
