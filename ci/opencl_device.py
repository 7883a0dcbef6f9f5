# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Ends with 0 where OpenCL has a device here, by its loader and not by our backend.

That the backend finds none where there is one is a failure."""

from __future__ import annotations

import ctypes
import os
import sys

ALL_TYPES = ctypes.c_ulong(0xFFFFFFFF)
MOST = 16


def has_device() -> bool:
    """Returns whether a platform has one. Raises OSError where there is no loader."""
    library = ctypes.CDLL(os.environ.get("TBK_OPENCL_LIBRARY") or "libOpenCL.so.1")
    platforms, count = (ctypes.c_void_p * MOST)(), ctypes.c_uint()
    library.clGetPlatformIDs(MOST, platforms, ctypes.byref(count))
    for platform in platforms[: min(MOST, count.value)]:
        devices = ctypes.c_uint()
        found = library.clGetDeviceIDs(
            ctypes.c_void_p(platform), ALL_TYPES, 0, None, ctypes.byref(devices)
        )
        if found == 0 and devices.value > 0:
            return True
    return False


if __name__ == "__main__":
    sys.exit(0 if has_device() else 1)
