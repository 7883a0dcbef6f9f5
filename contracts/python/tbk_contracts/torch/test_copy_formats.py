# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is asked for as a copy, by each call: in another order of memory, channels last and back,
and in memory of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, needs

SHAPES = ((2, 3, 4, 5), (2, 3, 2, 4, 5), (1, 1, 4, 5))
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def formatted(values: torch.Tensor, form: str) -> torch.Tensor:
    """Returns the same values in memory of another order, or as a part of a larger one."""
    order = FORMATS[values.dim()]
    if form == "last":
        return values.contiguous(memory_format=order)
    if form == "a part":
        wide = torch.cat([values, values], dim=1).contiguous(memory_format=order)
        return wide[:, : values.shape[1]]
    return values


Call = Callable[[torch.Tensor, torch.memory_format], torch.Tensor]
CALLS: dict[str, Call] = {
    "to": lambda x, order: x.to(memory_format=order),
    "to, a copy": lambda x, order: x.to(memory_format=order, copy=True),
    "to another dtype": lambda x, order: x.to(torch.float64, memory_format=order),
    "clone": lambda x, order: x.clone(memory_format=order),
    "contiguous": lambda x, order: x.contiguous(memory_format=order),
    "copy_": lambda x, order: torch.empty_like(x, memory_format=order).copy_(x),
}
WANTED = {"to another dtype": "dtype:float64"}
each_call = pytest.mark.parametrize(
    "by", [pytest.param(name, marks=needs(WANTED.get(name, ""))) for name in CALLS]
)


@pytest.mark.parametrize("form", ["first", "last", "a part"])
@each_call
@clause("CPY-508")
def test_into_another_order_of_memory(device: torch.device, by: str, form: str) -> None:
    for shape, is_last in itertools.product(SHAPES, (True, False)):
        order = FORMATS[len(shape)] if is_last else torch.contiguous_format
        sent = host.values(shape)
        there = formatted(host.upload(sent, device), form)
        made, expected = (CALLS[by](one, order) for one in (there, formatted(sent, form)))
        check.equal("it has the order asked for", made.is_contiguous(memory_format=order),
                    expected.is_contiguous(memory_format=order))  # fmt: skip
        check.tensor(f"values by {by}", host.download(made), expected)
        check.tensor("the source", host.download(there), sent)


@pytest.mark.parametrize("form", ["last", "a part"])
@pytest.mark.parametrize("way", ["upload", "download"])
@clause("CPY-508")
def test_between_host_and_device(device: torch.device, way: str, form: str) -> None:
    for shape in SHAPES:
        sent = host.values(shape)
        if way == "upload":
            there = host.upload(formatted(sent, form), device)
            check.tensor("what was uploaded", host.download(there.clone()), sent)
        else:
            back = torch.full(shape, torch.nan)
            back.copy_(formatted(host.upload(sent, device), form))
            check.tensor("what was downloaded", back, sent)


COPIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "to(device, copy=True)": lambda x: x.to(x.device, copy=True),
    "to(dtype, copy=True)": lambda x: x.to(x.dtype, copy=True),
    "to(other, copy=True)": lambda x: x.to(x, copy=True),
    "to(device, dtype, copy=True)": lambda x: x.to(x.device, x.dtype, copy=True),
    "clone()": lambda x: x.clone(),
    "new_tensor": lambda x: x.new_tensor(x.tolist()),
    "torch.asarray(copy=True)": lambda x: torch.asarray(x, copy=True),
    "the storage's clone()": lambda x: x.new_empty(0).set_(
        x.untyped_storage().clone(), x.storage_offset(), x.shape, x.stride()
    ),
}
PARTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "whole": lambda x: x, "a view": lambda x: x[1:, ::2], "transposed": lambda x: x.t(),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("by", COPIES)
@clause("MEM-590")
def test_a_copy_has_memory_of_its_own(device: torch.device, by: str, part: str) -> None:
    sent = host.values((4, 6))
    old = PARTS[part](host.upload(sent, device))
    made, values = COPIES[by](old), PARTS[part](sent).clone()
    check.equal("the device of the copy", made.device, device)
    check.tensor("the copy", host.download(made), values)
    made.copy_(host.upload(values + 1, device))
    check.tensor("what was copied, once the copy is written", host.download(old), values)
    old.copy_(host.upload(values - 1, device))
    check.tensor("the copy, once what was copied is written", host.download(made), values + 1)
