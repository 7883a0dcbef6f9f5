# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the torch layer cost, as their files say it for the order under a budget.

    costs.py RESULTS... [--write]

RESULTS are result files of a sound device, whole or in part. The cost of a file is the median of
what its tests took, in units of what the median file takes; what wants a process of its own is
left out, for that has a cost of its own. Files of which fewer than three tests ran keep what they
say. Prints what is off by more than half; with --write it is written, as COST.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).resolve().parents[3] / "contracts/python/tbk_contracts/torch"
COST = re.compile(r"^COST = (\d+)\n\n?", re.MULTILINE)
FEWEST = 3
OFF = 1.5
IMPORT = re.compile(r"^(?:from|import) .*(?:\(\n(?:    .*\n)*\))?\n", re.MULTILINE)


def durations(paths: list[Path]) -> dict[str, list[int]]:
    """Returns those of passed tests, by suite."""
    found = defaultdict(list)
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            one = json.loads(line)
            if one["record"] == "test" and one["verdict"] == "pass":
                found[one["suite"]].append(one["duration_ns"])
    return {suite: took for suite, took in found.items() if len(took) >= FEWEST}


def rounded(cost: float) -> int:
    """Returns two digits of it: more would only say how busy the machine was."""
    return max(1, int(float(f"{cost:.1g}" if cost < 1 else f"{cost:.2g}")))


def costs(found: dict[str, list[int]]) -> dict[str, int]:
    medians = {suite: statistics.median(took) for suite, took in found.items()}
    unit = statistics.median(medians.values())
    return {suite: rounded(median / unit) for suite, median in medians.items()}


def write(text: str, cost: int) -> str:
    """Returns a file of tests that says this cost, above its first definition."""
    plain = COST.sub("", text)
    if cost == 1:
        return plain
    at = list(IMPORT.finditer(plain))[-1].end()
    return f"{plain[:at]}\nCOST = {cost}\n{plain[at:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for suite, cost in sorted(costs(durations(given.results)).items()):
        path = TESTS / f"test_{suite.removeprefix('torch_')}.py"
        text = path.read_text("utf-8")
        said = int(match[1]) if (match := COST.search(text)) else 1
        if said / OFF <= cost <= said * OFF:
            continue
        print(f"{path.name}: {said} is said, {cost} is so")
        if given.write:
            path.write_text(write(text, cost), "utf-8")


if __name__ == "__main__":
    main()
