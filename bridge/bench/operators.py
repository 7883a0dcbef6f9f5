# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Generic kernels of a backend on host memory, through the C interface, beside PyTorch's CPU.

Both compute the same values on as many threads, in turn, in one process; a row is the median of the
ratios of neighbours. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

ELEMENTS = 1 << 20
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
    """A backend that is open: its device 0, and the two generic kernels."""

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
            for name in ("pointwise", "reduce")
        }

    def call(self, function: int, *arguments: object) -> None:
        error = ctypes.create_string_buffer(256)
        words = [*arguments[:-1], error] if arguments[-1:] == (None,) else list(arguments)
        if ctypes.CFUNCTYPE(INT32)(function)(self.instance, *words):
            raise SystemExit(error.value.decode())

    def tensor(self, like: torch.Tensor, upload: bool = True) -> ctypes.Structure:
        """Returns a tensor of the device with the sizes, strides and values of this one."""
        memory, size = UINT64(), like.numel() * like.element_size()
        self.call(self.core[6], 0, UINT64(size), ctypes.byref(memory), None)
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
        """Returns a call that computes on the thread that makes it."""
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
        kernel, plan, bytes_needed = self.kernels[name], POINTER(), UINT64()
        self.call(
            kernel[2], 0, kernel, POINTER(arguments), ctypes.byref(plan),
            ctypes.byref(bytes_needed), None,
        )  # fmt: skip
        run = ctypes.CFUNCTYPE(
            INT32, POINTER, INT32, POINTER, POINTER, UINT64, UINT64, POINTER, POINTER
        )(kernel[3])
        instance = self.instance

        def go() -> None:
            if run(instance, 0, plan, arguments, 0, 0, None, None):
                raise SystemExit(f"{name} refused its plan")

        return go


@dataclass
class Row:
    name: str
    ours: Callable[[], None]
    theirs: Callable[[], torch.Tensor]
    result: Callable[[], torch.Tensor]
    most: float | None = None
    ratios: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def pointwise_row(
    backend: Backend,
    name: str,
    lines: Sequence[str],
    inputs: Sequence[torch.Tensor],
    theirs: Callable[[], torch.Tensor],
    most: float | None = None,
) -> Row:
    like = theirs()
    out = backend.tensor(like, upload=False)
    loads = [f"load {i}" for i in range(len(inputs))]
    made = program(len(inputs), 0, [*loads, *lines], [len(loads) + len(lines) - 1])
    ours = backend.launch("pointwise", made, [out], [backend.tensor(x) for x in inputs])
    return Row(name, ours, theirs, lambda: backend.read(out, like), most)


def reduction(lines: Sequence[str], inputs: int, combine: str, identity: int) -> int:
    made = [f"load {i}" for i in range(inputs)] + list(lines)
    return address(
        sized(
            Reduction,
            map=program(inputs, 0, made, [len(made) - 1]),
            combine=program(0, 2, ["parameter 0", "parameter 1", f"{combine} 0 1"], [2]),
            finish=program(0, 1, ["parameter 0"], [0]),
            identity=array(UINT64, [identity]),
            flags=1,
        )
    )


SUM, MAX = ("add", 0), ("max", 0xFF800000)


def reduce_row(
    backend: Backend,
    name: str,
    kind: tuple[str, int],
    x: torch.Tensor,
    dim: Sequence[int],
    theirs: Callable[[], torch.Tensor],
    most: float | None = None,
) -> Row:
    like = theirs()
    out, given = backend.tensor(like, upload=False), backend.tensor(x)
    order = [d for d in range(x.dim()) if d not in dim] + list(dim)
    given.sizes = array(INT64, [x.shape[d] for d in order])
    given.strides = array(INT64, [x.stride(d) for d in order])
    ours = backend.launch(
        "reduce", reduction([], 1, *kind), [out], [given], [x.shape[d] for d in dim]
    )
    return Row(name, ours, theirs, lambda: backend.read(out, like), most)


def softmax_row(backend: Backend, x: torch.Tensor, most: float) -> Row:
    """Two reductions and two pointwise programs: an exponential costs more than a pass."""
    rows, columns = x.shape
    greatest, total = (backend.tensor(x[:, 0].contiguous()) for _ in range(2))
    given, out = backend.tensor(x), backend.tensor(x)
    spread = []
    for row in (greatest, total):
        copy = Tensor.from_buffer_copy(row)
        copy.rank, copy.sizes = 2, given.sizes
        copy.strides = array(INT64, [1, 0])
        spread.append(copy)
    exponentials = program(2, 0, ["load 0", "load 1", "sub 0 1", "exp 2"], [3])
    quotients = program(2, 0, ["load 0", "load 1", "div 0 1"], [2])
    steps = [
        backend.launch("reduce", reduction([], 1, *MAX), [greatest], [given], [columns]),
        backend.launch("pointwise", exponentials, [out], [given, spread[0]]),
        backend.launch("reduce", reduction([], 1, *SUM), [total], [out], [columns]),
        backend.launch("pointwise", quotients, [out], [out, spread[1]]),
    ]

    def ours() -> None:
        for step in steps:
            step()

    def theirs() -> torch.Tensor:
        return torch.softmax(x, 1)

    return Row(f"softmax of {rows} rows", ours, theirs, lambda: backend.read(out, x), most)


