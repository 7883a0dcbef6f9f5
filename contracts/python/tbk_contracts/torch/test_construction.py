# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that are made: memory, layouts, factories and fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype

FORMATS = {
    "contiguous": (torch.contiguous_format, (2, 3, 4, 5)),
    "channels_last": (torch.channels_last, (2, 3, 4, 5)),
    "channels_last_3d": (torch.channels_last_3d, (2, 3, 4, 5, 6)),
}
STRIDES = {
    "dense": ((3, 4), (4, 1)),
    "transposed": ((3, 4), (1, 3)),
    "gaps": ((3, 4), (11, 2)),
    "expanded": ((3, 4), (0, 1)),
    "all_zero": ((3, 4), (0, 0)),
    "no_elements": ((0, 4), (4, 1)),
    "a_single_one": ((), ()),
}


def covered(size: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """Returns elements that a storage has at least."""
    if 0 in size:
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


def check_is_made(made: torch.Tensor, like: torch.Tensor, device: torch.device) -> None:
    """`made` is on the device as `like` is on the host, and holds what is written to it."""
    check.equal("device", made.device, device)
    check.equal("dtype", made.dtype, like.dtype)
    check.equal("shape", tuple(made.shape), tuple(like.shape))
    check.equal("strides", made.stride(), like.stride())
    check.equal("storage offset", made.storage_offset(), 0)
    enough = covered(tuple(made.shape), made.stride()) * made.element_size()
    have = made.untyped_storage().nbytes()
    check.that("bytes of the storage", have >= enough, expected=f">= {enough}", seen=have)
    if 0 not in made.stride():
        values = host.values(made.shape, made.dtype)
        made.copy_(values)
        check.tensor("what was written", host.download(made), values)


@pytest.mark.parametrize("name", FORMATS)
@clause("OPS-501")
def test_empty_has_the_memory_format_asked_for(device: torch.device, name: str) -> None:
    memory_format, shape = FORMATS[name]
    like = torch.empty(shape, memory_format=memory_format)
    check_is_made(torch.empty(shape, memory_format=memory_format, device=device), like, device)


@each_dtype()
@clause("OPS-501")
def test_empty_has_the_dtype_asked_for(device: torch.device, dtype: torch.dtype) -> None:
    for shape in ((), (0,), (7,), (3, 0, 2), (2, 3, 4)):
        like = torch.empty(shape, dtype=dtype)
        check_is_made(torch.empty(shape, dtype=dtype, device=device), like, device)


@clause("OPS-501")
def test_empty_like_preserves_the_format(device: torch.device) -> None:
    for like in (
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last),
        torch.empty(2, 3, 4).permute(2, 0, 1),
        torch.empty(2, 3, 8)[..., ::2],
        torch.empty(3, 1).expand(3, 4),
    ):
        there = host.upload(like, device)
        expected = torch.empty_like(host.download(there))
        check_is_made(torch.empty_like(there), expected, device)
        check_is_made(torch.empty_like(there, dtype=torch.int64), expected.to(torch.int64), device)


LIKE: dict[str, Callable[..., torch.Tensor]] = {
    "empty_like": torch.empty_like,
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda x, **said: torch.full_like(x, 3, **said),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
}


@pytest.mark.parametrize("given", FORMATS)
@pytest.mark.parametrize("name", LIKE)
@clause("OPS-501")
def test_what_is_made_alike_has_the_memory_format_asked_for(
    device: torch.device, name: str, given: str
) -> None:
    for wanted, shape in FORMATS.values():
        if len(shape) == len(FORMATS[given][1]):
            like = torch.zeros(shape).contiguous(memory_format=FORMATS[given][0])
            there = host.upload(like, device)
            for said in (wanted, torch.contiguous_format, torch.preserve_format):
                check_is_made(LIKE[name](there, memory_format=said),
                              LIKE[name](like, memory_format=said), device)  # fmt: skip


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "_mkldnn"])
@clause("OPS-501")
def test_another_layout_is_made_or_refused(device: torch.device, layout: str) -> None:
    asked: torch.layout = getattr(torch, layout)
    try:
        made = torch.empty((2, 3), layout=asked, device=device)
    except (RuntimeError, NotImplementedError) as error:
        check.that("the message", bool(str(error)), expected="a text", seen=str(error))
        return
    check.equal("layout", made.layout, asked)
    check.equal("device", made.device, device)


