# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's C interface for compiled models, which Python can call without holding the GIL."""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path

import torch

Handle = ctypes.c_void_p
_Size = ctypes.c_int64
_Sizes = ctypes.POINTER(_Size)
_LIBRARIES = {"win32": "torch_cpu.dll", "darwin": "libtorch_cpu.dylib"}


@functools.cache
def _library() -> ctypes.CDLL:
    name = _LIBRARIES.get(sys.platform, "libtorch_cpu.so")
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name))
    number = ctypes.c_int32
    library.aoti_torch_empty_strided.argtypes = [
        _Size, _Sizes, _Sizes, number, number, number, ctypes.c_void_p,
    ]  # fmt: skip
    library.aoti_torch_create_tensor_from_blob.argtypes = [
        ctypes.c_void_p, _Size, _Sizes, _Sizes, _Size, number, number, number, ctypes.c_void_p,
    ]  # fmt: skip
    library.aoti_torch_delete_tensor_object.argtypes = [Handle]
    return library


def _kind(device: torch.device) -> int:
    """PyTorch's number for the device's type."""
    return int(torch.accelerator.current_stream(device).device_type)


def _one(value: int) -> ctypes.Array[ctypes.c_int64]:
    return (_Size * 1)(value)


class Empties:
    """Calls that allocate memory of a device: the function, and the arguments of `count` calls."""

    def __init__(self, device: torch.device, size: int, count: int) -> None:
        self.handles = (Handle * count)()
        self.allocate = _library().aoti_torch_empty_strided
        self.free = _library().aoti_torch_delete_tensor_object
        dtype = _library().aoti_torch_dtype_uint8()
        self.allocations = [
            (1, _one(size), _one(1), dtype, _kind(device), device.index, place)
            for place in _places(self.handles)
        ]

    def frees(self) -> list[tuple[Handle]]:
        """Returns the arguments of the calls that free it all, once it is allocated."""
        return [(Handle(handle),) for handle in self.handles]


def _places(handles: ctypes.Array[ctypes.c_void_p]) -> list[ctypes.c_void_p]:
    first, step = ctypes.addressof(handles), ctypes.sizeof(Handle)
    return [ctypes.c_void_p(first + step * index) for index in range(len(handles))]


class Blobs:
    """Calls that make a tensor of memory that is there: PyTorch asks the device whose it is."""

    def __init__(self, device: torch.device, pointers: list[int]) -> None:
        self.handles = (Handle * len(pointers))()
        self.make = _library().aoti_torch_create_tensor_from_blob
        dtype = _library().aoti_torch_dtype_uint8()
        self.arguments = [
            (pointer, 1, _one(1), _one(1), 0, dtype, _kind(device), device.index, place)
            for pointer, place in zip(pointers, _places(self.handles), strict=True)
        ]

    def make_all(self) -> list[bool]:
        """For each pointer whether it is memory of the device."""
        made = [self.make(*each) == 0 for each in self.arguments]
        self.free()
        return made

    def free(self) -> None:
        for handle in self.handles:
            if handle is not None:
                _library().aoti_torch_delete_tensor_object(Handle(handle))
        ctypes.memset(self.handles, 0, ctypes.sizeof(self.handles))
