# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that are lists, that are absent, that are given to be written, or of another kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

To = Callable[[torch.Tensor], torch.Tensor]
Call = Callable[[To], Any]


def numbers(*shape: int) -> torch.Tensor:
    """Whole numbers, so that sums and products are exact."""
    return host.counting(shape) % 7 - 3


LISTS: dict[str, Call] = {
    "cat": lambda to: torch.cat([to(numbers(2, 3)), to(numbers(1, 3)), to(numbers(0, 3))]),
    "cat_of_an_empty_one": lambda to: torch.cat([to(torch.empty(0)), to(numbers(2, 3))]),
    "foreach_add": lambda to: torch._foreach_add([to(numbers(3)), to(numbers(2, 2))], 1),
    "foreach_add_lists": lambda to: torch._foreach_add(
        [to(numbers(3)), to(numbers(2, 2))], [to(numbers(3)), to(numbers(2, 2))], alpha=2
    ),
    "foreach_of_shapes": lambda to: torch._foreach_neg(
        [to(numbers()), to(numbers(0)), to(numbers(4, 3).t())]
    ),
    "foreach_mul_numbers": lambda to: torch._foreach_mul([to(numbers(3)), to(numbers(2))], [2, 3]),
    "stack": lambda to: torch.stack([to(numbers(2, 3)), to(numbers(2, 3).t().reshape(2, 3))], 1),
    "block_diag": lambda to: torch.block_diag(to(numbers(2, 2)), to(numbers(3))),
    "chain_matmul": lambda to: torch.linalg.multi_dot(
        [to(numbers(2, 3)), to(numbers(3, 4)), to(numbers(4, 2))]
    ),
    "index_by_lists": lambda to: to(numbers(4, 5))[
        to(torch.tensor([3, 1])), to(torch.tensor([0, 4]))
    ],
    "meshgrid": lambda to: torch.meshgrid(to(numbers(2)), to(numbers(3)), indexing="ij"),
    "split_and_cat": lambda to: torch.cat(to(numbers(5, 2)).split([2, 3])[::-1]),
}
ABSENT: dict[str, Call] = {
    "batch_norm": lambda to: functional.batch_norm(
        to(torch.zeros(2, 3)), None, None, training=True
    ),
    "clamp_max": lambda to: torch.clamp(to(numbers(5)), None, to(numbers(5) + 1)),
    # No zeros meet: which of 0 and -0 is the greater one PyTorch's CPU answers in either way.
    "clamp_min": lambda to: torch.clamp(to(numbers(5)), to(1 - numbers(5))),
    "conv": lambda to: functional.conv1d(to(numbers(1, 2, 5)), to(numbers(3, 2, 2)), None),
    "index": lambda to: to(numbers(4, 5, 2))[:, to(torch.tensor([3, 1]))],
    "index_between": lambda to: to(numbers(4, 3, 2))[
        to(torch.tensor([3, 1])), :, to(torch.tensor([0, 1]))
    ],
    "linear": lambda to: functional.linear(to(numbers(2, 3)), to(numbers(4, 3)), None),
    "linear_with_bias": lambda to: functional.linear(
        to(numbers(2, 3)), to(numbers(4, 3)), to(numbers(4))
    ),
    "nll_loss": lambda to: functional.nll_loss(
        to(numbers(4, 3)), to(torch.tensor([0, 2, 1, 1])), None, reduction="sum"
    ),
    "bincount": lambda to: torch.bincount(to(torch.tensor([1, 1, 4]))),
}


def flat(given: object) -> list[torch.Tensor]:
    return [given] if isinstance(given, torch.Tensor) else list(given)  # type: ignore[call-overload]


def compare(call: Call, device: torch.device) -> None:
    expected = flat(call(lambda one: one))
    seen = flat(call(lambda one: host.upload(one, device)))
    check.equal("number of results", len(seen), len(expected))
    for index, (one, other) in enumerate(zip(seen, expected, strict=True)):
        check.equal(f"device of result {index}", one.device, device)
        check.tensor(f"result {index}", host.download(one), other)


@pytest.mark.parametrize("name", LISTS)
@clause("OPS-537")
def test_lists_of_tensors(device: torch.device, name: str) -> None:
    compare(LISTS[name], device)


@pytest.mark.parametrize("name", ABSENT)
@clause("OPS-537")
def test_absent_tensors(device: torch.device, name: str) -> None:
    compare(ABSENT[name], device)


