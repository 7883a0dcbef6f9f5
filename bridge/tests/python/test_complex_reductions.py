# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reductions, scans and copies of complex numbers, as pairs of reals: beside PyTorch's CPU."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from beside_cpu import tensors

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[[Tensor], Any]

pytestmark = pytest.mark.usefixtures("takes_programs")

COMPLEX = [torch.complex64, torch.complex128]
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
OTHER = {torch.complex64: torch.complex128, torch.complex128: torch.complex64}

NAN, INF = math.nan, math.inf
ODD = [complex(NAN, 1), complex(1, NAN), complex(INF, 1), complex(2, -INF), complex(NAN, INF),
       complex(-0.0, 0.0), complex(0.0, NAN)]  # fmt: skip
REDUCTIONS: dict[str, Call] = {
    "sum": lambda x: x.sum(),
    "sum of one": lambda x: x.sum(0),
    "sum of two": lambda x: x.sum((0, -1), keepdim=True),
    "mean": lambda x: x.mean(),
    "mean of one": lambda x: x.mean(-1, keepdim=True),
    "product": lambda x: x.prod(),
    "product of one": lambda x: x.prod(1),
    "any": lambda x: x.any(),
    "any of one": lambda x: x.any(0),
    "any of two": lambda x: x.any((0, 1)),
    "all": lambda x: x.all(),
    "all of one": lambda x: x.all(-1, keepdim=True),
    "all of two": lambda x: x.all((0, 1)),
    "count": lambda x: x.count_nonzero(),
    "count of one": lambda x: x.count_nonzero(1),
    "variance": lambda x: x.var(),
    "variance of one": lambda x: x.var(0, correction=0, keepdim=True),
    "deviation": lambda x: x.std(1),
    "variance and mean": lambda x: torch.var_mean(x, 1),
    "deviation and mean": torch.std_mean,
    "norm": torch.linalg.norm,
    "norm of one": lambda x: torch.norm(x, 1.5, dim=1),
    "vector norm": lambda x: torch.linalg.vector_norm(x, dim=0),
    "count as a norm": lambda x: torch.linalg.vector_norm(x, 0),
    "norm of sizes": lambda x: torch.linalg.vector_norm(x, 1, dim=0, keepdim=True),
    "norm to a power": lambda x: torch.linalg.vector_norm(x, -2.5, dim=1),
}
EXTREMES: dict[str, Call] = {
    "greatest size": lambda x: torch.linalg.vector_norm(x, math.inf, dim=1),
    "least size": lambda x: torch.linalg.vector_norm(x, -math.inf, dim=1),
    "greatest size of all": lambda x: torch.linalg.norm(x.flatten(), math.inf),
    "greatest size of one": lambda x: torch.linalg.vector_norm(x[:1], math.inf, dim=0),
}
SCANS: dict[str, Call] = {
    "running sum": lambda x: x.cumsum(0),
    "running sum of the last": lambda x: x.cumsum(-1),
    "running product": lambda x: x.cumprod(1),
    "running product in place": lambda x: x.clone().cumprod_(0),
    "running sum in place": lambda x: x.clone().cumsum_(1),
}
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda x: x,
    "turned": lambda x: x.mT,
    "stepped": lambda x: x[:, ::2],
    "behind": lambda x: x[1:],
    "conjugate": lambda x: x.conj(),
    "negative": lambda x: x._neg_view(),
    "both": lambda x: x.mT.conj()._neg_view(),
    "expanded": lambda x: x[:1].expand(3, -1),
}


def pairs(dtype: torch.dtype, *sizes: int) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(sizes, generator=generator, dtype=torch.complex128).to(dtype)


def placed(value: Tensor, device: torch.device) -> Tensor:
    there = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
    return there.copy_(value)


def parts(value: Tensor) -> Tensor:
    """Returns them as they are compared: an infinity may stand beside a number."""
    here = value.cpu().resolve_conj()
    return torch.view_as_real(here) if here.is_complex() else here


def compare(seen: Any, expected: Any) -> None:
    for ours, theirs in zip(tensors(seen), tensors(expected), strict=True):
        assert (ours.dtype, ours.shape, ours.stride()) == (
            theirs.dtype, theirs.shape, theirs.stride(),
        )  # fmt: skip
        torch.testing.assert_close(parts(ours), parts(theirs), rtol=1e-5, atol=1e-5,
                                   equal_nan=True)  # fmt: skip


def check(call: Call, value: Tensor, backend: DeviceModule, device: torch.device) -> None:
    expected, there = call(value), placed(value, device)
    backend.reset_fallbacks()
    seen = call(there)
    assert backend.fallbacks() == []
    compare(seen, expected)


