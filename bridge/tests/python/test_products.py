# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices by the generic kernel: each overload and form, of every layout and dtype.

Values are held against those of float64. A sum of `TERMS` products may be off by so many roundings
of what it is summed in, and by one of the result's dtype for each step, in parts of the same sum of
sizes. Integers wrap, and are equal to the bit.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch
from products import skip_unless_served, values
from torch.nn import functional

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[[dict[str, Tensor]], Tensor]
SHAPES = {"a": (5, 7), "b": (7, 4), "c": (5, 4), "A": (3, 5, 7), "B": (3, 7, 4), "C": (3, 5, 4),
          "u": (7,), "v": (5,), "w": (4,)}  # fmt: skip
TERMS = 3 * 7 + 8
STEPS = 4  # of roundings to the dtype, in what PyTorch makes of several products
REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "turned": lambda t: t.mT.contiguous().mT if t.dim() > 1 else t.flip(0),
    "stepped": lambda t: t.repeat_interleave(2, -1)[..., ::2],
    "expanded": lambda t: t[..., :1, :].expand(t.shape) if t.dim() > 1 else t[:1].expand(t.shape),
    "behind": lambda t: torch.cat([t, t])[len(t) :],
}
FACTORS: dict[str, Any] = {"beta": 3, "alpha": 2}
CALLS: dict[str, Call] = {
    "mm": lambda o: torch.mm(o["a"], o["b"]),
    "mm of turned": lambda o: torch.mm(o["b"].t(), o["a"].t()),
    "bmm": lambda o: torch.bmm(o["A"], o["B"]),
    "bmm of turned": lambda o: torch.bmm(o["B"].mT, o["A"].mT),
    "bmm of one": lambda o: torch.bmm(o["a"].expand(3, 5, 7), o["B"]),
    "mv": lambda o: torch.mv(o["a"], o["u"]),
    "dot": lambda o: torch.dot(o["u"], o["b"][:, 1]),
    "vdot": lambda o: torch.vdot(o["u"], o["a"][1]),
    "addmm": lambda o: torch.addmm(o["c"], o["a"], o["b"], **FACTORS),
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
    "addbmm of a row": lambda o: torch.addbmm(o["w"], o["A"], o["B"]),
    "addbmm_": lambda o: o["c"].clone().addbmm_(o["A"], o["B"], **FACTORS),
    "addr": lambda o: torch.addr(o["c"], o["v"], o["w"], **FACTORS),
    "addr of a number": lambda o: torch.addr(o["c"][0, 0], o["v"], o["w"]),
    "addr_": lambda o: o["c"].clone().addr_(o["v"], o["w"], **FACTORS),
    "matmul": lambda o: torch.matmul(o["A"], o["b"]),
    "linear": lambda o: functional.linear(o["A"], o["b"].t(), o["w"]),
    "outer": lambda o: torch.outer(o["v"], o["w"]),
    "inner": lambda o: torch.inner(o["A"], o["u"]),
    "tensordot": lambda o: torch.tensordot(o["A"], o["B"], ([0, 2], [0, 1])),
    "einsum": lambda o: torch.einsum("bij,bjk,k->ik", o["A"], o["B"], o["w"]),
}  # fmt: skip
# What PyTorch's CPU has for real numbers alone, or we compute of them alone.
REAL_CALLS: dict[str, Call] = {
    "with relu": lambda o: torch._addmm_activation(o["w"], o["a"], o["b"], **FACTORS),
    "multi_dot": lambda o: torch.linalg.multi_dot([o["a"], o["b"], o["c"].t()]),
}


