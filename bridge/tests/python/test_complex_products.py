# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Products of complex matrices, as products of their parts on the device: beside PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from products import skip_unless_served
from torch.nn import functional

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[[dict[str, Tensor]], Tensor]
COMPLEX = [torch.complex64, torch.complex128]
SHAPES = {"a": (5, 7), "b": (7, 4), "c": (5, 4), "A": (3, 5, 7), "B": (3, 7, 4), "C": (3, 5, 4),
          "u": (7,), "v": (5,), "w": (4,)}  # fmt: skip
FACTORS: dict[str, Any] = {"beta": 3 - 0.5j, "alpha": 0.25 + 2j}
CALLS: dict[str, Call] = {
    "mm": lambda o: torch.mm(o["a"], o["b"]),
    "mm of turned": lambda o: torch.mm(o["b"].t(), o["a"].t()),
    "mm of conjugates": lambda o: torch.mm(o["b"].mH, o["a"].mH),
    "mm of one conjugate": lambda o: torch.mm(o["a"].conj(), o["b"]),
    "mm of the other conjugate": lambda o: torch.mm(o["a"], o["b"].conj()),
    "mm of negatives": lambda o: torch.mm(o["a"]._neg_view(), o["b"].conj()._neg_view()),
    "bmm": lambda o: torch.bmm(o["A"], o["B"]),
    "bmm of conjugates": lambda o: torch.bmm(o["B"].mH, o["A"].mH),
    "bmm of one": lambda o: torch.bmm(o["a"].expand(3, 5, 7), o["B"]),
    "mv": lambda o: torch.mv(o["a"], o["u"]),
    "mv of conjugates": lambda o: torch.mv(o["a"].conj(), o["u"].conj()),
    "dot": lambda o: torch.dot(o["u"], o["b"][:, 1]),
    "dot of a conjugate": lambda o: torch.dot(o["u"].conj(), o["b"][:, 1]),
    "vdot": lambda o: torch.vdot(o["u"], o["a"][1]),
    "vdot of conjugates": lambda o: torch.vdot(o["u"].conj(), o["a"][1].conj()),
    "addmm": lambda o: torch.addmm(o["c"], o["a"], o["b"], **FACTORS),
    "addmm without the summand": lambda o: torch.addmm(o["c"], o["a"], o["b"], beta=0, alpha=2),
    "addmm of a conjugate": lambda o: torch.addmm(o["c"].conj(), o["a"].conj(), o["b"], **FACTORS),
    "addmm of a row": lambda o: torch.addmm(o["w"], o["a"], o["b"]),
    "addmm of a column": lambda o: torch.addmm(o["v"][:, None], o["a"], o["b"], **FACTORS),
    "addmm_": lambda o: o["c"].clone().addmm_(o["a"], o["b"], **FACTORS),
    "addmv": lambda o: torch.addmv(o["v"], o["a"], o["u"], **FACTORS),
    "addmv of a number": lambda o: torch.addmv(o["v"][0], o["a"], o["u"]),
    "addmv_": lambda o: o["v"].clone().addmv_(o["a"], o["u"], **FACTORS),
    "baddbmm": lambda o: torch.baddbmm(o["C"], o["A"], o["B"], **FACTORS),
    "baddbmm of a row": lambda o: torch.baddbmm(o["w"], o["A"], o["B"]),
    "baddbmm_": lambda o: o["C"].clone().baddbmm_(o["A"], o["B"], **FACTORS),
    "addbmm": lambda o: torch.addbmm(o["c"], o["A"], o["B"], **FACTORS),
    "addbmm_": lambda o: o["c"].clone().addbmm_(o["A"], o["B"], **FACTORS),
    "addr": lambda o: torch.addr(o["c"], o["v"], o["w"], **FACTORS),
    "addr of a number": lambda o: torch.addr(o["c"][0, 0], o["v"], o["w"]),
    "addr_": lambda o: o["c"].clone().addr_(o["v"], o["w"], **FACTORS),
    "matmul": lambda o: torch.matmul(o["A"], o["b"]),
    "linear": lambda o: functional.linear(o["a"], o["b"].t(), o["w"]),
    "linear of a batch": lambda o: functional.linear(o["A"], o["b"].t()),
    "multi_dot": lambda o: torch.linalg.multi_dot([o["a"], o["b"], o["c"].t()]),
    "power": lambda o: torch.linalg.matrix_power(o["a"][:, :5], 3),
}  # fmt: skip


