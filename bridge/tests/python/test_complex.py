# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Complex numbers are pairs of real ones on the device: values, gradients, and no fallback."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from beside_cpu import Call, check, signed

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
DTYPES = (torch.complex64, torch.complex128)


@pytest.fixture(autouse=True)
def generic(takes_programs: None) -> Iterator[None]:
    """Only on a backend that takes programs; PyTorch's own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def pairs(*sizes: int, dtype: torch.dtype = torch.complex64) -> Tensor:
    """Returns complex numbers of every quarter of the plane, with some zeros."""
    made = torch.view_as_complex(signed(*sizes, 2))
    made.view(-1)[:: max(made.numel() // 3, 1)] = 0
    return made.to(dtype)


ALONE: dict[str, Call] = {
    one.__name__: one
    for one in (
        torch.abs, torch.acos, torch.acosh, torch.angle, torch.asin, torch.asinh, torch.atan,
        torch.atanh, torch.conj_physical, torch.cos, torch.cosh, torch.exp, torch.exp2, torch.expm1,
        torch.isfinite, torch.isinf, torch.isnan, torch.isreal, torch.log1p, torch.logical_not,
        torch.neg, torch.sgn, torch.sigmoid, torch.sin, torch.sinc, torch.sinh, torch.sqrt,
        torch.square, torch.tan, torch.tanh,
    )
}  # fmt: skip
# These have no value at 0 that the CPU and a program agree on.
BEYOND_ZERO: dict[str, Call] = {
    one.__name__: one for one in (torch.log, torch.log2, torch.log10, torch.reciprocal, torch.rsqrt)
}
TOGETHER: dict[str, Call] = {
    "add": torch.add, "add twice": partial(torch.add, alpha=2), "sub": torch.sub,
    "add by a complex number": partial(torch.add, alpha=0.5 - 2j), "rsub": torch.rsub,
    "mul": torch.mul, "div": lambda x, y: x / (y + 3), "eq": torch.eq, "ne": torch.ne,
    "and": torch.logical_and, "or": torch.logical_or, "xor": torch.logical_xor,
    "pow": lambda x, y: (x + 2).pow(y), "lerp": lambda x, y: x.lerp(y, 0.25),
    "lerp by a tensor": lambda x, y: x.lerp(y, y * 0.3),
    "where": lambda x, y: torch.where(x.real > 0, x, y),
    "addcmul": lambda x, y: x.addcmul(x, y, value=2 - 1j),
    "addcdiv": lambda x, y: x.addcdiv(x, y + 3, value=0.5),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONE)
def test_a_function(
    backend: DeviceModule, device: torch.device, name: str, dtype: torch.dtype
) -> None:
    check(ALONE[name], [pairs(5, 4, dtype=dtype)], backend, device)
    check(ALONE[name], [pairs(3, 8, dtype=dtype).t()[::2]], backend, device)
    check(ALONE[name], [pairs(dtype=dtype)], backend, device)
    check(ALONE[name], [pairs(0, 3, dtype=dtype)], backend, device)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BEYOND_ZERO)
def test_a_function_beyond_zero(
    backend: DeviceModule, device: torch.device, name: str, dtype: torch.dtype
) -> None:
    check(BEYOND_ZERO[name], [pairs(5, 4, dtype=dtype) + (0.5 - 2j)], backend, device)


@pytest.mark.parametrize("name", TOGETHER)
def test_a_function_of_two(backend: DeviceModule, device: torch.device, name: str) -> None:
    for dtype in DTYPES:
        one, other = pairs(5, 4, dtype=dtype), pairs(4, 5, dtype=dtype).t()
        check(TOGETHER[name], [one, other], backend, device)
        check(TOGETHER[name], [one, other[:1]], backend, device)


MIXED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a real tensor": lambda x, y: x + y,
    "a real tensor first": lambda x, y: y * x,
    "a number": lambda x, _: x * 2.5,
    "a complex number": lambda x, _: (1 - 2j) * x,
    "a complex number by a real tensor": lambda _, y: y * (0.5 + 1j),
    "a quotient of a number": lambda x, _: 2 / (x + 3),
    "integers": lambda x, y: x - y.long(),
    "truth values": lambda x, y: x * (y > 0),
    "a tensor of the host": lambda x, _: x * torch.tensor(1.5 - 0.5j),
    "a real tensor of the host": lambda x, _: x / torch.tensor(3.0, dtype=torch.float64),
    "two sizes": lambda x, _: x + x.to(torch.complex128),
    "a power of a number": lambda x, _: 2.0**x,
    "a square": lambda x, _: x**2,
    "the fifth power": lambda x, _: x**5,
    "a complex power": lambda x, _: (x + 2) ** (1.5 + 0.5j),
    "a comparison with a number": lambda x, _: x == 0,
    "in place": lambda x, y: x.mul_(y).add_(2 - 1j).exp_(),
    "in place by itself": lambda x, _: x.mul_(x),
    "in place by its conjugate": lambda x, _: x.mul_(x.conj()),
    "a conjugate": lambda x, _: x.conj() * x,
    "two conjugates": lambda x, _: x.conj() + x.conj().exp(),
    "a negative part": lambda x, y: x.conj().imag * y,
    "the parts": lambda x, y: torch.complex(x.real * y, x.imag - y),
    "the adjoint": lambda x, _: x.mH + 1,
    "a resolved conjugate": lambda x, _: x.conj().resolve_conj(),
    "masked": lambda x, y: x.masked_fill(y > 0, 1 - 2j),
    "without infinities": lambda x, y: (x / y.gt(0)).nan_to_num(0.5, 3.0, -3.0).real,
    "a cross product": lambda x, _: torch.linalg.cross(x[:, :3], x[:, 3:]),
    "added by index": lambda x, y: x.index_add(
        0, torch.tensor([2, 0, 2], device=x.device), x[:3] * y[:3], alpha=1 - 2j
    ),
    "an outer product": lambda x, y: torch.einsum("i,j->ij", x[0], y[1].to(x.dtype)),
    "a covariance": lambda x, _: x.cov(),
    "polar": lambda x, y: torch.polar(x.abs(), y),
}


@pytest.mark.parametrize("name", MIXED)
def test_operands_of_several_kinds(backend: DeviceModule, device: torch.device, name: str) -> None:
    call = MIXED[name]
    check(
        lambda x, y: call(x.detach().clone(), y.detach()),
        [pairs(6, 6), signed(6, 6)],
        backend,
        device,
    )


OUTPUTS: dict[str, tuple[Callable[..., Tensor], torch.dtype]] = {
    "of another size": (partial(torch.mul, other=2j), torch.complex128),
    "of a real function": (torch.abs, torch.float32),
    "of a comparison": (partial(torch.eq, other=0), torch.complex64),
    "of real numbers": (lambda x, out: torch.add(x.real, 1, out=out), torch.complex64),
    "of the angle": (torch.angle, torch.float32),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output(backend: DeviceModule, device: torch.device, name: str) -> None:
    call, dtype = OUTPUTS[name]

    def into(x: Tensor) -> Tensor:
        return call(x, out=torch.zeros(x.t().shape, dtype=dtype, device=x.device).t())

    check(into, [pairs(4, 3)], backend, device)


REFUSED: dict[str, Callable[[Tensor], Tensor]] = {
    "less": lambda x: x < 1,
    "the greater": lambda x: torch.maximum(x, x),
    "a real output": lambda x: torch.mul(x, 2, out=x.real.clone()),
    "the size in place": lambda x: x.abs_(),
    "a sign": torch.sign,
    "a complex term of real numbers": lambda x: torch.add(x.real, x.real, alpha=1j),
    "a floor": torch.floor,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(device: torch.device, name: str) -> None:
    x = pairs(3, 4)
    with pytest.raises(RuntimeError) as there:
        REFUSED[name](x)
    with pytest.raises(RuntimeError) as here:
        REFUSED[name](x.to(device))
    assert str(here.value).splitlines()[0] == str(there.value).splitlines()[0]


LEARNED: dict[str, Call] = {
    "a product": lambda x, y: x * y, "a quotient": lambda x, y: x / (y + 3),
    "a size": lambda x, y: (x + y).abs(), "an angle": lambda x, y: (x * y + 2).angle(),
    "exponentials": lambda x, y: (x.exp() * y.sin()).tanh(),
    "a conjugate": lambda x, y: x.conj() * y, "a sigmoid": lambda x, y: (x * y * 0.25).sigmoid(),
    "a power": lambda x, y: (x + 2) ** y, "a sign": lambda x, y: (x + y).sgn(),
    "a logarithm": lambda x, y: (x + 3).log() * y, "a root": lambda x, y: (x + 3).sqrt() + y,
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNED)
def test_gradients(backend: DeviceModule, device: torch.device, name: str) -> None:
    def of_parts(x: Tensor, y: Tensor) -> Tensor:
        made = LEARNED[name](torch.view_as_complex(x), torch.view_as_complex(y))
        return torch.view_as_real(made) if made.is_complex() else made

    check(of_parts, [signed(5, 4, 2), signed(3, 4, 2)[:1] + 0.25], backend, device)


def test_lists_of_complex_tensors(backend: DeviceModule, device: torch.device) -> None:
    there = [pairs(3, 4), pairs(5)]
    here = [one.to(device) for one in there]
    backend.reset_fallbacks()
    made = torch._foreach_add(torch._foreach_mul(here, 1 - 2j), here)
    torch._foreach_exp_(made)
    assert backend.fallbacks() == []
    wanted = torch._foreach_add(torch._foreach_mul(there, 1 - 2j), there)
    torch._foreach_exp_(wanted)
    for ours, theirs in zip(made, wanted, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


def test_infinities_keep_to_their_parts(backend: DeviceModule, device: torch.device) -> None:
    inf, nan = torch.inf, torch.nan
    x = torch.tensor([complex(inf, 1), complex(nan, -2), complex(0.0, -inf), complex(-1, nan), 0j])
    calls: list[Call] = [
        torch.neg, torch.abs, torch.isnan, torch.isinf, torch.isfinite, torch.conj_physical,
        partial(torch.add, other=1), partial(torch.eq, other=x[0].item()),
    ]  # fmt: skip
    for call in calls:
        check(call, [x], backend, device)


def test_nothing_is_changed_where_the_cpu_computes(
    backend: DeviceModule, device: torch.device
) -> None:
    x = torch.tensor([1 + 2j, -0.5j], dtype=torch.complex32)
    backend.reset_fallbacks()
    torch.testing.assert_close((x.to(device) * 2).cpu(), x * 2)
    assert backend.fallbacks()
