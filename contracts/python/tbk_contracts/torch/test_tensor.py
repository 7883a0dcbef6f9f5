# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that change: size, storage and data; and how they are shown, conjugated and negated."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype

Change = Callable[[torch.Tensor], object]


@each_dtype()
@clause("OPS-509")
def test_growing_keeps_the_elements(device: torch.device, dtype: torch.dtype) -> None:
    old = host.values((6,), dtype)
    there = host.upload(old, device)
    there.resize_(1000, 7)
    check.equal("shape", tuple(there.shape), (1000, 7))
    have, enough = there.untyped_storage().nbytes(), 7000 * old.element_size()
    check.that("bytes of the storage", have >= enough, expected=f">= {enough}", seen=have)
    check.tensor("the old elements", host.download(there.view(-1)[:6]), old)
    new = host.values((1000, 7), dtype)
    there.copy_(new)
    check.tensor("all of it, written", host.download(there), new)


@clause("OPS-509")
def test_shrinking_keeps_the_storage(device: torch.device) -> None:
    old = host.values((4, 5))
    there = host.upload(old, device)
    storage = there.untyped_storage()
    address, count = storage.data_ptr(), storage.nbytes()
    for shape in ((3, 2), (0, 3), (20,)):
        there.resize_(shape)
        check.equal("address of the storage", there.untyped_storage().data_ptr(), address)
        check.equal("bytes of the storage", there.untyped_storage().nbytes(), count)
        expected = old.reshape(-1)[: there.numel()].reshape(shape)
        check.tensor("the elements", host.download(there), expected)


@clause("OPS-509")
def test_a_view_grows_behind_its_offset(device: torch.device) -> None:
    old = host.values((6,))
    base = host.upload(old, device)
    view = base[4:]
    view.resize_(100)
    check.equal("offset", view.storage_offset(), 4)
    check.tensor("the view's elements", host.download(view[:2]), old[4:])
    check.tensor("the base", host.download(base), old)


@clause("OPS-509")
def test_resizing_takes_a_format_and_refuses_what_cannot_be(device: torch.device) -> None:
    there = host.upload(host.values((2,)), device)
    there.resize_(1, 2, 3, 4, memory_format=torch.channels_last)
    like = torch.empty(1, 2, 3, 4, memory_format=torch.channels_last)
    check.equal("strides", there.stride(), like.stride())
    check.raises("a negative length", RuntimeError, lambda: there.resize_(-1))


@clause("OPS-510")
def test_set_takes_storage_offset_size_and_strides(device: torch.device) -> None:
    old = host.values((3, 4))
    source = host.upload(old, device)
    there = torch.empty(0, device=device)
    there.set_(source.untyped_storage(), 2, (2, 2), (4, 1))
    check.equal("offset", there.storage_offset(), 2)
    check.equal("strides", there.stride(), (4, 1))
    check.tensor("a part", host.download(there), old[:2, 2:])
    there.fill_(5)
    expected = old.clone()
    expected[:2, 2:] = 5
    check.tensor("the source of the storage, written", host.download(source), expected)
    there.set_(source.untyped_storage())
    count = source.untyped_storage().nbytes() // source.element_size()  # or more than was asked for
    check.equal("shape of the whole storage", tuple(there.shape), (count,))
    check.tensor("the whole storage", host.download(there)[:12], expected.reshape(-1))
    there.set_(source)  # type: ignore[call-overload]
    check.equal("is_set_to a tensor", there.is_set_to(source), True)
    there.set_()  # type: ignore[call-overload]
    check.equal("elements of nothing", there.numel(), 0)
    check.equal("device of nothing", there.device, device)