@pytest.fixture(autouse=True)
def served(backend: DeviceModule, device: torch.device, takes_programs: None) -> None:
    skip_unless_served(backend, device)


def operands(dtype: torch.dtype) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(11)
    return {name: torch.randn(shape, generator=generator, dtype=torch.complex128).to(dtype)
            for name, shape in SHAPES.items()}  # fmt: skip


def moved(value: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    return {name: one.to(device) for name, one in value.items()}


def close(seen: Tensor, expected: Tensor) -> None:
    loose = 1e-4 if expected.dtype == torch.complex64 else 1e-11
    torch.testing.assert_close(seen.cpu(), expected, rtol=loose, atol=loose, equal_nan=True)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", CALLS)
def test_a_product(
    name: str, dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    call, here = CALLS[name], operands(dtype)
    there, expected = moved(here, device), CALLS[name](here)
    backend.reset_fallbacks()
    seen = call(there)
    assert backend.fallbacks() == []
    assert (seen.dtype, seen.shape, seen.stride()) == (
        expected.dtype, expected.shape, expected.stride(),
    )  # fmt: skip
    close(seen.resolve_conj(), expected.resolve_conj())


@pytest.mark.parametrize("dtype", COMPLEX)
def test_it_is_counted_once(
    dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    there = moved(operands(dtype), device)
    backend.reset_routes()
    torch.addmm(there["c"], there["a"], there["b"], **FACTORS)
    counts = {(row.operator, row.route): row.count for row in backend.routes() if row.count}
    assert counts == {("aten::addmm.out", "composed"): 1}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dtype", COMPLEX)
def test_outputs(dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    here = operands(dtype)
    there = moved(here, device)
    expected = torch.addmm(here["c"], here["a"], here["b"], **FACTORS)
    summand = there["c"].clone()
    outputs = [
        torch.empty(0, dtype=dtype, device=device),
        torch.empty(4, 5, dtype=dtype, device=device).t(),
        torch.empty(3, 3, dtype=dtype, device=device),
        summand,
        torch.empty(5, 4, dtype=dtype, device=device).conj(),
    ]
    for out in outputs:
        of = summand if out is summand else there["c"]
        assert torch.addmm(of, there["a"], there["b"], **FACTORS, out=out) is out
        close(out.resolve_conj(), expected)
    close(there["c"], here["c"])
    with pytest.raises(RuntimeError):
        torch.mm(there["a"], there["b"], out=torch.empty(5, 4, device=device))
    with pytest.raises(RuntimeError):
        torch.mm(there["a"], there["a"])
    with pytest.raises(RuntimeError):
        torch.mm(there["a"], there["b"].real.contiguous())


@pytest.mark.parametrize("dtype", COMPLEX)
def test_of_nothing(dtype: torch.dtype, backend: DeviceModule, device: torch.device) -> None:
    here = operands(dtype)
    there = moved(here, device)
    for call in (
        lambda o: o["a"][:, :0].mm(o["b"][:0]),
        lambda o: o["a"][:0].mm(o["b"]),
        lambda o: torch.addmm(o["c"], o["a"][:, :0], o["b"][:0], **FACTORS),
        lambda o: torch.dot(o["u"][:0], o["w"][:0]),
    ):
        backend.reset_fallbacks()
        seen = call(there)
        assert backend.fallbacks() == []
        close(seen, call(here))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_the_summand_that_is_not_read(
    dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    here = operands(dtype)
    here["c"].fill_(complex("nan"))
    there = moved(here, device)
    backend.reset_fallbacks()
    seen = torch.addmm(there["c"], there["a"], there["b"], beta=0)
    assert backend.fallbacks() == []
    close(seen, torch.mm(here["a"], here["b"]))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_gradients(dtype: torch.dtype, device: torch.device) -> None:
    here = operands(dtype)
    slopes = []
    for where in ("cpu", device):
        asked = [here[name].to(where).requires_grad_() for name in ("c", "a", "b")]
        result = torch.addmm(asked[0], asked[1].conj(), asked[2], **FACTORS)
        slopes.append(torch.autograd.grad(torch.view_as_real(result).pow(2).sum(), asked))
    for seen, expected in zip(slopes[1], slopes[0], strict=True):
        torch.testing.assert_close(seen.cpu(), expected, rtol=1e-4, atol=1e-3)
