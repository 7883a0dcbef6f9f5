# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the cuda backend on the simulated driver, as simulator_kit/judge.py finds them.

python reference_backends/cuda/simulator/tests/kill.py [--quick] [--only TEXT] [--output PAGE]
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
EQUIVALENT = {
    "skip:cuGetErrorString": TEXT,
    "skip:cuDriverGetVersion": TEXT,
    "skip:cublasGetProperty": TEXT,
    "skip:cuDeviceGetName": TEXT,
    "swap:cuDeviceGetName": TEXT,
    "skip:cuDeviceTotalMem_v2": LEGAL,
    "swap:cuDeviceTotalMem_v2": "the devices are alike",
    "skip:cuDeviceCanAccessPeer": LEGAL,
    "swap:cuDeviceCanAccessPeer": "the devices are alike",
    "skip:cublasSetPointerMode_v2": "the mode that a handle begins with",
    "skip:cublasSetMathMode": "the mode that a handle begins with has no TF32 either",
    "skip:cublasSetWorkspace_v2": "cuBLAS then takes memory of its own",
    "swap:cublasSetWorkspace_v2.workspace": "memory that is there, and that cuBLAS may write",
    "skip:cuDeviceGetAttribute": "a device without pools of memory, which is legal",
    "swap:cuDeviceGetAttribute": "the devices are alike",
    "swap:cuModuleLoadData.image": "no handle: an image that the driver refuses is made anew",
    "skip:cuModuleGetFunction": "no function: the image is made anew, and asked once more",
    "fill-waits": WAITS,
    "record-waits": WAITS,
    "host-waits-for-the-event": WAITS,
    "always-device-0": "two devices may be one piece of hardware",
    "blocking-streams": "differs only beside work on the legacy stream, and there is none",
}


# Copies of pageable memory wait, as they may; once more, where nothing finds it, they do not.
# The compiler is the simulator's own, not the shim's.
CUDA = Driver(
    "cuda",
    EQUIVALENT,
    "SIM-CUDA",
    modes=("", "pageable=late"),
    environment={"TBK_CUDA_NVRTC": "{simulator}"},
)

if __name__ == "__main__":
    sys.exit(main(CUDA))
