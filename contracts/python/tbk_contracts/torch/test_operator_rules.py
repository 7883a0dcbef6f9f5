# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What holds of all operators: result types, layouts, operands in place, devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import layouts

F = torch.nn.functional
Binary = Callable[..., torch.Tensor]
BINARY: dict[str, Binary] = {"add": torch.add, "mul": torch.mul, "true_divide": torch.true_divide,
                             "eq": torch.eq, "maximum": torch.maximum}  # fmt: skip
OTHERS = (torch.float32, torch.int64, torch.bool)


def _few(dtype: torch.dtype, shape: tuple[int, ...] = (3,)) -> torch.Tensor:
    """Returns small whole numbers from 1, which every dtype holds."""
    return (host.counting(shape, torch.int64) % 2 + 1).to(dtype)


def _same(
    what: str, call: Callable[..., torch.Tensor], device: torch.device, *args: object
) -> None:
    expected = call(*args)
    placed = [layouts.put(one, device) if isinstance(one, torch.Tensor) else one for one in args]
    check.tensor(what, host.download(call(*placed)), expected)


@each_dtype()
@pytest.mark.parametrize("name", list(BINARY))
@clause("OPS-521", needs="dtype:float32 dtype:int64 dtype:bool")
def test_two_dtypes_give_the_result_type(
    device: torch.device, dtype: torch.dtype, name: str
) -> None:
    one = _few(dtype)
    others = [_few(other, shape) for other in OTHERS for shape in ((3,), ())]
    numbers: list[object] = [] if name == "maximum" else [True, 2, 2.0]
    if name == "maximum" and dtype.is_complex:
        placed = host.upload(one, device)
        check.raises(
            f"{name} of complex numbers", RuntimeError, lambda: torch.maximum(placed, placed)
        )
        return
    if dtype.is_complex and numbers:
        numbers.append(1j)
    for other in [*others, *numbers]:
        seen = _dtype(BINARY[name], one, other, device)
        wanted = torch.bool if name == "eq" else _result_type(one, other)
        if name == "true_divide" and not (wanted.is_floating_point or wanted.is_complex):
            wanted = torch.get_default_dtype()
        check.equal(f"dtype of {name}", seen, wanted)
        _same(f"{name} of two dtypes", BINARY[name], device, one, other)


def _result_type(one: torch.Tensor, other: Any) -> torch.dtype:
    return torch.result_type(one, other)


def _dtype(call: Binary, one: torch.Tensor, other: object, device: torch.device) -> torch.dtype:
    placed = host.upload(other, device) if isinstance(other, torch.Tensor) else other
    return call(host.upload(one, device), placed).dtype


LAYOUTS = ("transposed", "every second", "expanded", "offset", "channels last")
OF_LAYOUT: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: x + x.flip(-1),
    "mul": lambda x: x * 3,
    "neg": torch.neg,
    "relu": torch.relu,
    "gt": lambda x: x > 2,
    "where": lambda x: torch.where(x > 0, x, -x),
    "sum": lambda x: x.sum(-1),
    "sum of all": lambda x: x.sum(),
    "amax": lambda x: x.amax(1),
    "cumsum": lambda x: x.cumsum(2),
    "matmul": lambda x: x @ x.transpose(-1, -2),
    "cat": lambda x: torch.cat([x, x], 1),
    "clone": torch.clone,
    "contiguous": torch.Tensor.contiguous,
    "index_select": lambda x: x.index_select(1, torch.arange(2, device=x.device)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", list(OF_LAYOUT))
@clause("OPS-522", needs="dtype:float32")
def test_strides_change_no_value(device: torch.device, name: str, layout: str) -> None:
    made = layouts.make(layout, (2, 4, 4, 4), torch.float32)
    _same(f"{name} of a tensor that is {layout}", OF_LAYOUT[name], device, made)


OUT: dict[str, tuple[Binary, int]] = {"add": (torch.add, 2), "mul": (torch.mul, 2),
                                      "neg": (torch.neg, 1), "mm": (torch.mm, 2),
                                      "maximum": (torch.maximum, 2)}  # fmt: skip


def _operands(count: int) -> list[torch.Tensor]:
    return [layouts.whole((4, 4), torch.float32) for _ in range(count)]


@pytest.mark.parametrize("name", list(OUT))
@clause("OPS-523", needs="dtype:float32 dtype:int64")
def test_out_is_written_resized_or_refused(device: torch.device, name: str) -> None:
    call, count = OUT[name]
    operands = _operands(count)
    placed = [host.upload(one, device) for one in operands]
    for shape in ((4, 4), (0,)):
        out = host.poisoned(shape, torch.float32, device)
        pointer = out.data_ptr()
        given = call(*placed, out=out)
        check.equal("the result is the tensor given", given is out, True)
        if out.numel() and shape != (0,):
            check.equal("its memory", out.data_ptr(), pointer)
        check.tensor(f"{name} with out=", host.download(out), call(*operands))
    wrong = host.poisoned((4, 4), torch.int64, device)
    check.raises(f"{name} with out= of integers", RuntimeError, lambda: call(*placed, out=wrong))


@pytest.mark.parametrize("layout", ["transposed", "every second", "offset"])
@pytest.mark.parametrize("name", list(OUT))
@clause("OPS-524", needs="dtype:float32")
def test_a_strided_out_is_written_and_nothing_beside(
    device: torch.device, name: str, layout: str
) -> None:
    call, count = OUT[name]
    operands = _operands(count)
    placed = [host.upload(one, device) for one in operands]
    base = host.values((256,))
    held = host.upload(base, device)
    sizes, strides, offset = layouts.strides(layout, (4, 4))
    out = held.as_strided(sizes, strides, offset)
    call(*placed, out=out)
    check.equal("strides of out=", out.stride(), strides)
    expected = base.clone()
    expected.as_strided(sizes, strides, offset).copy_(call(*operands))
    check.tensor(f"memory of an out= that is {layout}", host.download(held), expected)


IN_PLACE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add_": lambda x: x.add_(1),
    "add_ of a tensor": lambda x: x.add_(x),
    "mul_": lambda x: x.mul_(2),
    "neg_": lambda x: x.neg_(),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "relu_": lambda x: x.relu_(),
    "clamp_": lambda x: x.clamp_(-1, 1),
    "copy_": lambda x: x.copy_(x.flip(0)),
    "masked_fill_": lambda x: x.masked_fill_(x > 0, 5),
    "index_add_": lambda x: x.index_add_(0, torch.zeros(1, dtype=torch.int64, device=x.device),
                                         torch.ones((1, 4), device=x.device)),
}  # fmt: skip