@pytest.mark.parametrize("name", STRIDES)
@clause("OPS-502")
def test_empty_strided_has_the_strides_asked_for(device: torch.device, name: str) -> None:
    size, stride = STRIDES[name]
    for dtype in (torch.float32, torch.uint8):
        like = torch.empty_strided(size, stride, dtype=dtype)
        check_is_made(torch.empty_strided(size, stride, dtype=dtype, device=device), like, device)


@clause("OPS-502")
def test_negative_strides_are_refused(device: torch.device) -> None:
    check.raises(
        "a negative stride", RuntimeError,
        lambda: torch.empty_strided((2, 3), (-3, 1), device=device),
    )  # fmt: skip
    check.raises(
        "sizes and strides of different lengths", RuntimeError,
        lambda: torch.empty_strided((2, 3), (1,), device=device),
    )  # fmt: skip


SMALL: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "neg": torch.neg,
    "add": lambda x: x + x,
    "multiply_by_a_number": lambda x: x * 3,
    "where": lambda x: torch.where(x > 0, x, -x),
    "clone": torch.clone,
    "reshape": lambda x: x.reshape(-1),
    "sum": torch.sum,
    "cat": lambda x: torch.cat([x.reshape(-1), x.reshape(-1)]),
    "compare": lambda x: x == x,  # noqa: PLR0124  # an operator
    "to_int64": lambda x: x.to(torch.int64),
    "fill": lambda x: x.clone().fill_(5),
    "zero": lambda x: x.clone().zero_(),
    "copy": lambda x: torch.ones_like(x).copy_(x),
    "product_of_matrices": lambda x: x.reshape(-1, 2) @ x.reshape(2, -1),
}


@pytest.mark.parametrize("name", SMALL)
@clause("OPS-503")
def test_operands_without_elements_or_dimensions(device: torch.device, name: str) -> None:
    shapes: tuple[tuple[int, ...], ...] = ((), (0,), (2, 0, 3), (1, 1))
    if name == "product_of_matrices":
        shapes = ((0,), (2, 0, 3))
    for shape in shapes:
        operand = host.counting(shape) + 7
        expected = SMALL[name](operand)
        result = SMALL[name](host.upload(operand, device))
        check.equal(f"{shape}: device", result.device, device)
        check.tensor(f"{shape}: {name}", host.download(result), expected)


@clause("OPS-503")
def test_a_product_over_no_elements_is_zero(device: torch.device) -> None:
    left, right = torch.empty(3, 0), torch.empty(0, 4)
    result = host.upload(left, device) @ host.upload(right, device)
    check.tensor("(3, 0) @ (0, 4)", host.download(result), torch.zeros(3, 4))