@pytest.fixture(autouse=True)
def served(backend: DeviceModule, device: torch.device) -> Iterator[None]:
    """Skips where the backend does not offer the kernel; PyTorch's own warnings are not ours."""
    skip_unless_served(backend, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def operands(
    layout: str,
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
    change: Callable[[Tensor], Tensor] = lambda t: t,
) -> dict[str, Tensor]:
    """Returns them by name, seen in that layout, of which `change` has changed the values."""
    made = {}
    for seed, (name, shape) in enumerate(SHAPES.items()):
        made[name] = LAYOUTS[layout](change(values(shape, dtype, seed)).to(device))
    return made


def check_values(mine: Tensor, call: Call, layout: str, dtype: torch.dtype) -> None:
    """Holds them against the sum in float64, in parts of the sum of sizes."""
    exact = call(operands(layout, dtype, change=lambda t: t.double()))
    sizes = call(operands(layout, dtype, change=lambda t: t.double().abs()))
    summed = torch.finfo(dtype if dtype == torch.float64 else torch.float32).eps
    limit = (2 * TERMS * summed + STEPS * torch.finfo(dtype).eps) * sizes
    assert bool(((mine.cpu().double() - exact).abs() <= limit).all())


def check(call: Call, layout: str, dtype: torch.dtype, device: torch.device) -> None:
    like, mine = call(operands(layout, dtype)), call(operands(layout, dtype, device))
    assert (mine.dtype, mine.shape, mine.stride()) == (like.dtype, like.shape, like.stride())
    if dtype.is_floating_point:
        check_values(mine, call, layout, dtype)
    else:
        assert torch.equal(mine.cpu(), like)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS | REAL_CALLS)
def test_each_form_is_as_on_the_cpu(name: str, layout: str, device: torch.device) -> None:
    for dtype in REAL + (INTEGERS if name in CALLS else []):
        check((CALLS | REAL_CALLS)[name], layout, dtype, device)


@pytest.mark.parametrize("name", CALLS | REAL_CALLS)
def test_none_falls_back(name: str, backend: DeviceModule, device: torch.device) -> None:
    call = (CALLS | REAL_CALLS)[name]
    for layout, dtype in itertools.product(LAYOUTS, REAL + (INTEGERS if name in CALLS else [])):
        given = operands(layout, dtype, device)
        backend.reset_fallbacks()
        call(given)
        assert backend.fallbacks() == [], (layout, dtype)