@clause("OPS-510")
def test_set_checks_what_it_is_given(device: torch.device) -> None:
    source = host.upload(host.counting((4,)), device)
    there = torch.empty(0, device=device)
    storage = source.untyped_storage()
    check.raises("a negative offset", RuntimeError, lambda: there.set_(storage, -1, (2,), (1,)))
    check.raises("a negative stride", RuntimeError, lambda: there.set_(storage, 0, (2,), (-1,)))
    check.raises("too many strides", RuntimeError, lambda: there.set_(storage, 0, (2,), (1, 1)))
    there = torch.empty(0, device=device)
    there.set_(storage, 1, (9,), (1,))
    check.equal("shape beyond the storage", tuple(there.shape), (9,))
    have = there.untyped_storage().nbytes()
    check.that("bytes of the storage that grew", have >= 40, expected=">= 40", seen=have)
    check.tensor("what it held", host.download(there[:3]), torch.tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("rank", range(6))
@clause("OPS-510", needs="dtype:float32")
def test_strides_are_those_asked_for(device: torch.device, rank: int) -> None:
    """In any order of dimensions, with gaps and without, and where elements share memory."""
    source = host.counting((2000,))
    placed = host.upload(source, device)
    shape = (2, 3, 2, 3, 2)[:rank]
    dense = [math.prod(shape[index + 1 :]) for index in range(rank)]
    turned = [math.prod(shape[:index]) for index in range(rank)]
    for steps in (dense, turned, [3 * one for one in dense], [0] * rank, [1] * rank,
                  [*dense[1:], *dense[:1]]):  # fmt: skip
        expected = source.as_strided(shape, steps, 5)
        there = torch.empty(0, device=device)
        there.set_(placed.untyped_storage(), 5, shape, tuple(steps))
        for what, seen in (("set_", there), ("as_strided", placed.as_strided(shape, steps, 5))):
            check.equal(f"strides of {what}", seen.stride(), tuple(steps))
            check.equal(f"offset of {what}", seen.storage_offset(), 5)
            check.tensor(f"elements of {what}", host.download(seen), expected)


@clause("OPS-510", needs="accelerator")
def test_set_refuses_a_storage_of_the_host(device: torch.device) -> None:
    there, elsewhere = torch.empty(0, device=device), host.counting((4,)).untyped_storage()
    check.raises("another device", RuntimeError, lambda: there.set_(elsewhere, 0, (4,), (1,)))


@clause("OPS-512")
def test_data_goes_between_host_and_device(device: torch.device) -> None:
    new = host.values((3,))
    here = torch.zeros(2)
    here.data = host.upload(new, device)
    check.equal("device of what was on the host", here.device, device)
    check.tensor("its values", host.download(here), new)
    there = host.upload(torch.zeros(2), device).requires_grad_()
    there.data = new
    check.equal("device of what was on the device", there.device, new.device)
    check.tensor("its values", host.download(there), new)
    check.equal("requires_grad is kept", there.requires_grad, True)


@clause("OPS-512")
def test_a_module_that_moves_keeps_its_parameters(device: torch.device) -> None:
    model = torch.nn.Linear(3, 2)
    parameter, old = model.weight, model.weight.detach().clone()
    model.to(device)
    check.that("the parameter", model.weight is parameter, expected="the same", seen="another")
    check.equal("device", parameter.device, device)
    check.tensor("values on the device", host.download(parameter), old)
    model.to("cpu")
    check.that("the parameter", model.weight is parameter, expected="the same", seen="another")
    check.tensor("values back on the host", parameter.detach(), old)


@clause("OPS-512")
def test_data_of_another_kind_is_refused(device: torch.device) -> None:
    there, sparse = host.upload(torch.zeros(2), device), torch.ones(2).to_sparse()
    check.raises("sparse data", RuntimeError, lambda: setattr(there, "data", sparse))
    check.tensor("what it held", host.download(there), torch.zeros(2))


PRINTED = {
    "empty": lambda: torch.empty(0, 3),
    "matrix": lambda: host.values((3, 4)),
    "strided": lambda: host.values((4, 3)).t(),
    "number": lambda: torch.tensor(7),
    "integers": lambda: host.values((5,), torch.int64),
    "booleans": lambda: host.values((5,), torch.bool),
    "not_finite": lambda: torch.tensor([1.0, float("nan"), -float("inf")]),
    "summarised": lambda: host.counting((2000,)),
}


@pytest.mark.parametrize("name", PRINTED)
@clause("OPS-542")
def test_printing_shows_the_values_and_changes_nothing(device: torch.device, name: str) -> None:
    here = PRINTED[name]()
    there = host.upload(here, device)
    before = (there._version, there.stride(), there.untyped_storage().data_ptr())
    suffix = "" if device.type == "cpu" else f", device='{device}'"
    text = " ".join(repr(there).split())
    check.that("repr names the device", suffix in text, expected=suffix, seen=text)
    check.equal("repr", text.replace(suffix, ""), " ".join(repr(here).split()))
    check.equal("str", str(there), repr(there))
    after = (there._version, there.stride(), there.untyped_storage().data_ptr())
    check.equal("version, strides and memory after it", after, before)
    check.tensor("values after it", host.download(there), host.download(here))
    if here.numel() == 1:
        check.equal("format", f"{there}", f"{here}")


@clause("OPS-542")
def test_printing_tells_of_autograd(device: torch.device) -> None:
    leaf = host.upload(torch.ones(2), device).requires_grad_()
    check.that("of a leaf", "requires_grad=True" in repr(leaf), expected="so", seen=repr(leaf))
    double = leaf * 2
    check.that("of a result", "grad_fn=<Mul" in repr(double), expected="grad_fn", seen=repr(double))
    double.sum().backward()
    check.tensor("the gradient afterwards", host.gradient(leaf), torch.full((2,), 2.0))


FLAGGED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "conjugate": torch.conj,
    "conjugate_of_a_part": lambda x: x[1:, ::2].conj(),
    "conjugate_transpose": lambda x: x.mH,
    "negative": lambda x: x.conj().imag,
    "negative_of_a_part": lambda x: x.conj().imag[:, 1],
    "negative_conjugate": lambda x: torch._neg_view(x.conj()),
}