Factory = Callable[[Any, torch.dtype], torch.Tensor]
FACTORIES: dict[str, Factory] = {
    "arange": lambda to, dtype: torch.arange(1, 20, 3, dtype=dtype, device=to),
    "arange_downwards": lambda to, dtype: torch.arange(8, 0, -2, dtype=dtype, device=to),
    "eye": lambda to, dtype: torch.eye(3, 4, dtype=dtype, device=to),
    "full": lambda to, dtype: torch.full((2, 3), 1, dtype=dtype, device=to),
    "linspace": lambda to, dtype: torch.linspace(0, 8, 9, dtype=dtype, device=to),
    "ones": lambda to, dtype: torch.ones(2, 3, dtype=dtype, device=to),
    "tensor": lambda to, dtype: torch.tensor([[0, 1], [3, 5]], dtype=dtype, device=to),
    "tri": lambda to, dtype: torch.tril_indices(3, 4, device=to).to(dtype),
    "zeros": lambda to, dtype: torch.zeros(2, 3, dtype=dtype, device=to),
    "zeros_of_nothing": lambda to, dtype: torch.zeros(0, 3, dtype=dtype, device=to),
}
Fill = Callable[[torch.Tensor], torch.Tensor]
FILLS: dict[str, Fill] = {
    "fill": lambda x: x.fill_(3),
    "fill_by_a_tensor": lambda x: x.fill_(torch.tensor(5, device=x.device)),
    "fill_a_column": lambda x: x[:, 1].fill_(1),
    "fill_a_row": lambda x: x[1].fill_(0),
    "full_like": lambda x: torch.full_like(x, 1),
    "new_full": lambda x: x.new_full((3,), 1),
    "ones_like": torch.ones_like,
    "zero": lambda x: x.zero_(),
    "zero_every_second": lambda x: x[:, ::2].zero_(),
    "zeros_like": torch.zeros_like,
}


def refused_or_more(name: str, call: Callable[[], torch.Tensor], dtype: torch.dtype) -> None:
    """What the CPU refuses is refused, in whatever type of RuntimeError; or the device has more."""
    try:
        made = call()
    except RuntimeError as refused:
        check.that(f"{name}: the refusal", bool(str(refused)), expected="a text", seen=str(refused))
        return
    check.equal(f"{name}, which the CPU lacks: dtype", made.dtype, dtype)


@each_dtype()
@clause("OPS-511")
def test_factories_give_what_the_host_gives(device: torch.device, dtype: torch.dtype) -> None:
    for name, make in FACTORIES.items():
        try:
            expected = make("cpu", dtype)
        except RuntimeError:
            refused_or_more(name, partial(make, device, dtype), dtype)
            continue
        made = make(device, dtype)
        check.equal(f"{name}: device", made.device, device)
        check.tensor(name, host.download(made), expected)


@each_dtype()
@clause("OPS-511")
def test_fills_give_what_the_host_gives(device: torch.device, dtype: torch.dtype) -> None:
    for name, fill in FILLS.items():
        before = host.values((3, 5), dtype)
        here, there = before.clone(), host.upload(before, device)
        expected, result = fill(here), fill(there)
        check.equal(f"{name}: device", result.device, device)
        check.tensor(f"{name}: result", host.download(result), expected)
        check.tensor(f"{name}: all of it", host.download(there), here)


@contextmanager
def deterministic() -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    settings: Any = torch.utils.deterministic
    fills = settings.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    settings.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        settings.fill_uninitialized_memory = fills


def _held(tensor: torch.Tensor) -> int:
    """Returns how many elements fit into its storage, which may be more than was asked for."""
    return tensor.untyped_storage().nbytes() // tensor.element_size()


@each_dtype()
@clause("OPS-513")
def test_fresh_memory_is_filled(device: torch.device, dtype: torch.dtype) -> None:
    held = _held(host.upload(host.counting((4,), dtype), device).clone())

    def made(to: torch.device) -> dict[str, torch.Tensor]:
        old = host.counting((4,), dtype).to(to)
        return {
            "empty": torch.empty(64, dtype=dtype, device=to),
            "empty_strided": torch.empty_strided((6, 5), (1, 6), dtype=dtype, device=to),
            "empty_like": torch.empty_like(old),
            "new_empty": old.new_empty(3),
            "resize_": old.clone().resize_(held + 5),
        }

    # What is used again must not hold the right values by chance.
    used = [host.upload(host.counting((64,), dtype), device) for _ in range(8)]
    del used
    with deterministic():
        here, there = made(torch.device("cpu")), made(device)
    for name, wanted in here.items():
        pair = [host.download(there[name]), wanted]
        if name == "resize_":  # what its storage held already is no fresh memory
            pair = [torch.cat([one[:4], one[held:]]) for one in pair]
        check.tensor(name, pair[0], pair[1])
