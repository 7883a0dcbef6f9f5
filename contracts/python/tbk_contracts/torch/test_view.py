# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Views: the same memory seen otherwise, with its version and its part in autograd."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, needs

View = Callable[[torch.Tensor], torch.Tensor]

# Of a contiguous tensor of (2, 3, 4).
VIEWS: dict[str, View] = {
    "alias": torch.ops.aten.alias,
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 5),
    "as_strided_from_where_it_is": lambda x: x.as_strided((2, 2), (3, 1)),
    "chunk": lambda x: x.chunk(2, 2)[1],
    "detach": torch.Tensor.detach,
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "expand": lambda x: x.expand(5, 2, 3, 4),
    "flatten": lambda x: x.flatten(1),
    "index_by_numbers": lambda x: x[1, :, 2],
    "index_by_slices": lambda x: x[:, 1:, ::2],
    "movedim": lambda x: x.movedim(0, 2),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "permute": lambda x: x.permute(2, 0, 1),
    "reshape": lambda x: x.reshape(6, 4),
    "select": lambda x: x.select(1, 2),
    "split": lambda x: x.split([1, 3], 2)[1],
    "squeeze": lambda x: x[:1].squeeze(0),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "t": lambda x: x[1].t(),
    "tensor_split": lambda x: x.tensor_split(3, 2)[1],
    "transpose": lambda x: x.transpose(0, 2),
    "unbind": lambda x: x.unbind(1)[2],
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "unfold": lambda x: x.unfold(2, 3, 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "view": lambda x: x.view(4, 6),
    "view_as_complex": lambda x: torch.view_as_complex(x.view(2, 3, 2, 2)),
    "view_of_a_dtype": lambda x: x.view(torch.int32),
    "view_of_a_narrow_dtype": lambda x: x.view(torch.uint8),
}
OVERLAPPING = ("expand", "unfold")  # nobody may write to them
SEES_BITS = ("view_of_a_dtype", "view_of_a_narrow_dtype", "view_as_complex")


def each_view(*names: str) -> pytest.MarkDecorator:
    """Returns one test for each of the views; it takes a parameter `name`."""
    return pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=needs("dtype:complex64") if name == "view_as_complex" else ())
         for name in names],
    )  # fmt: skip


def base_tensor() -> torch.Tensor:
    return host.values((2, 3, 4))


@each_view(*VIEWS)
@clause("OPS-504")
def test_what_the_base_gets_the_view_sees(device: torch.device, name: str) -> None:
    base, new = host.upload(base_tensor(), device), base_tensor()
    view = VIEWS[name](base)
    base.copy_(new)
    check.tensor(f"{name} after its base was written", host.download(view), VIEWS[name](new))


@each_view(*(name for name in VIEWS if name not in OVERLAPPING))
@clause("OPS-504")
def test_what_the_view_gets_the_base_sees(device: torch.device, name: str) -> None:
    here = base_tensor()
    there = host.upload(here, device)
    new = host.values(VIEWS[name](here).shape, VIEWS[name](here).dtype)
    for base in (here, there):
        VIEWS[name](base).copy_(new)
    check.tensor(f"the base after {name} was written", host.download(there), here)


@clause("OPS-504")
def test_views_of_views_share_it_all(device: torch.device) -> None:
    here = base_tensor()
    there = host.upload(here, device)
    rows, last = there.view(6, 4).t(), there[1][2]
    for base in (here, there):
        base.transpose(0, 2)[1:3, 0].fill_(100)
        base[1].t()[2].mul_(-1)
        base.view(4, 6)[:, 2:4].zero_()
    check.tensor("the base", host.download(there), here)
    check.tensor("a view of a view", host.download(rows), here.view(6, 4).t())
    check.tensor("a row of a row", host.download(last), here[1][2])


@clause("OPS-504")
def test_a_view_keeps_its_memory(device: torch.device) -> None:
    new = host.values((1000,))
    view = host.upload(new, device)[10:12]  # the base goes at once
    for _ in range(4):
        host.poisoned((1000,), torch.float32, device)
    check.tensor("a view whose base has gone", host.download(view), new[10:12])


@clause("OPS-505")
def test_as_strided_stays_in_the_storage(device: torch.device) -> None:
    base = host.upload(host.counting((16,)), device)
    end = base.untyped_storage().nbytes() // base.element_size()  # 16, or more than was asked for
    for what, size, stride, offset in (
        ("a negative offset", (2,), (1,), -1),
        ("an offset beyond the storage", (1,), (1,), end),
        ("an end beyond the storage", (3,), (1,), end - 2),
        ("strides beyond the storage", (2, 2), (end - 1, 1), 0),
        ("a negative stride", (2,), (-1,), 4),
    ):
        call = (size, stride, offset)
        check.raises(what, RuntimeError, partial(torch.as_strided, base, *call))
    last = torch.as_strided(base, (2, 2), (13, 1), 1)
    check.tensor("the last element", host.download(last), torch.tensor([[1.0, 2.0], [14.0, 15.0]]))
    check.equal("shape of nothing", tuple(torch.as_strided(base, (0,), (1,), 16).shape), (0,))