@pytest.mark.parametrize("name", FLAGGED)
@clause("OPS-543", needs="dtype:complex64")
def test_flagged_views_are_copied_rightly(device: torch.device, name: str) -> None:
    here = host.values((3, 4), torch.complex64)
    there = host.upload(here, device)
    view, seen = FLAGGED[name](here), FLAGGED[name](there)
    expected = view.clone().resolve_conj().resolve_neg()
    check.equal("is_conj", seen.is_conj(), view.is_conj())
    check.equal("is_neg", seen.is_neg(), view.is_neg())
    check.tensor("to the host", host.download(seen), expected)
    check.tensor("a clone", host.download(seen.clone()), expected)
    check.tensor("resolved", host.download(seen.resolve_conj().resolve_neg()), expected)
    plain = host.poisoned(expected.shape, expected.dtype, device)
    plain.copy_(seen)
    check.tensor("copied on the device", host.download(plain), expected)
    here_again = torch.zeros_like(expected)
    here_again.copy_(seen)
    check.tensor("copied into a tensor of the host", here_again, expected)


@pytest.mark.parametrize("name", FLAGGED)
@clause("OPS-543", needs="dtype:complex64")
def test_flagged_views_are_written_rightly(device: torch.device, name: str) -> None:
    here = host.values((3, 4), torch.complex64)
    there = host.upload(here, device)
    new = host.values(FLAGGED[name](here).shape, FLAGGED[name](here).dtype)
    FLAGGED[name](here).copy_(new)
    FLAGGED[name](there).copy_(new)
    check.tensor("written from the host", host.download(there), here)
    again = host.values(new.shape, new.dtype)
    FLAGGED[name](here).copy_(again)
    FLAGGED[name](there).copy_(host.upload(again, device))
    check.tensor("written on the device", host.download(there), here)
