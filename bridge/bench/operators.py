# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Generic kernels of a backend on host memory, through the C interface, beside PyTorch's CPU.

Both compute the same values on as many threads, in turn, in one process; a row is the median of the
ratios of neighbours. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from generic import (
    INT64,
    UINT64,
    Backend,
    Convolution,
    Product,
    Reduction,
    Scalar,
    Tensor,
    address,
    array,
    program,
    sized,
)

ELEMENTS = 1 << 20
REAL = 1  # the kind of a scalar that is a double


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


def float_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def reduction(
    lines: Sequence[str], inputs: int, combine: str, identity: int, ends: Sequence[str] = ()
) -> int:
    made = [f"load {i}" for i in range(inputs)] + list(lines)
    return address(
        sized(
            Reduction,
            map=program(inputs, 0, made, [len(made) - 1]),
            combine=program(0, 2, ["parameter 0", "parameter 1", f"{combine} 0 1"], [2]),
            finish=program(0, 1, ["parameter 0", *ends], [len(ends)]),
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


def spread(row: Tensor, like: Tensor) -> Tensor:
    """Returns one number a row as a matrix of the sizes of `like`."""
    copy = Tensor.from_buffer_copy(row)
    copy.rank, copy.sizes, copy.strides = 2, like.sizes, array(INT64, [1, 0])
    return copy


def in_turn(steps: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def run() -> None:
        for step in steps:
            step()

    return run


def softmax_row(backend: Backend, x: torch.Tensor, most: float) -> Row:
    """The greatest, the sum of exponentials, and a program: as PyTorch's operator is composed."""
    rows, columns = x.shape
    greatest, total = (backend.tensor(x[:, 0].contiguous()) for _ in range(2))
    given, out = backend.tensor(x), backend.tensor(x)
    less = spread(greatest, given)
    exponentials = reduction(["sub 0 1", "exp 2"], 2, *SUM)
    lines = ["load 0", "load 1", "load 2", "sub 0 1", "exp 3", "div 4 2"]
    ours = [
        backend.launch("reduce", reduction([], 1, *MAX), [greatest], [given], [columns]),
        backend.launch("reduce", exponentials, [total], [given, less], [columns]),
        backend.launch(
            "pointwise", program(3, 0, lines, [5]), [out], [given, less, spread(total, given)]
        ),
    ]

    def theirs() -> torch.Tensor:
        return torch.softmax(x, 1)

    name = f"softmax of {rows} rows"
    return Row(name, in_turn(ours), theirs, lambda: backend.read(out, x), most)


def norm_row(backend: Backend, x: torch.Tensor, most: float) -> Row:
    """The mean, 1 / root of the variance, and a program: as PyTorch's operator is composed."""
    rows, columns = x.shape
    mean, scale = (backend.tensor(x[:, 0].contiguous()) for _ in range(2))
    given, out = backend.tensor(x), backend.tensor(x)
    share, less = f"constant {float_bits(1 / columns):#x}", spread(mean, given)
    whole = reduction([], 1, *SUM, [share, "mul 0 1"])
    ends = [share, f"constant {float_bits(1e-5):#x}", f"constant {float_bits(1):#x}"]
    ends += ["mul 0 1", "add 4 2", "sqrt 5", "div 3 6"]
    squares = reduction(["sub 0 1", "mul 2 2"], 2, *SUM, ends)
    lines = ["load 0", "load 1", "load 2", "sub 0 1", "mul 3 2"]
    ours = [
        backend.launch("reduce", whole, [mean], [given], [columns]),
        backend.launch("reduce", squares, [scale], [given, less], [columns]),
        backend.launch(
            "pointwise", program(3, 0, lines, [4]), [out], [given, less, spread(scale, given)]
        ),
    ]

    def theirs() -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, (columns,))

    name = f"layer norm of {rows} rows"
    return Row(name, in_turn(ours), theirs, lambda: backend.read(out, x), most)


def product_row(backend: Backend, size: int, most: float) -> Row:
    a, b = (torch.randn(size, size) for _ in range(2))
    out = backend.tensor(a, upload=False)
    made = sized(
        Product,
        a=address(backend.tensor(a)),
        b=address(backend.tensor(b)),
        out=address(out),
        alpha=Scalar(kind=REAL, real=1.0),
        index_bits=64,
    )
    ours = backend.plan("matmul", address(made))
    return Row(f"matmul {size}", ours, lambda: a @ b, lambda: backend.read(out, a), most)


def convolution_rows(backend: Backend, what: str, x: torch.Tensor, taps: int) -> list[Row]:
    """A convolution of as many filters as channels, "same", and both gradients."""
    padding = [taps // 2] * 2
    weight, y = torch.randn(x.shape[1], x.shape[1], taps, taps) / taps, torch.randn_like(x)
    given = [y, x, weight]

    def row(mode: int) -> Row:
        tensors = [backend.tensor(each) for each in given]
        made = sized(
            Convolution,
            mode=mode,
            output=address(tensors[0]),
            input=address(tensors[1]),
            weight=address(tensors[2]),
            stride=array(INT64, [1, 1]),
            padding=array(INT64, padding),
            dilation=array(INT64, [1, 1]),
            groups=1,
            index_bits=64,
        )

        def theirs() -> torch.Tensor:
            if mode == 0:
                return torch.conv2d(x, weight, padding=padding)
            mask = [mode == 1, mode == 2, False]
            return torch.ops.aten.convolution_backward(
                y, x, weight, None, [1, 1], padding, [1, 1], False, [0, 0], 1, mask
            )[mode - 1]

        ours = backend.plan("convolution", address(made))
        name = f"{what}{('', ', by input', ', by weight')[mode]}"
        return Row(name, ours, theirs, lambda: backend.read(tensors[mode], given[mode]), 3.0)

    return [row(mode) for mode in range(3)]


def convolutions(backend: Backend) -> list[Row]:
    return [
        *convolution_rows(backend, "3x3", torch.randn(2, 64, 32, 32), 3),
        *convolution_rows(backend, "3x3 of 4x4", torch.randn(2, 128, 4, 4), 3),
        *convolution_rows(backend, "1x1", torch.randn(2, 128, 32, 32), 1),
    ]


def rows(backend: Backend) -> list[Row]:
    torch.manual_seed(1)
    a, b, c = (torch.randn(ELEMENTS) for _ in range(3))
    square = a.view(1024, 1024)
    positive = a.abs() + 0.1
    sigmoid = ["constant 0x3f800000", "constant 0", "sub 2 0", "exp 3", "add 1 4", "div 1 5"]
    gelu = [
        "constant 0x3f3504f3",
        "constant 0x3f000000",
        "mul 0 2",
        "mul 0 1",
        "erf 4",
        "fma 3 5 3",
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
        norm_row(backend, square, 2.0),
        product_row(backend, 512, 1.2),
        *convolutions(backend),
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
    parser.add_argument("--case", default="", help="only rows whose name has this in it")
    parser.add_argument("--output", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    told = []
    print(f"float32, {arguments.threads} thread(s); ratio to PyTorch's CPU, median (quartiles)")
    for row in rows(Backend(arguments.library)):
        if arguments.case not in row.name:
            continue
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