def rows(backend: Backend) -> list[Row]:
    torch.manual_seed(1)
    a, b, c = (torch.randn(ELEMENTS) for _ in range(3))
    square = a.view(1024, 1024)
    positive = a.abs() + 0.1
    sigmoid = ["constant 0x3f800000", "constant 0", "sub 2 0", "exp 3", "add 1 4", "div 1 5"]
    gelu = [
        "constant 0x3f3504f3",
        "constant 0x3f800000",
        "constant 0x3f000000",
        "mul 0 1",
        "erf 4",
        "add 5 2",
        "mul 0 3",
        "mul 7 6",
    ]
    return [
        pointwise_row(backend, "add", ["add 0 1"], [a, b], lambda: a + b, 1.5),
        pointwise_row(backend, "mul", ["mul 0 1"], [a, b], lambda: a * b, 1.5),
        pointwise_row(
            backend,
            "add of a row",
            ["add 0 1"],
            [square, b[:1024].expand(1024, 1024)],
            lambda: square + b[:1024],
            1.5,
        ),
        pointwise_row(backend, "sqrt", ["sqrt 0"], [positive], positive.sqrt, 1.5),
        pointwise_row(backend, "exp", ["exp 0"], [a], a.exp, 1.5),
        pointwise_row(backend, "log", ["log 0"], [positive], positive.log, 1.5),
        pointwise_row(backend, "sin", ["sin 0"], [a], a.sin, 1.5),
        pointwise_row(backend, "tanh", ["tanh 0"], [a], a.tanh, 1.5),
        pointwise_row(backend, "erf", ["erf 0"], [a], a.erf, 1.5),
        pointwise_row(backend, "sigmoid", sigmoid, [a], a.sigmoid, 1.5),
        pointwise_row(
            backend, "gelu", gelu, [a], lambda: torch.nn.functional.gelu(a), 1.5
        ),
        pointwise_row(
            backend,
            "five fused",
            ["mul 0 1", "add 3 2", "tanh 4", "mul 5 0", "sub 6 1"],
            [a, b, c],
            lambda: (a * b + c).tanh() * a - b,
            0.6,
        ),
        reduce_row(backend, "sum", SUM, a, [0], a.sum, 1.5),
        reduce_row(backend, "sum of rows", SUM, square, [1], lambda: square.sum(1), 1.5),
        reduce_row(backend, "sum of columns", SUM, square, [0], lambda: square.sum(0), 1.5),
        reduce_row(backend, "max of rows", MAX, square, [1], lambda: square.amax(1), 1.5),
        softmax_row(backend, square, 2.0),
    ]  # fmt: skip


def seconds_of(call: Callable[[], object]) -> float:
    """Returns what a call takes: of the thread's time where there is one, so that others' work on
    the machine counts little."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    begin = clock()
    call()
    return clock() - begin


def measure(row: Row, rounds: int) -> None:
    row.ours()
    seen, right = row.result(), row.theirs()
    torch.testing.assert_close(seen, right, rtol=1e-4, atol=1e-4, msg=lambda m: f"{row.name}: {m}")
    for _ in range(rounds):
        ours, theirs = seconds_of(row.ours), seconds_of(row.theirs)
        row.seconds.append(ours)
        row.ratios.append(ours / theirs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    told = []
    print(
        f"2^20 float32, {arguments.threads} thread(s); ratio to PyTorch's CPU, median (quartiles)"
    )
    for row in rows(Backend(arguments.library)):
        measure(row, arguments.rounds)
        low, middle, high = statistics.quantiles(row.ratios, n=4)
        us = statistics.median(row.seconds) * 1e6
        aim = f"aim {row.most:.1f}" if row.most else ""
        print(f"{row.name:22} {middle:6.2f}  ({low:.2f} to {high:.2f})  {us:8.0f} us  {aim}")
        told.append({"name": row.name, "ratio": middle, "us": us, "most": row.most})
    if arguments.output:
        arguments.output.write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
