# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The structs of the C interface for ctypes, and a backend whose generic kernels are called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

FLOAT32, BOOL = 6, 11
VERSION = 1
POINTER, SIZE, INT32, INT64, UINT64 = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_uint64,
)
OPCODES = {
    "constant": 1,
    "parameter": 3,
    "load": 6,
    "add": 16,
    "sub": 17,
    "mul": 18,
    "div": 19,
    "max": 27,
    "sqrt": 52,
    "exp": 53,
    "log": 55,
    "sin": 60,
    "tanh": 69,
    "erf": 73,
    "fma": 28,
}


def structure(name: str, *members: tuple[str, object]) -> type[ctypes.Structure]:
    """Returns a struct of the interface with these members, in order."""
    return type(name, (ctypes.Structure,), {"_fields_": list(members)})


Instruction = structure(
    "Instruction",
    *((name, ctypes.c_uint16) for name in ("opcode", "dtype", "slot", "bounds")),
    ("operand_first", ctypes.c_uint32),
    ("operand_count", ctypes.c_uint32),
    ("immediate", UINT64),
)
Program = structure(
    "Program",
    ("struct_size", SIZE),
    ("version", UINT64),
    *(
        member
        for name in ("inputs", "numbers", "parameters", "instructions", "operands", "results")
        for member in ((name, POINTER), (name + "_count", SIZE))
    ),
)
Tensor = structure(
    "Tensor",
    ("struct_size", SIZE),
    ("memory", UINT64),
    ("storage_bytes", UINT64),
    ("offset", INT64),
    ("dtype", INT32),
    ("rank", INT32),
    ("sizes", POINTER),
    ("strides", POINTER),
)
OperandSet = structure(
    "OperandSet",
    ("struct_size", SIZE),
    ("outputs", POINTER),
    ("inputs", POINTER),
    ("numbers", POINTER),
    ("inner_sizes", POINTER),
    ("inner_rank", UINT64),
)
Arguments = structure(
    "Arguments",
    ("struct_size", SIZE),
    ("what", POINTER),
    ("sets", POINTER),
    ("set_count", SIZE),
    ("index_bits", INT64),
)
Reduction = structure(
    "Reduction",
    ("struct_size", SIZE),
    ("map", POINTER),
    ("combine", POINTER),
    ("finish", POINTER),
    ("identity", POINTER),
    ("flags", UINT64),
)
Scalar = structure(
    "Scalar",
    ("kind", INT64),
    ("integer", INT64),
    ("real", ctypes.c_double),
    ("imaginary", ctypes.c_double),
)
Product = structure(
    "Product",
    ("struct_size", SIZE),
    *((name, POINTER) for name in ("a", "b", "c", "out")),
    ("alpha", Scalar),
    ("beta", Scalar),
    ("index_bits", INT64),
)
Convolution = structure(
    "Convolution",
    ("struct_size", SIZE),
    ("mode", INT64),
    *((name, POINTER) for name in ("input", "weight", "output", "bias")),
    *((name, POINTER) for name in ("stride", "padding", "dilation")),
    ("groups", INT64),
    ("index_bits", INT64),
)
KEPT: list[object] = []  # what the structs point to lives as long as the process


def address(thing: ctypes.Structure | ctypes.Array[object]) -> int:
    KEPT.append(thing)
    return ctypes.addressof(thing)


def sized(kind: type[ctypes.Structure], **members: object) -> ctypes.Structure:
    return kind(struct_size=ctypes.sizeof(kind), **members)


def array(kind: type, items: Sequence[object]) -> int:
    return address((kind * max(len(items), 1))(*items))


def program(inputs: int, parameters: int, lines: Sequence[str], results: Sequence[int]) -> int:
    """Returns the address of a program on float32; a line is an opcode and earlier lines, or a
    slot, or the bits of a constant."""
    instructions, operands = [], []
    for line in lines:
        name, *words = line.split()
        values = [int(word, 0) for word in words]
        made = Instruction(opcode=OPCODES[name], dtype=FLOAT32)
        if name in ("load", "parameter"):
            made.slot = values[0]
        elif name == "constant":
            made.immediate = values[0]
        else:
            made.operand_first, made.operand_count = len(operands), len(values)
            operands += values
        instructions.append(made)
    declared = [FLOAT32, 0, 0, 0] * inputs
    return address(
        sized(
            Program,
            version=VERSION,
            inputs=array(ctypes.c_uint16, declared),
            inputs_count=inputs,
            parameters=array(ctypes.c_uint16, [FLOAT32] * parameters),
            parameters_count=parameters,
            instructions=array(Instruction, instructions),
            instructions_count=len(instructions),
            operands=array(ctypes.c_uint32, operands),
            operands_count=len(operands),
            results=array(ctypes.c_uint32, list(results)),
            results_count=len(results),
        )
    )