OUTPUTS: dict[str, tuple[tuple[int, ...], Callable[..., Tensor]]] = {
    "mm": ((5, 4), lambda o, out: torch.mm(o["a"], o["b"], out=out)),
    "bmm": ((3, 5, 4), lambda o, out: torch.bmm(o["A"], o["B"], out=out)),
    "mv": ((5,), lambda o, out: torch.mv(o["a"], o["u"], out=out)),
    "dot": ((), lambda o, out: torch.dot(o["u"], o["u"], out=out)),
    "addmm": ((5, 4), lambda o, out: torch.addmm(o["c"], o["a"], o["b"], beta=2, out=out)),
    "addmv": ((5,), lambda o, out: torch.addmv(o["v"], o["a"], o["u"], beta=2, out=out)),
    "baddbmm": ((3, 5, 4), lambda o, out: torch.baddbmm(o["w"], o["A"], o["B"], out=out)),
    "addbmm": ((5, 4), lambda o, out: torch.addbmm(o["c"], o["A"], o["B"], alpha=2, out=out)),
    "addr": ((5, 4), lambda o, out: torch.addr(o["c"], o["v"], o["w"], out=out)),
}
PLACES: dict[str, Callable[[tuple[int, ...], Any], Tensor]] = {
    "nothing": lambda _, new: new((0,)),
    "fitting": lambda shape, new: new(shape),
    "turned": lambda shape, new: new(shape[::-1]).permute(tuple(range(len(shape)))[::-1]),
    "stepped": lambda shape, new: new((*shape, 2))[..., 1],
    "too large": lambda shape, new: new((9, *shape)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_written_where_it_is(name: str, place: str, device: torch.device) -> None:
    shape, call = OUTPUTS[name]
    for dtype in (torch.float32, torch.float64, torch.int32):
        seen = []
        for where in ("cpu", device):
            out = PLACES[place](
                shape, lambda s, w=where, d=dtype: torch.zeros(s, dtype=d, device=w)
            )
            result = call(operands("plain", dtype, where), out)
            assert result is out
            seen.append(out)
        assert (seen[0].shape, seen[0].stride()) == (seen[1].shape, seen[1].stride())
        torch.testing.assert_close(seen[1].cpu(), seen[0], rtol=1e-5, atol=1e-5)


# Which dimension of which operand is cut.
CUTS = {
    "inner": {"a": 1, "b": 0, "A": 2, "B": 1, "u": 0},
    "rows": {"a": 0, "A": 1, "c": 0, "C": 1, "v": 0},
    "columns": {"b": 1, "B": 2, "c": 1, "C": 2, "w": 0},
    "batch": {"A": 0, "B": 0, "C": 0},
}


def without(what: str, o: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the operands with one of their sizes 0."""
    return o | {name: o[name].narrow(dim, 0, 0) for name, dim in CUTS[what].items()}


@pytest.mark.parametrize("what", CUTS)
def test_nothing_is_summed_to_nothing(
    what: str, backend: DeviceModule, device: torch.device
) -> None:
    names = ("mm", "bmm", "addmm", "addmm of a row", "addmm_", "baddbmm", "addbmm", "mv", "addmv")
    for name, dtype in itertools.product(names, (torch.float32, torch.bfloat16, torch.int64)):
        like = CALLS[name](without(what, operands("plain", dtype)))
        given = without(what, operands("plain", dtype, device))
        backend.reset_fallbacks()
        mine = CALLS[name](given)
        assert backend.fallbacks() == []
        assert (mine.shape, mine.stride()) == (like.shape, like.stride())
        torch.testing.assert_close(mine.cpu(), like)


ADDED: dict[str, Callable[[dict[str, Tensor], Tensor], Tensor]] = {
    "addmm": lambda o, c: torch.addmm(c, o["a"], o["b"], beta=0),
    "addmm_": lambda o, c: c.addmm_(o["a"], o["b"], beta=0),
    "addmv": lambda o, c: torch.addmv(c[:, 0], o["a"], o["u"], beta=0, alpha=2),
    "baddbmm": lambda o, c: torch.baddbmm(c, o["A"], o["B"], beta=0),
    "addbmm": lambda o, c: torch.addbmm(c, o["A"], o["B"], beta=0),
    "addr": lambda o, c: torch.addr(c, o["v"], o["w"], beta=0),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_summand_times_zero_is_not_read(name: str, device: torch.device) -> None:
    for dtype in REAL:
        nan = torch.full((5, 4), torch.nan, dtype=dtype)
        mine = ADDED[name](operands("plain", dtype, device), nan.to(device))
        like = ADDED[name](operands("plain", torch.float64), nan.double())
        assert mine.isfinite().cpu().all()
        torch.testing.assert_close(
            mine.cpu().double(), like, rtol=0.1, atol=64 * torch.finfo(dtype).eps
        )


def test_nan_and_infinities_are_summed_as_numbers_are(device: torch.device) -> None:
    a, b = values((5, 7), torch.float32, 0), values((7, 4), torch.float32, 1)
    a[1, 2], a[2, 3], b[4, 1] = torch.nan, torch.inf, -torch.inf
    mine = torch.addmm(torch.zeros(4, device=device), a.to(device), b.to(device)).cpu()
    torch.testing.assert_close(mine, a @ b, equal_nan=True)


REFUSED: dict[str, Callable[[dict[str, Tensor]], Any]] = {
    "sizes": lambda o: torch.mm(o["a"], o["a"]),
    "ranks": lambda o: torch.mm(o["A"], o["b"]),
    "batches": lambda o: torch.bmm(o["A"][:2], o["B"]),
    "dtypes": lambda o: torch.mm(o["a"], o["b"].double()),
    "a summand's sizes": lambda o: torch.addmm(o["v"], o["a"], o["b"]),
    "an output's dtype": lambda o: torch.mm(o["a"], o["b"], out=o["c"].double()),
    "an output of its own elements": lambda o: torch.mm(
        o["a"], o["b"], out=o["c"][:1].expand(5, 4)
    ),
    "truth values": lambda o: torch.mm(o["a"] > 0, o["b"] > 0),
    "vectors": lambda o: torch.dot(o["a"], o["u"]),
    "no matrix to change": lambda o: o["w"].addr_(o["v"], o["w"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name: str, device: torch.device) -> None:
    with pytest.raises(RuntimeError) as on_host:
        REFUSED[name](operands("plain", torch.float32))
    with pytest.raises(type(on_host.value)):
        REFUSED[name](operands("plain", torch.float32, device))


def test_an_output_beside_its_operands_is_written_on_the_device(
    backend: DeviceModule, device: torch.device
) -> None:
    whole = values((3, 6, 6), torch.float32, 0)
    mine = whole.to(device)
    backend.reset_fallbacks()
    torch.bmm(mine[:1], mine[1:2], out=mine[2:])
    assert backend.fallbacks() == []
    torch.testing.assert_close(mine[2].cpu(), whole[0] @ whole[1])


LEFT: dict[str, Callable[[dict[str, Tensor]], Tensor]] = {
    "an operand that is written": lambda o: torch.mm(o["a"][:, :5], o["b"][:5], out=o["a"][:, 1:5]),
    "a summand that is written elsewhere": lambda o: torch.addmm(
        o["c"].t()[:, :4], o["c"].t(), o["c"], out=o["c"][1:]
    ),
    "half of an integer": lambda o: torch.addmm(o["c"].int(), o["a"].int(), o["b"].int(), beta=0.5),
    "a row in place": lambda o: o["w"].addbmm_(o["A"], o["B"]),
    "complex numbers": lambda o: torch.complex(o["a"], o["a"]) @ torch.complex(o["b"], o["b"]),
    "complex numbers of two vectors": lambda o: torch.vdot(1j * o["u"], 2j * o["u"]),
    "a negative view": lambda o: torch.bmm(torch._neg_view(o["A"]), o["B"]),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_others_is_right(name: str, device: torch.device) -> None:
    seen: list[Any] = []
    for where in ("cpu", device):
        try:
            seen.append(LEFT[name](operands("plain", torch.float32, where)).cpu())
        except RuntimeError as error:
            seen.append(type(error))
    assert seen[0] is seen[1] or torch.allclose(seen[1], seen[0], rtol=1e-5, atol=1e-5)


GRADIENTS: dict[str, Call] = {
    name: CALLS[name]
    for name in ("mm", "bmm", "bmm of one", "mv", "dot", "addmm", "addmm of a row", "addmv", "addr",
                 "baddbmm", "addbmm", "matmul", "linear", "einsum")
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_have_gradients(name: str, device: torch.device) -> None:
    given = operands("plain", torch.float64, device)
    names = list(given)

    def call(*tensors: Tensor) -> Tensor:
        return GRADIENTS[name](dict(zip(names, tensors, strict=True)))

    leaves = [each.requires_grad_() for each in given.values()]
    assert torch.autograd.gradcheck(call, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, leaves, fast_mode=True)


def test_plans_are_for_strides_and_not_for_numbers(
    backend: DeviceModule, device: torch.device
) -> None:
    first, second = (values((13, 13), torch.float32, seed).to(device) for seed in (1, 2))

    def made(a: Tensor, **factors: Any) -> int:
        before = backend.plans().made
        torch.addmm(second, a, second, **factors)
        return backend.plans().made - before

    assert made(first) == 1
    assert [made(first, alpha=n / 7, beta=n) for n in (1, 2.5, -3)] == [0, 0, 0]
    assert [made(first.t()), made(first.t(), alpha=3)] == [1, 0]


def test_each_call_is_counted(backend: DeviceModule, device: torch.device) -> None:
    given = operands("plain", torch.float64, device)
    backend.reset_routes()
    for name in ("addmm", "addmm", "bmm", "addbmm", "addr"):
        CALLS[name](given)
    counted = {row.operator: (row.dtype, row.route, row.count) for row in backend.routes()}
    assert counted["aten::addmm.out"] == (torch.float64, "generic", 2)
    assert counted["aten::bmm.out"] == (torch.float64, "generic", 1)
    assert counted["aten::addr"] == (torch.float64, "generic", 1)
    assert counted["aten::addbmm"] == (torch.float64, "composed", 1)


@pytest.mark.parametrize("route", ["named", "generic", "composed", "fallback"])
def test_each_route_gives_the_same(route: Any, backend: DeviceModule, device: torch.device) -> None:
    given = operands("plain", torch.float32, device)
    for name in ("mm", "bmm", "addmm", "mv", "dot", "baddbmm", "addbmm", "addr"):
        like = CALLS[name](operands("plain", torch.float32))
        backend.reset_routes()
        with backend.forced_route(route):
            mine = CALLS[name](given)
        torch.testing.assert_close(mine.cpu(), like, rtol=1e-5, atol=1e-5)
        taken = {row.route for row in backend.routes()}
        if name == "addbmm":  # a composition, whose parts may take every route
            assert taken == {"fallback"} or route == "composed"
        else:
            assert taken == {route} if route == "generic" else taken <= {route, "fallback"}