@clause("OPS-537")
def test_lists_are_changed_in_place(device: torch.device) -> None:
    here = [numbers(3), numbers(2, 4).t(), numbers(), numbers(0)]
    there = [host.upload(one, device) for one in here]
    for lists in (here, there):
        torch._foreach_mul_(lists, 3)
        torch._foreach_add_(lists, [one.clone() for one in lists], alpha=2)
        torch._foreach_zero_(lists[2:3])
    for index, (one, other) in enumerate(zip(there, here, strict=True)):
        check.tensor(f"tensor {index}", host.download(one), other)
        check.equal(f"version of tensor {index}", one._version, other._version)


def quantised(there: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(there, 0.5, 0, torch.qint8).dequantize()


def sparse(there: torch.Tensor) -> torch.Tensor:
    return there.to_sparse().to_dense()


def compressed(there: torch.Tensor) -> torch.Tensor:
    return there.to_sparse_csr().to_dense()


def nested(there: torch.Tensor) -> torch.Tensor:
    return torch.nested.nested_tensor([there, there]).to_padded_tensor(0.0)[1]


@pytest.mark.parametrize("way", [quantised, sparse, compressed, nested])
@clause("OPS-538")
@pytest.mark.filterwarnings("ignore")  # PyTorch warns that some kinds are in beta, or deprecated
def test_other_kinds_of_tensors_work_or_are_refused(device: torch.device, way: To) -> None:
    here = numbers(3, 4)
    there = host.upload(here, device)
    try:
        seen = way(there)
    except (RuntimeError, NotImplementedError, ValueError) as refused:
        check.that("the refusal", bool(str(refused)), expected="a text", seen=str(refused))
    else:
        check.equal("device", seen.device, device)
        check.tensor("there and back", host.download(seen), here)
    check.tensor("what it was made of", host.download(there), here)


UNARY: dict[str, Callable[..., torch.Tensor]] = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "neg": torch.neg,
    "round": torch.round,
    "sign": torch.sign,
    "square": torch.square,
    "trunc": torch.trunc,
}


@pytest.mark.parametrize("name", UNARY)
@clause("OPS-540")
def test_out_is_written_and_resized(device: torch.device, name: str) -> None:
    run, here = UNARY[name], host.counting((3, 4)) / 4 - 1.5
    there, expected = host.upload(here, device), UNARY[name](here)
    given = host.poisoned((3, 4), torch.float32, device)
    address = given.data_ptr()
    returned = run(there, out=given)
    check.that("what is returned", returned is given, expected="what was given", seen="another")
    check.equal("its memory", given.data_ptr(), address)
    check.tensor("out of the right size", host.download(given), expected)
    empty = torch.empty(0, device=device)
    run(there, out=empty)
    check.tensor("out without elements", host.download(empty), expected)
    base = host.poisoned((4, 6), torch.float32, device)
    run(there, out=base[:, 1:4].t())
    check.tensor("strided out", host.download(base[:, 1:4]), expected.t())
    untouched = host.download(base[:, 4:]).isnan().all()
    check.that("what is beside it", bool(untouched), expected="untouched", seen=host.download(base))
    run(there.t(), out=base.view(-1)[:12].view(4, 3))
    check.tensor("of a strided operand", host.download(base.view(-1)[:12].view(4, 3)), expected.t())


@pytest.mark.parametrize("name", UNARY)
@clause("OPS-540")
def test_out_of_another_dtype_is_refused_or_cast(device: torch.device, name: str) -> None:
    run, here = UNARY[name], host.counting((5,)) - 2
    there = host.upload(here, device)
    given = host.poisoned((5,), torch.int64, device)
    check.raises("whole numbers for floats", RuntimeError, lambda: run(there, out=given))
    expected = torch.full((5,), torch.iinfo(torch.int64).max)
    check.tensor("out after it", host.download(given), expected)


def own_operators(device: torch.device) -> list[str]:
    """Operators that have a kernel of the device's own, and none that any device may use. Those of
    a device that PyTorch has itself are PyTorch's."""
    key = torch._C._dispatch_key_for_device(device.type)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    general = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
    if key != "PrivateUse1":
        return []
    return [
        name
        for name in torch._C._dispatch_get_all_op_names()
        if not name.startswith(("aten::", "prims::")) and has(name, key)
        and not any(has(name, other) for other in general)
    ]  # fmt: skip


def has_shape_function(name: str) -> bool:
    if torch._C._dispatch_has_kernel_for_dispatch_key(name, "Meta"):
        return True
    entry = torch._library.simple_registry.singleton.find(name)
    return entry.fake_impl.kernel is not None


@clause("OPS-541", needs="accelerator")
def test_operators_of_the_backend_tell_shapes(device: torch.device) -> None:
    own = own_operators(device)
    without = [name for name in own if not has_shape_function(name)]
    check.equal("operators without a kernel for meta tensors", without, [])
    if not own:
        check.evidence(check.TRIVIAL, "the backend has no operators of its own")