class Backend:
    """A backend that is open: its device 0, and generic kernels."""

    def __init__(self, library: Path) -> None:
        host = structure(
            "Host",
            ("struct_size", SIZE),
            ("abi_version", UINT64),
            ("context", POINTER),
            ("log", POINTER),
            ("options", ctypes.c_char_p),
        )
        table = POINTER()
        entry = ctypes.CDLL(str(library)).tbk_backend_create
        if entry(ctypes.byref(sized(host, options=b"memory=512M")), ctypes.byref(table), None):
            raise SystemExit(f"{library}: no backend")
        members = ctypes.cast(table, ctypes.POINTER(POINTER))
        self.core = ctypes.cast(members[4], ctypes.POINTER(POINTER))
        self.instance = POINTER(members[5])
        kernels = ctypes.cast(members[12], ctypes.POINTER(POINTER))
        self.call(self.core[4], 0, None)  # device_open
        find = ctypes.CFUNCTYPE(POINTER, POINTER, INT32, ctypes.c_char_p, ctypes.c_uint32)(
            kernels[1]
        )
        self.kernels = {
            name: ctypes.cast(
                find(self.instance, 0, f"tbk::{name}".encode(), 1), ctypes.POINTER(POINTER)
            )
            for name in ("pointwise", "reduce", "matmul", "convolution")
        }

    def call(self, function: int, *arguments: object) -> None:
        error = ctypes.create_string_buffer(256)
        words = [*arguments[:-1], error] if arguments[-1:] == (None,) else list(arguments)
        if ctypes.CFUNCTYPE(INT32)(function)(self.instance, *words):
            raise SystemExit(error.value.decode())

    def memory(self, size: int) -> ctypes.c_uint64:
        memory = UINT64()
        self.call(self.core[6], 0, UINT64(size), ctypes.byref(memory), None)
        return memory

    def tensor(self, like: torch.Tensor, upload: bool = True) -> ctypes.Structure:
        """Returns a tensor of the device with the sizes, strides and values of this one."""
        size = like.numel() * like.element_size()
        memory = self.memory(size)
        made = sized(
            Tensor,
            memory=memory.value,
            storage_bytes=size,
            dtype=FLOAT32,
            rank=like.dim(),
            sizes=array(INT64, list(like.shape)),
            strides=array(INT64, list(like.stride())),
        )
        if upload:
            data = POINTER(like.data_ptr())
            self.call(self.core[8], 0, memory, UINT64(0), data, UINT64(size), POINTER(), None)
        return made

    def read(self, tensor: ctypes.Structure, like: torch.Tensor) -> torch.Tensor:
        out, size = torch.empty_like(like), UINT64(like.numel() * like.element_size())
        memory = UINT64(tensor.memory)
        data = POINTER(out.data_ptr())
        self.call(self.core[9], 0, data, memory, UINT64(0), size, POINTER(), None)
        return out

    def launch(
        self,
        name: str,
        what: int,
        outputs: Sequence[ctypes.Structure],
        inputs: Sequence[ctypes.Structure],
        inner: Sequence[int] = (),
    ) -> Callable[[], None]:
        """Returns a call of a kernel that takes a program."""
        operands = sized(
            OperandSet,
            outputs=array(POINTER, [address(tensor) for tensor in outputs]),
            inputs=array(POINTER, [address(tensor) for tensor in inputs]),
            inner_sizes=array(INT64, list(inner)) if inner else None,
            inner_rank=len(inner),
        )
        arguments = address(
            sized(
                Arguments,
                what=what,
                sets=array(POINTER, [address(operands)]),
                set_count=1,
                index_bits=64,
            )
        )
        return self.plan(name, arguments)

    def plan(self, name: str, arguments: int) -> Callable[[], None]:
        """Returns a call that computes on the thread that makes it."""
        kernel, plan, bytes_needed = self.kernels[name], POINTER(), UINT64()
        self.call(
            kernel[2], 0, kernel, POINTER(arguments), ctypes.byref(plan),
            ctypes.byref(bytes_needed), None,
        )  # fmt: skip
        run = ctypes.CFUNCTYPE(
            INT32, POINTER, INT32, POINTER, POINTER, UINT64, UINT64, POINTER, POINTER
        )(kernel[3])
        instance = self.instance
        workspace = self.memory(bytes_needed.value).value if bytes_needed.value else 0

        def go() -> None:
            if run(instance, 0, plan, arguments, workspace, 0, None, None):
                raise SystemExit(f"{name} refused its plan")

        return go