@clause("OPS-506")
def test_a_view_that_does_not_fit_is_refused(device: torch.device) -> None:
    base = host.upload(host.counting((4, 4)), device)
    wrong: dict[str, View] = {
        "another number of elements": lambda x: x.view(5, 5),
        "transposed": lambda x: x.t().view(-1),
        "a part of each row": lambda x: x[:, :3].view(-1),
        "expanded": lambda x: x[0].expand(3, 4).view(-1),
        "a wider dtype of odd rows": lambda x: x[:, :3].view(torch.int64),
        "complex numbers of odd rows": lambda x: torch.view_as_complex(x[:, :3]),
        "two unknown lengths": lambda x: x.view(-1, -1),
    }
    for what, call in wrong.items():
        check.raises(what, RuntimeError, partial(call, base))


@clause("OPS-506")
def test_reshape_copies_where_it_must(device: torch.device) -> None:
    here = host.values((4, 6))
    views: dict[str, View] = {
        "transposed": lambda x: x.t(),
        "a part of each row": lambda x: x[:, :3],
        "expanded": lambda x: x[0].expand(3, 6),
    }
    for what, strided in views.items():
        there = host.upload(here, device)
        copied = strided(there).reshape(-1)
        there.zero_()
        check.tensor(f"reshape of {what}", host.download(copied), strided(here).reshape(-1))


def check_is_of_the_storage(name: str, here: torch.Tensor, there: torch.Tensor) -> None:
    """Checks that a view of `there` is one, as it is of `here`, the same on the host."""
    view, expected = VIEWS[name](there), VIEWS[name](here)
    storage, base = view.untyped_storage(), there.untyped_storage()
    check.equal("device", view.device, there.device)
    check.equal("address of the storage", storage.data_ptr(), base.data_ptr())
    check.equal("bytes of the storage", storage.nbytes(), base.nbytes())
    check.equal("shape", tuple(view.shape), tuple(expected.shape))
    check.equal("strides", view.stride(), expected.stride())
    check.equal("offset", view.storage_offset(), expected.storage_offset())
    check.equal("dtype", view.dtype, expected.dtype)
    check.tensor("values", host.download(view), expected)


@each_view(*VIEWS)
@clause("OPS-507")
def test_a_view_is_of_the_same_storage(device: torch.device, name: str) -> None:
    here = base_tensor()
    check_is_of_the_storage(name, here, host.upload(here, device))


@each_view(*VIEWS)
@clause("OPS-507")
def test_a_view_of_what_begins_later_is_of_the_same_storage(
    device: torch.device, name: str
) -> None:
    here = host.values((3, 3, 4))
    check_is_of_the_storage(name, here[1:], host.upload(here, device)[1:])


@clause("OPS-508")
def test_a_view_and_its_base_have_one_version(device: torch.device) -> None:
    base = host.upload(base_tensor(), device)
    view, other = base[0], base.t() if base.dim() == 2 else base.transpose(0, 1)
    for what, write in (
        ("in place", lambda: view.mul_(2)),
        ("fill_", lambda: view.fill_(1)),
        ("zero_", view.zero_),
        ("copy_", lambda: view.copy_(torch.ones(3, 4))),
        ("add_", lambda: view.add_(view)),
        ("out=", lambda: torch.neg(view, out=view)),
        ("setitem", lambda: base.__setitem__((0, 0), 4.0)),
    ):
        before = base._version
        write()
        check.equal(f"version of the base after {what}", base._version, before + 1)
        check.equal(f"version of the view after {what}", view._version, base._version)
        check.equal(f"version of another view after {what}", other._version, base._version)
    check.equal("version of a detached one", base.detach()._version, base._version)


@clause("OPS-508")
def test_a_write_spoils_what_was_saved(device: torch.device) -> None:
    leaf = host.upload(base_tensor(), device).requires_grad_()
    base = leaf.clone()
    product = (base * base).sum()
    base[0].zero_()
    check.raises(
        "backward through a changed tensor", RuntimeError, product.backward,
        "modified by an inplace operation",
    )  # fmt: skip


@clause("OPS-508")
def test_writing_to_a_view_is_differentiated(device: torch.device) -> None:
    values, factor = host.counting((2, 3)), torch.tensor([2.0, 3.0, 4.0])

    def gradient(to: torch.device) -> tuple[torch.Tensor, bool]:
        x, weight = host.upload(values, to).requires_grad_(), factor.to(to)
        y = x.clone()
        y[0].mul_(weight)
        y.t()[2].zero_()
        y.view(-1)[1:2].copy_(x[1, 1:2] * 7)
        (y * weight).sum().backward()
        return host.gradient(x), y._is_view()

    here, there = gradient(torch.device("cpu")), gradient(device)
    check.tensor("gradient", there[0], here[0])
    check.equal("the written base is a view", there[1], here[1])


@clause("OPS-508")
def test_a_leaf_may_not_be_written(device: torch.device) -> None:
    leaf = host.upload(base_tensor(), device).requires_grad_()
    check.raises("a leaf in place", RuntimeError, lambda: leaf.mul_(2), "leaf")
    check.raises("a view of a leaf in place", RuntimeError, lambda: leaf[0].mul_(2), "leaf")
    with torch.no_grad():
        leaf[0].mul_(2)
    check.equal("the leaf's version after a write without grad", leaf._version, 1)
    view_of = leaf[0]._base
    check.that("base of the view", view_of is leaf, expected="the leaf", seen=type(view_of))
