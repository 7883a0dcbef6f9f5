# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Autocast. Which operators are on which of its lists is the backend's choice but for products of
matrices, so the tests ask what an operator does rather than what is on a list."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

Run = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
UNSUPPORTED = torch.int32  # nobody computes products of matrices in it instead of float32

LOWER: dict[str, Run] = {
    "mm": torch.mm,
    "matmul": lambda x, w: x @ w,
    "bmm": lambda x, w: torch.bmm(x[None], w[None]),
    "linear": lambda x, w: functional.linear(x, w, w[0]),
    "conv": lambda x, w: functional.conv1d(x[None], w[:, :, None]),
    "addmm": lambda x, w: torch.addmm(x, x, w),
}
FULL: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mse_loss": lambda x: functional.mse_loss(x, x),
    "l1_loss": lambda x: functional.l1_loss(x, x),
    "exp": torch.exp,
    "pow": lambda x: x.pow(2),
    "softmax": lambda x: x.softmax(-1),
    "asin": torch.asin,
    "log": torch.log,
    "cumsum": lambda x: x.cumsum(0),
    "prod": torch.prod,
    "norm": torch.linalg.vector_norm,
    "layer_norm": lambda x: functional.layer_norm(x, (4,)),
    "cosine_similarity": lambda x: functional.cosine_similarity(x, x),
    "rsqrt": torch.rsqrt,
    "tan": torch.tan,
}
# Of a tensor in lower precision and one in float32: without autocast, the first ones refuse that.
MIXED: dict[str, Run] = {
    "dot": lambda x, y: torch.dot(x[0], y[0]),
    "index_copy": lambda x, y: y.index_copy(0, torch.tensor([0]).to(x.device), x[:1]),
    "scatter_add": lambda x, y: y.scatter_add(
        0, torch.zeros(3, 3, dtype=torch.int64).to(x.device), x
    ),
    "tensordot": lambda x, y: torch.tensordot(x, y, 1),
    "addcmul": lambda x, y: torch.addcmul(y, x, x),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y]),
}
# Few devices have one of these on a list of theirs.
UNCHANGED: dict[str, Run] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "neg": lambda x, y: -x,
    "relu": lambda x, y: functional.relu(x),
    "clone": lambda x, y: x.clone(),
    "view": lambda x, y: x.t(),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "maximum": torch.maximum,
}
OVERLOADS = {
    "add": "add.Tensor", "mul": "mul.Tensor", "neg": "neg", "relu": "relu", "where": "where.self",
    "maximum": "maximum",
}  # fmt: skip


def lower(device: torch.device) -> torch.dtype:
    return torch.get_autocast_dtype(device.type)