@pytest.fixture
def takes_scans(backend: DeviceModule, device: torch.device) -> None:
    backend.reset_fallbacks()
    torch.ones(2, device=device).cumsum(0)
    if backend.fallbacks():
        pytest.skip("the backend does not offer tbk::scan")


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction(
    name: str, layout: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call, view = REDUCTIONS[name], LAYOUTS[layout]
    value = pairs(dtype, 5, 6)
    value[2, 3] = value[1, 1] = 0
    check(lambda x: call(view(x)), value, backend, device)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("odd", [0, *ODD], ids=str)
@pytest.mark.parametrize("name", EXTREMES)
def test_an_extreme_size(
    name: str, odd: complex, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    """It is one that abs gives; its gradient goes to where it is."""
    call, value = EXTREMES[name], pairs(dtype, 5, 6)
    if odd != 0:
        value[2, 3] = torch.tensor(odd)
    there = placed(value, device)
    backend.reset_fallbacks()
    sizes = there.abs()
    seen = call(there)
    assert backend.fallbacks() == []
    compare(seen, call(value))
    if odd == 0:
        assert torch.isin(seen.cpu(), sizes.cpu()).all()
        slopes = [torch.autograd.grad(call(one.requires_grad_()).sum(), one)[0]
                  for one in (there, value)]  # fmt: skip
        compare(slopes[0], slopes[1])


@pytest.mark.usefixtures("takes_scans")
@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SCANS)
def test_a_scan(
    name: str, layout: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call, view = SCANS[name], LAYOUTS[layout]
    check(lambda x: call(view(x)), pairs(dtype, 5, 6), backend, device)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if "var" not in name])
def test_of_many(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    value = torch.polar(torch.ones(3, 700, dtype=REAL[dtype]), pairs(dtype, 3, 700).real)
    check(REDUCTIONS[name], value, backend, device)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "name", [name for name in REDUCTIONS if "norm" not in name and "size" not in name]
)
def test_of_nothing(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    """Of no numbers, and of none for each result."""
    call = REDUCTIONS[name]
    for sizes in ((0, 3), (3, 0)):
        value = pairs(dtype, *sizes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of degrees of freedom
            compare(call(placed(value, device)), call(value))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name in (
    "sum", "mean", "product", "any", "all", "count", "norm", "norm of sizes")])  # fmt: skip
