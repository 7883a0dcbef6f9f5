# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that a backend may serve with kernels of its own, in every form that they are asked in.

On a backend without kernels all of this runs on the CPU, and must come to the same.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

DTYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
    torch.float64, torch.complex64, torch.complex128, torch.bool, torch.bfloat16,
)  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}
# Of a tensor of the sizes (4, 6).
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "steps": lambda x: x[::2, 1::3].contiguous().repeat(2, 3),
    "slice": lambda x: torch.cat([x, x])[2:6],
    "row": lambda x: x[:1],
    "column": lambda x: x[:, 2:3],
    "vector": lambda x: x[0],
    "number": lambda x: x[1, 1],
    "expanded": lambda x: x[1].expand(4, 6),
}


def values(dtype: torch.dtype, *sizes: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, sizes, generator=generator).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        low = 0 if dtype == torch.uint8 else -9
        return torch.randint(low, 10, sizes, generator=generator).to(dtype)
    real = torch.randint(-16, 17, sizes, generator=generator) / 4
    return torch.complex(real, real.flip(0)).to(dtype) if dtype.is_complex else real.to(dtype)


def outcome(call: Callable[[], Any]) -> Any:
    """Returns what it returns, or the exception it raises, whose text may name the device."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return error


def check(call: Callable[..., Any], device: torch.device, *arguments: torch.Tensor) -> None:
    """The call comes to the same on copies of the arguments on the device, errors included."""
    here = [x.clone() for x in arguments]
    there = [x.to(device) for x in arguments]
    expected = outcome(lambda: call(*here))
    result = outcome(lambda: call(*there))
    if isinstance(expected, Exception):
        assert type(result) is type(expected), f"{result!r} instead of {expected!r}"
        # Also "addmm_impl_cpu_" is a name of the CPU, and stays one.
        assert str(result) in (str(expected), str(expected).replace("cpu", device.type))
        return
    assert isinstance(result, torch.Tensor), repr(result)
    assert result.device == device
    assert result.stride() == expected.stride()
    torch.testing.assert_close(result.cpu(), expected, equal_nan=True)
    for mine, other in zip(there, here, strict=True):
        torch.testing.assert_close(mine.cpu(), other, equal_nan=True)


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_are_promoted(name: str, device: torch.device) -> None:
    for one, other in itertools.product(DTYPES, DTYPES):
        x, y = values(one, 3, 4), values(other, 3, 4, seed=1)
        check(BINARY[name], device, x, y)
        check(BINARY[name], device, x, y[0, 0])
        check(lambda a, b: getattr(a, f"{name}_")(b), device, x, y)


def every_dtype() -> list[torch.dtype]:
    """Returns those of this PyTorch that are whole bytes, which are more with each release."""
    found = {one for one in vars(torch).values() if isinstance(one, torch.dtype)}
    whole = [
        one for one in found if not str(one).startswith(("torch.q", "torch.uint", "torch.int"))
    ]
    return sorted(whole, key=str)


@pytest.mark.parametrize("dtype", every_dtype(), ids=str)
def test_a_dtype_that_kernels_may_not_have(dtype: torch.dtype, device: torch.device) -> None:
    x = torch.zeros(16, dtype=torch.uint8).view(dtype)
    check(lambda a: torch.add(a, a, alpha=2), device, x)
    check(lambda a: torch.sub(a, a[0], alpha=2), device, x)
    check(lambda a: torch.sub(a, a), device, x)
    here, there = outcome(x[0].item), outcome(x.to(device)[0].item)
    assert repr(here) == repr(there)


@pytest.mark.parametrize("name", BINARY)
def test_layouts_broadcast(name: str, device: torch.device) -> None:
    for one, other in itertools.product(LAYOUTS, LAYOUTS):
        x = LAYOUTS[one](values(torch.float32, 4, 6))
        y = LAYOUTS[other](values(torch.float32, 4, 6, seed=1))
        check(BINARY[name], device, x, y)
        check(lambda a, b, c: BINARY[name](a, b, out=c), device, x, y, torch.empty(0))
        if one != "expanded":
            check(lambda a, b: getattr(a, f"{name}_")(b), device, x, y)


@pytest.mark.parametrize("number", [2, -3, 0.5, True, 1 + 2j, 1e300, -(2**40)])
def test_numbers_of_python(number: Any, device: torch.device) -> None:
    for dtype, (name, function) in itertools.product(DTYPES, BINARY.items()):
        if dtype == torch.complex64 and number == 1e300:
            continue  # an infinity: what times 0 is NaN depends on how a kernel multiplies
        x = values(dtype, 2, 3)
        check(lambda a, f=function: f(a, number), device, x)
        check(lambda a, f=function: f(number, a), device, x)
        check(lambda a, name=name: getattr(a, f"{name}_")(number), device, x)


@pytest.mark.parametrize("alpha", [1, 3, -2, 0.5, True, 1j])
def test_alpha(alpha: Any, device: torch.device) -> None:
    for dtype, name in itertools.product(DTYPES, ("add", "sub")):
        x, y = values(dtype, 3, 4), values(dtype, 3, 4, seed=1)
        check(lambda a, b, name=name: BINARY[name](a, b, alpha=alpha), device, x, y)
        check(lambda a, b, name=name: getattr(a, f"{name}_")(b, alpha=alpha), device, x, y)


def test_out_of_another_dtype(device: torch.device) -> None:
    x, y = values(torch.float32, 3, 4), values(torch.int32, 3, 4, seed=1)
    for out, function in itertools.product(DTYPES, BINARY.values()):
        check(lambda a, b, c, f=function: f(a, b, out=c), device, x, y, values(out, 3, 4, seed=2))
        check(lambda a, b, c, f=function: f(a, b, out=c), device, y, y, values(out, 5, seed=2))


def test_overlaps_are_refused_as_on_the_cpu(device: torch.device) -> None:
    calls: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        lambda x: x[:3].add_(x[1:4]),
        lambda x: x[:1].expand(4, 6).mul_(2),
        lambda x: torch.add(x[:3], x[:3], out=x[1:4]),
        lambda x: x.add_(x),
        lambda x: x[1].sub_(x[1]),
        lambda x: x.t().mul_(x[0, 0]),
    )
    for call in calls:
        check(call, device, values(torch.float32, 4, 6))


def test_other_devices_are_refused(device: torch.device) -> None:
    x = values(torch.float32, 3)
    where: Callable[..., Any] = lambda a, b: torch.where(a > 0, a, b)  # noqa: E731
    for function in (*BINARY.values(), where, torch.dot):
        with pytest.raises(RuntimeError, match="same device"):
            function(x.to(device), x)


def test_where_promotes(device: torch.device) -> None:
    condition = values(torch.bool, 3, 4, seed=2)
    for one, other in itertools.product(DTYPES, DTYPES):
        x, y = values(one, 3, 4), values(other, 3, 4, seed=1)
        check(torch.where, device, condition, x, y)
        check(torch.where, device, condition[0], x, y[:, :1])
        out = torch.empty(0, dtype=torch.result_type(x, y))
        check(lambda c, a, b, o: torch.where(c, a, b, out=o), device, condition, x, y, out)


def test_where_in_other_forms(device: torch.device) -> None:
    x = values(torch.float32, 3, 4)
    condition = x > 0
    for call in (
        lambda c, a: torch.where(c, a, 0.0),
        lambda c, a: torch.where(c, 1, a),
        lambda c, a: torch.where(c, a, torch.tensor(2.0, dtype=torch.float64)),
        lambda c, a: torch.where(c.to(torch.uint8), a, a),
        lambda c, a: torch.where(a, a, a),
        lambda c, a: torch.where(c.t(), a.t(), a[0, 0]),
        lambda c, a: torch.where(c[:, :3], a, a),
    ):
        check(call, device, condition, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sum(dtype: torch.dtype, device: torch.device) -> None:
    x = values(dtype, 3, 4, 5)
    for dim in (None, 0, -1, (0, 2), (2, 0, 1), (), 3, (1, 1)):
        for keepdim in (False, True):
            check(lambda a, d=dim, k=keepdim: torch.sum(a, d, k), device, x)
            check(lambda a, d=dim, k=keepdim: torch.sum(a.mT, d, k), device, x)
    check(lambda a: a.sum(), device, x)
    check(lambda a: a[0, 0, 0].sum(0), device, x)
    check(lambda a: a[:0].sum(0), device, x)
    check(lambda a: a[:0].sum(), device, x)


def test_sum_in_another_dtype(device: torch.device) -> None:
    for one, other in itertools.product(DTYPES, DTYPES):
        x = values(one, 3, 4)
        check(lambda a, dtype=other: torch.sum(a, 1, dtype=dtype), device, x)
        check(lambda a, o: torch.sum(a, 0, out=o), device, x, torch.empty(0, dtype=other))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype: torch.dtype, device: torch.device) -> None:
    a, b = values(dtype, 3, 4), values(dtype, 4, 5, seed=1)
    batch, other = values(dtype, 2, 3, 4), values(dtype, 2, 4, 5, seed=1)
    check(torch.mm, device, a, b)
    check(lambda x, y: torch.mm(y.t(), x.t()), device, a, b)
    check(torch.mm, device, a, a)
    check(torch.mm, device, a[:, :0], b[:0])
    check(torch.mm, device, a[:0], b)
    check(lambda x, y, o: torch.mm(x, y, out=o), device, a, b, torch.empty(0, dtype=dtype))
    check(torch.bmm, device, batch, other)
    check(lambda x, y: torch.bmm(y.mT, x.mT), device, batch, other)
    check(torch.mv, device, a, b[:, 0])
    check(torch.dot, device, a[0], b[:, 0])
    check(torch.dot, device, a[0], b[0])
    check(torch.matmul, device, batch, b)


FACTORS = [(1, 1), (1, 2), (0, 1), (0, 3), (2, 1), (0.5, 0.5), (True, True)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_added(dtype: torch.dtype, device: torch.device) -> None:
    for beta, alpha in FACTORS:
        check_added(dtype, beta, alpha, device)


def check_added(dtype: torch.dtype, beta: Any, alpha: Any, device: torch.device) -> None:
    a, b, c = values(dtype, 3, 4), values(dtype, 4, 5, seed=1), values(dtype, 3, 5, seed=2)
    factors = {"beta": beta, "alpha": alpha}
    batch, others = values(dtype, 2, 3, 4), values(dtype, 2, 4, 5, seed=1)
    check(lambda x, y, z: torch.addmm(z, x, y, **factors), device, a, b, c)
    check(lambda x, y, z: torch.addmm(z[0], x, y, **factors), device, a, b, c)
    check(lambda x, y, z: z.addmm_(x, y, **factors), device, a, b, c)
    check(lambda x, y, z: torch.addmv(z[:, 0], x, y[:, 0], **factors), device, a, b, c)
    check(lambda x, y, z: torch.baddbmm(z, x, y, **factors), device, batch, others, c)


def test_nothing_of_an_unread_summand_is_left(device: torch.device) -> None:
    a, b, c = (
        values(torch.float32, 3, 4),
        values(torch.float32, 4, 5),
        torch.full((3, 5), torch.nan),
    )
    check(lambda x, y, z: torch.addmm(z, x, y, beta=0), device, a, b, c)
    check(lambda x, y, z: torch.addmv(z[:, 0], x, y[:, 0], beta=0), device, a, b, c)


@pytest.mark.parametrize("view", ["conj", "neg", "both"])
def test_conjugate_and_negative_views(view: str, device: torch.device) -> None:
    def seen(x: torch.Tensor) -> torch.Tensor:
        x = x.conj() if view != "neg" else x
        return torch._neg_view(x) if view != "conj" else x

    a, b = values(torch.complex64, 3, 3), values(torch.complex64, 3, 3, seed=1)
    for call in (
        lambda x, y: torch.mm(seen(x), y),
        lambda x, y: torch.mm(x, seen(y).t()),
        lambda x, y: torch.dot(seen(x)[0], y[0]),
        lambda x, y: torch.addmm(seen(x), x, seen(y)),
        lambda x, y: seen(x) + y,
        lambda x, y: x * seen(y),
        lambda x, y: seen(x).sum(0),
        lambda x, y: seen(x).add_(y),
        lambda x, y: torch.where(x.real > 0, seen(x), y),
    ):
        check(call, device, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill(dtype: torch.dtype, device: torch.device) -> None:
    values_that_fit = (0, 1, -2, 2.5, True, *((3 + 4j,) if dtype.is_complex else ()))
    for value in values_that_fit:
        check(lambda x, v=value: x.fill_(v), device, values(dtype, 3, 4))
        check(lambda x, v=value: x[:, 1::2].fill_(v), device, values(dtype, 3, 4))


def test_a_complex_number_fills_nothing_real(device: torch.device) -> None:
    x = values(torch.float16, 3).to(device)
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(3 + 4j)
    assert torch.equal(x.cpu(), values(torch.float16, 3))


def products_of_many_shapes(device: torch.device) -> None:
    for _ in range(2):
        for n in range(1, 100):
            a = values(torch.float32, 3, n, seed=n)
            product = a.to(device) @ a.to(device).t()
            torch.testing.assert_close(product.cpu(), a @ a.t())


def test_many_shapes_one_after_the_other(device: torch.device) -> None:
    products_of_many_shapes(device)


def test_plans_are_shared_by_threads(device: torch.device) -> None:
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(products_of_many_shapes, device) for _ in range(4)]:
            done.result()


def test_gradients_are_those_of_the_cpu(device: torch.device) -> None:
    def gradients(where: torch.device | str) -> list[torch.Tensor]:
        x = values(torch.float32, 3, 4).to(where).requires_grad_()
        y = values(torch.float32, 4, 5, seed=1).to(where).requires_grad_()
        z = values(torch.float32, 5, seed=2).to(where).requires_grad_()
        product = torch.addmm(z, x, y)
        chosen = torch.where(product > 0, product * z, product - 2 * z)
        (chosen.sum(0) * z).sum().backward()
        return [tensor.grad.cpu() for tensor in (x, y, z) if tensor.grad is not None]

    torch.testing.assert_close(gradients(device), gradients("cpu"))


def test_what_the_backend_offers_does_not_fall_back(
    device: torch.device, backend: DeviceModule
) -> None:
    x = values(torch.float32, 3, 4).to(device)
    calls: dict[str, Callable[[], torch.Tensor]] = {
        "add.Tensor": lambda: x + x,
        "mul.Tensor": lambda: x * x[0],
        "where.self": lambda: torch.where(x.bool(), x, x),
        "sum.dim_IntList": lambda: x.sum(1),
        "mm": lambda: x @ x.t(),
        "fill_.Scalar": lambda: x.clone().fill_(2),
    }
    offered = backend.capabilities(device)
    for name, call in calls.items():
        call()  # what it needs beside, such as a comparison
        backend.reset_fallbacks()
        call()
        fell = {each.operator.removeprefix("aten::") for each in backend.fallbacks()}
        served = offered[f"kernel {name}"].source == "native"
        operator = name.partition(".")[0]
        assert not (served and any(each.startswith(operator + ".") for each in fell)), fell