def matrices(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns two of small whole numbers: products of them are exact in any precision."""
    made = [host.values((3, 3), torch.int64).remainder(5).float() for _ in range(2)]
    return host.upload(made[0], device), host.upload(made[1], device)


def dtype_of_product(device: torch.device) -> torch.dtype:
    return torch.mm(*matrices(device)).dtype


def supported(device: torch.device) -> list[torch.dtype]:
    """Returns what the device's module says; PyTorch has no module that says it of its own CPU."""
    ask: Any = getattr(torch.get_device_module(device), "get_amp_supported_dtype", None)
    return list(ask()) if ask else [lower(device)]


@clause("AMP-501", needs="autocast module privateuse1")
def test_the_supported_dtypes_are_listed_and_work(device: torch.device, module: Any) -> None:
    listed = module.get_amp_supported_dtype()
    check.that("the list", len(listed) > 0, expected="dtypes", seen=listed)
    check.that("the default", lower(device) in listed, expected=listed, seen=lower(device))
    for dtype in listed:
        check.that("an entry", isinstance(dtype, torch.dtype), expected="a dtype", seen=dtype)
        x, w = matrices(device)
        with torch.autocast(device.type, dtype=dtype):
            product = torch.mm(x, w)
        check.equal("dtype of a product", product.dtype, dtype)
        expected = host.download(x) @ host.download(w)
        check.tensor(f"values in {dtype}", host.download(product).float(), expected)


@pytest.mark.parametrize("name", LOWER)
@clause("AMP-502", needs="autocast")
def test_products_are_of_the_lower_precision(device: torch.device, name: str) -> None:
    for dtype in supported(device):
        x, w = matrices(device)
        with torch.autocast(device.type, dtype=dtype):
            seen = LOWER[name](x, w)
        check.equal(f"{name}: dtype", seen.dtype, dtype)
        check.equal(f"{name}: device", seen.device, device)
        expected = LOWER[name](host.download(x), host.download(w))
        check.tensor(f"{name}: values", host.download(seen).float() + 0, expected + 0)
        check.equal(f"{name}: dtype outside", LOWER[name](x, w).dtype, torch.float32)


@clause("AMP-502", needs="autocast")
def test_gradients_are_of_the_leaves_dtype(device: torch.device) -> None:
    x, w = matrices(device)
    w.requires_grad_()
    with torch.autocast(device.type):
        product = torch.mm(x, w)
    product.float().sum().backward()
    expected = (host.download(x).t() @ torch.ones(3, 3)) + 0
    check.tensor("gradient", host.gradient(w) + 0, expected)


@clause("AMP-502", needs="autocast")
def test_what_needs_float32_gets_it(device: torch.device) -> None:
    dtypes = {}
    for name, run in FULL.items():
        x = host.upload((host.values((4, 4)).tanh() / 2).to(lower(device)), device)
        with torch.autocast(device.type):
            dtypes[name] = run(x).dtype
    given = set(dtypes.values())
    check.that(
        "dtypes", given <= {torch.float32, lower(device)}, expected="one of two", seen=dtypes
    )
    found = torch.float32 in given
    check.that("some run in float32", found, expected="torch.float32", seen=dtypes)


def dtype_or_none(run: Run, x: torch.Tensor, y: torch.Tensor) -> torch.dtype | None:
    """Of the result; None if operands of two dtypes are refused."""
    try:
        return run(x, y).dtype
    except RuntimeError as error:
        if "INTERNAL ASSERT" in str(error):
            raise
        return None


@clause("AMP-502", needs="autocast")
def test_what_is_mixed_gives_the_widest(device: torch.device) -> None:
    refused = []
    for name, run in MIXED.items():
        x, y = host.values((3, 3)).to(lower(device)).to(device), matrices(device)[0]
        outside = dtype_or_none(run, x, y)
        with torch.autocast(device.type):
            seen = dtype_or_none(run, x, y)
        if seen is None:
            check.equal(f"{name} without autocast, where autocast refuses it", outside, None)
            refused.append(name)
            continue
        most = (torch.float32, lower(device)) if name == "tensordot" else (torch.float32,)
        check.that(f"dtype of {name}", seen in most, expected=most, seen=seen)
    some = len(refused) < len(MIXED)
    check.that("some promote", some, expected="a result", seen=f"refused: {refused}")


@clause("AMP-503", needs="autocast privateuse1")
def test_a_dtype_that_is_not_supported_warns(device: torch.device) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autocast(device.type, dtype=UNSUPPORTED):
            check.equal("is_autocast_enabled", torch.is_autocast_enabled(device.type), False)
            check.equal("dtype of a product", dtype_of_product(device), torch.float32)
    texts = [str(one.message) for one in caught]
    said = any("support" in text for text in texts)
    check.that("a warning", said, expected="that it is not supported", seen=texts)


def is_on_a_list(name: str, device: torch.device) -> bool:
    """Returns whether the backend has registered what autocast does with the operator; what only
    moves elements is on no list."""
    key = f"Autocast{torch._C._dispatch_key_for_device(device.type)}"
    return name in OVERLOADS and torch._C._dispatch_has_kernel_for_dispatch_key(
        f"aten::{OVERLOADS[name]}", key
    )


@pytest.mark.parametrize("name", UNCHANGED)
@clause("AMP-504", needs="autocast")
def test_what_is_on_no_list_keeps_its_dtype(device: torch.device, name: str) -> None:
    for dtype in (torch.float32, lower(device)):
        x, y = (one.to(dtype) for one in matrices(device))
        outside = UNCHANGED[name](x, y)
        with torch.autocast(device.type):
            inside = UNCHANGED[name](x, y)
        if inside.dtype != dtype and is_on_a_list(name, device):
            check.evidence(check.NOT_SHOWN, f"{name} is on a list of this device")
            return
        check.equal(f"dtype of {name}", inside.dtype, dtype)
        check.tensor(f"values of {name}", host.download(inside), host.download(outside))


@clause("AMP-504", needs="autocast")
def test_whole_numbers_keep_their_dtype(device: torch.device) -> None:
    x = host.upload(host.counting((4,), torch.int64), device)
    with torch.autocast(device.type):
        check.tensor("a sum", host.download(x + x), host.counting((4,), torch.int64) * 2)
        check.equal("dtype of a comparison", (x > 1).dtype, torch.bool)


@clause("AMP-504", needs="autocast accelerator")
def test_other_devices_are_left_alone(device: torch.device) -> None:
    x, w = matrices(torch.device("cpu"))
    with torch.autocast(device.type):
        check.equal("dtype of a product on the host", torch.mm(x, w).dtype, torch.float32)
    with torch.autocast("cpu"):
        check.equal("dtype under the host's autocast", dtype_of_product(device), torch.float32)


@clause("AMP-505", needs="autocast")
def test_nesting_and_turning_off(device: torch.device) -> None:
    dtype = lower(device)
    with torch.autocast(device.type):
        check.equal("inside", dtype_of_product(device), dtype)
        with torch.autocast(device.type, enabled=False):
            check.equal("turned off", dtype_of_product(device), torch.float32)
            with torch.autocast(device.type):
                check.equal("turned on again", dtype_of_product(device), dtype)
            check.equal("off again", dtype_of_product(device), torch.float32)
        check.equal("on again", dtype_of_product(device), dtype)
    check.equal("outside", dtype_of_product(device), torch.float32)
    try:
        with torch.autocast(device.type):
            raise ValueError
    except ValueError:
        check.equal("outside, left by an exception", dtype_of_product(device), torch.float32)
    wrapped = torch.autocast(device.type)(dtype_of_product)
    check.equal("as a decorator", wrapped(device), dtype)


@clause("AMP-505", needs="autocast")
def test_a_thread_has_an_autocast_of_its_own(device: torch.device) -> None:
    with torch.autocast(device.type):
        seen = host.in_thread(lambda: dtype_of_product(device))
        check.equal("in a new thread", seen, torch.float32)

    def inside() -> tuple[torch.dtype, torch.dtype]:
        with torch.autocast(device.type):
            return dtype_of_product(device), lower(
                device
            )  # what is set for it is the thread's, too

    check.equal("turned on in a thread", *host.in_thread(inside))
    check.equal("here, meanwhile", dtype_of_product(device), torch.float32)


def product_after_a_change(device: torch.device, cache: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The same product before and after its weight has changed, in one autocast."""
    x, w = torch.eye(3).to(device), host.upload(torch.ones(3, 3), device).requires_grad_()
    with torch.autocast(device.type, cache_enabled=cache):
        before = torch.mm(x, w)
        with torch.no_grad():
            w.fill_(2)
        after = torch.mm(x, w)
    return host.download(before).float(), host.download(after).float()


@clause("AMP-505", needs="autocast")
def test_the_cache_goes_with_the_outermost_exit(device: torch.device) -> None:
    x, w = torch.eye(3).to(device), host.upload(torch.ones(3, 3), device).requires_grad_()
    for value in (1.0, 2.0, 3.0):
        with torch.no_grad():
            w.fill_(value)
        with torch.autocast(device.type):
            with torch.autocast(device.type):
                seen = torch.mm(x, w)
            check.tensor("inside", host.download(seen).float(), torch.full((3, 3), value))
            again = torch.mm(x, w)
            check.tensor(
                "after the inner exit", host.download(again).float(), host.download(seen).float()
            )
    for cache in (True, False):
        before, after = product_after_a_change(device, cache)
        check.tensor("before the weight changed", before, torch.ones(3, 3))
        if not cache:
            check.tensor("after it, without a cache", after, torch.full((3, 3), 2.0))