def test_of_a_number(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call = REDUCTIONS["vector norm" if name == "norm of sizes" else name]
    check(call, torch.tensor(3 - 4j, dtype=dtype), backend, device)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", [
    "sum", "sum of one", "mean", "mean of one", "any", "any of one", "all of one", "count of one",
    "variance of one", "norm", "vector norm", "norm of sizes",
])  # fmt: skip
@pytest.mark.parametrize("odd", ODD, ids=str)
def test_of_what_is_not_finite(
    odd: complex, name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    value = pairs(dtype, 3, 4)
    value[1, 2] = torch.tensor(odd)
    check(REDUCTIONS[name], value, backend, device)


def test_a_size_whose_square_is_none(backend: DeviceModule, device: torch.device) -> None:
    value = torch.tensor([complex(3e30, 4e30), complex(3e-30, 4e-30), 0], dtype=torch.complex64)
    check(lambda x: torch.linalg.vector_norm(x, 1, 0), value, backend, device)


CAST: dict[str, Callable[[Tensor, torch.dtype], Any]] = {
    "sum": lambda x, d: x.sum(0, dtype=d),
    "mean": lambda x, d: x.mean(0, dtype=d),
    "product": lambda x, d: x.prod(dtype=d),
    "product of one": lambda x, d: x.prod(0, dtype=d),
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", CAST)
def test_an_argument_of_dtype(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    """Real numbers become complex ones, and the other way round with a warning."""
    call, value = CAST[name], pairs(dtype, 4, 3)
    for of in (value.real.contiguous(), value.real.mul(9).to(torch.int32)):
        check(lambda x: call(x, dtype), of, backend, device)
    check(lambda x: call(x, OTHER[dtype]), value, backend, device)
    torch.set_warn_always(True)
    try:
        there = placed(value, device)
        with pytest.warns(UserWarning, match="discards the imaginary part"):
            expected = call(value, REAL[dtype])
        backend.reset_fallbacks()
        with pytest.warns(UserWarning, match="discards the imaginary part"):
            seen = call(there, REAL[dtype])
        assert backend.fallbacks() == []
        compare(seen, expected)
    finally:
        torch.set_warn_always(False)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_a_norm_of_another_dtype(
    dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    value = pairs(dtype, 4, 3)
    check(lambda x: torch.linalg.vector_norm(x, dtype=torch.complex128), value, backend, device)
    check(lambda x: torch.norm(x, 2, 0, dtype=torch.complex128), value, backend, device)
    for call in (
        lambda x: torch.linalg.vector_norm(x, dtype=REAL[dtype]),
        lambda x: torch.linalg.vector_norm(x.real, dtype=dtype),
        lambda x: torch.linalg.vector_norm(x, out=torch.empty((), dtype=dtype, device=x.device)),
        lambda x: torch.amax(x, 0),
        torch.nansum,
    ):
        for of in (value, placed(value, device)):
            with pytest.raises((RuntimeError, NotImplementedError)):
                call(of)


OUT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda x, o: torch.sum(x, 0, out=o),
    "mean": lambda x, o: torch.mean(x, 0, out=o),
    "product": lambda x, o: torch.prod(x, 0, out=o),
    "running sum": lambda x, o: torch.cumsum(x, 0, out=o),
    "running product": lambda x, o: torch.cumprod(x, 0, out=o),
    "variance": lambda x, o: torch.var(x, 0, out=o),
    "vector norm": lambda x, o: torch.linalg.vector_norm(x, 2, 0, out=o),
}


@pytest.mark.usefixtures("takes_scans")
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", OUT)
def test_an_output(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call, value = OUT[name], pairs(dtype, 4, 3)
    expected = call(value, torch.empty(0, dtype=dtype if "var" not in name and "norm" not in name
                                       else REAL[dtype]))  # fmt: skip
    there = placed(value, device)
    shape, of = expected.shape, expected.dtype
    for out in (torch.empty(0, dtype=of, device=device),
                torch.empty(7, dtype=of, device=device),
                torch.empty(*shape, 2, dtype=of, device=device)[..., 1]):  # fmt: skip
        backend.reset_fallbacks()
        assert call(there, out) is out
        assert backend.fallbacks() == [] or not out.is_contiguous()
        assert out.shape == shape
        torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-5)
    conjugate = torch.empty(shape, dtype=of, device=device).conj()
    call(there, conjugate)
    torch.testing.assert_close(conjugate.cpu().resolve_conj(), expected, rtol=1e-5, atol=1e-5)


MOVES: dict[str, Call] = {
    "as they are": lambda x: x.clone(),
    "in order": lambda x: x.contiguous(),
    "with their signs": lambda x: x.resolve_conj().resolve_neg(),
    "to complex64": lambda x: x.to(torch.complex64),
    "to complex128": lambda x: x.to(torch.complex128),
    "to truth values": lambda x: x.to(torch.bool),
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MOVES)
def test_copies(
    name: str, layout: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call, view = MOVES[name], LAYOUTS[layout]
    value = pairs(dtype, 4, 6)
    value[1, 2] = torch.tensor(complex(NAN, -INF))
    value[2, 2] = torch.tensor(2j)
    check(lambda x: call(view(x)), value, backend, device)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "of", [torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.uint8]
)
def test_real_numbers_become_complex(
    of: torch.dtype, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    check(lambda x: x.to(dtype), pairs(dtype, 4, 6).real.abs().to(of), backend, device)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("to", [torch.float32, torch.float64, torch.int32, torch.float16])
def test_what_loses_its_imaginary_part(
    to: torch.dtype, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    value = pairs(dtype, 4, 6)
    there = placed(value, device)
    torch.set_warn_always(True)
    try:
        for view in LAYOUTS.values():
            with pytest.warns(UserWarning, match="discards the imaginary part"):
                expected = view(value).to(to)
            with pytest.warns(UserWarning, match="discards the imaginary part"):
                seen = view(there).to(to)
            torch.testing.assert_close(seen.cpu(), expected)
    finally:
        torch.set_warn_always(False)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_what_is_written_as_it_is_read(dtype: torch.dtype, device: torch.device) -> None:
    value = pairs(dtype, 4, 4)
    changes: list[Call] = [
        lambda x: x.copy_(x.conj()),
        lambda x: x.conj().copy_(x),
        lambda x: x.copy_(x.mT.conj().clone()),
        lambda x: x.copy_(x._neg_view()),
        lambda x: x._neg_view().copy_(x.conj()),
        lambda x: x[:2].copy_(x[2:].conj()),
    ]
    for change in changes:
        expected, there = value.clone(), placed(value, device)
        change(expected)
        change(there)
        assert torch.equal(there.cpu(), expected)
