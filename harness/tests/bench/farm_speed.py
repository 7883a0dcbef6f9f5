# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How much faster three nodes are than one, on a device that waits 50 ms a test.

`python harness/tests/bench/farm_speed.py FOLDER`: ends with 1 below 2.2.

Both runs use Ray and the same parts; the device waits, so that the cores of the machine do not
bound three nodes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from farm import farm, tbk
from runs import PATIENCE

LEAST = 2.2
WORDS = ("--backend-option=open_ms=50", "--isolation=fork", "--jobs=1", "--parts=18")


def seconds(folder: Path, nodes: int) -> float:
    """Returns how long the second of two runs takes: the first one starts Ray's workers."""
    with farm(nodes) as local:
        tbk(local.address, folder / "warm", "--only=memory", "--parts=6").communicate()
        began = time.monotonic()
        process = tbk(local.address, folder / str(nodes), *WORDS)
        process.communicate(timeout=PATIENCE)
        spent = time.monotonic() - began
    if process.returncode != 0:
        raise RuntimeError(f"{nodes} nodes: exit code {process.returncode}")
    return spent


def main() -> int:
    """Prints the ratio."""
    folder = Path(sys.argv[1])
    one, three = seconds(folder, 1), seconds(folder, 3)
    print(json.dumps({"one": round(one, 1), "three": round(three, 1), "ratio": one / three}))
    return 0 if one / three >= LEAST else 1


if __name__ == "__main__":
    raise SystemExit(main())
