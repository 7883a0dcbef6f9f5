# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the npu backend on the simulated driver, as simulator_kit/judge.py finds them.

python reference_backends/npu/simulator/tests/kill.py [--quick] [--only TEXT] [--output PAGE]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "simulator_kit"))

from judge import Driver, main

# What is no fault by the contract or the reference, by the beginning of its name; all else that
# nothing finds is a gap.
EQUIVALENT: dict[str, str] = {}
NPU = Driver("npu", EQUIVALENT, "SIM-ACL")

if __name__ == "__main__":
    sys.exit(main(NPU))
