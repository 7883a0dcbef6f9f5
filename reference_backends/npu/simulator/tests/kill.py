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
TEXT = "a text for people"
LEGAL = "a legal answer: nobody knows better"
WAITS = "waits where it need not, which is legal"
NO_WORKSPACE = "the operator asks for none, and looks at none"
EQUIVALENT = {
    "skip:aclFinalize": "the process ends, and all with it",
    "skip:aclGetRecentErrMsg": TEXT,
    "skip:aclrtGetSocName": TEXT,
    "skip:aclrtGetVersion": TEXT,
    "skip:aclrtGetDeviceInfo": LEGAL,
    "skip:aclrtDeviceCanAccessPeer": LEGAL,
    "drop:aclrtGetCurrentContext": "it says that there is none, as the answer does",
    "skip:aclrtSetStreamFailureMode": "nothing makes work fail in the tests",
    "goes-on-after-failures": "nothing makes work fail in the tests",
    "failure-mode-left-out": "nothing makes work fail in the tests",
    "drop:aclrtEventElapsedTime": "the events are not ordered, and have no time between them",
    "swap:aclnnInplaceFillScalar.workspace": NO_WORKSPACE,
    "swap:aclnnInplaceZero.workspace": NO_WORKSPACE,
    "swap:aclnnInplaceCopy.workspace": NO_WORKSPACE,
    "swap:aclnnAdd.workspace": NO_WORKSPACE,
    "swap:aclnnMul.workspace": NO_WORKSPACE,
    "swap:aclnnSWhere.workspace": NO_WORKSPACE,
    "fill-waits": WAITS,
    "record-waits": WAITS,
    "host-waits-for-the-event": WAITS,
}
NPU = Driver("npu", EQUIVALENT, "SIM-ACL")

if __name__ == "__main__":
    sys.exit(main(NPU))