@pytest.mark.parametrize("name", list(IN_PLACE))
@clause("OPS-525", needs="dtype:float32 dtype:int64")
def test_in_place_keeps_the_pointer_and_counts_the_version(device: torch.device, name: str) -> None:
    source = layouts.whole((4, 4), torch.float32)
    placed = host.upload(source, device)
    pointer, version = placed.data_ptr(), placed._version
    given = IN_PLACE[name](placed)
    check.equal("the result is the tensor itself", given is placed, True)
    check.equal("pointer afterwards", placed.data_ptr(), pointer)
    check.that("version afterwards", placed._version > version,
               expected=f"more than {version}", seen=placed._version)  # fmt: skip
    check.tensor(name, host.download(placed), IN_PLACE[name](source.clone()))


@pytest.mark.parametrize("name", ["add_", "mul_", "neg_", "copy_"])
@clause("OPS-526", needs="dtype:float32")
def test_writing_to_what_overlaps_itself_is_refused(device: torch.device, name: str) -> None:
    base = host.upload(host.values((8,)), device)
    other = host.upload(host.values((4,)), device)
    arguments = {"add_": (1,), "mul_": (2,), "copy_": (other,)}.get(name, ())
    check.raises(f"{name} on a tensor that is expanded", RuntimeError,
                 lambda: getattr(base[:1].expand(4), name)(*arguments))  # fmt: skip


@clause("OPS-527", needs="dtype:float32")
def test_an_output_may_be_an_input_but_not_a_part_of_one(device: torch.device) -> None:
    source = layouts.whole((64,), torch.float32)
    for name in ("add", "mul", "maximum"):
        call, held = BINARY[name], host.upload(source, device)
        check.raises(f"{name} into a part of its input", RuntimeError,
                     partial(call, held[:-1], held[:-1], out=held[1:]))  # fmt: skip
        call(held, held, out=held)
        check.tensor(f"{name} into its input", host.download(held), call(source, source))


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "copysign_"])
@pytest.mark.parametrize("reads", ["before", "behind"])
@clause("OPS-527", needs="dtype:float32")
def test_what_is_changed_may_not_be_a_part_of_an_input(
    device: torch.device, name: str, reads: str
) -> None:
    """Whichever of two views of one tensor lies before the other."""
    source = layouts.whole((64,), torch.float32)
    held = host.upload(source, device)
    first, last = held[:-1], held[1:]
    changed, read = (last, first) if reads == "before" else (first, last)
    check.raises(f"{name} of a shifted view", RuntimeError,
                 lambda: getattr(changed, name)(read))  # fmt: skip
    check.tensor("the tensor afterwards", host.download(held), source)
    getattr(held, name)(held)
    check.tensor(f"{name} of itself", host.download(held), getattr(source.clone(), name)(source))


MIXED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "mm": torch.mm,
    "cat": lambda x, y: torch.cat([x, y]),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "addmm": lambda x, y: torch.addmm(x, x, y),
    "out of exp": lambda x, y: torch.exp(x, out=y),
    "add_": lambda x, y: x.add_(y),
    "maximum": torch.maximum,
    "linear": F.linear,
}


@pytest.mark.parametrize("name", list(MIXED))
@clause("OPS-528", needs="accelerator dtype:float32")
def test_operands_of_two_devices_are_refused(device: torch.device, name: str) -> None:
    call = MIXED[name]
    ours, theirs = host.upload(host.values((4, 4)), device), host.values((4, 4))
    check.raises(f"{name} with the second on the host", RuntimeError, lambda: call(ours, theirs))
    check.raises(f"{name} with the first on the host", RuntimeError, lambda: call(theirs, ours))


@clause("OPS-528", needs="accelerator dtype:float32")
def test_numbers_of_the_host_are_welcome(device: torch.device) -> None:
    # A power of two, by whose reciprocal quotients are as exact.
    source, number = layouts.whole((4, 4), torch.float32), torch.tensor(4.0)
    placed = host.upload(source, device)
    for name in ("add", "mul", "sub", "maximum", "true_divide"):
        call: Binary = getattr(torch, name)
        check.tensor(f"{name} with a number of the host", host.download(call(placed, number)),
                     call(source, number))  # fmt: skip
    check.tensor("sub from a number of the host", host.download(torch.sub(number, placed)),
                 torch.sub(number, source))  # fmt: skip
