# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of indexing: each overload gives what PyTorch's CPU gives, and none falls back.

Dtype, sizes and strides of what a call made are the same, and so is what it wrote.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

import pytest
import torch
from index_calls import LAYOUTS, Call, Operands, Tensor, check, operands
from likeness import check_same, moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

pytestmark = pytest.mark.usefixtures("takes_indices")

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
          torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64]  # fmt: skip
REAL = [dtype for dtype in DTYPES if not dtype.is_complex and dtype != torch.bool]

# x is 4 by 5 and y 3 by 5; i, j and i2 hold places in 0 to 3, k in 0 to 2, and r different ones.
READ: dict[str, Call] = {
    "gather": lambda x, i2, **_: x.gather(0, i2),
    "gather of few": lambda x, i2, **_: torch.gather(x, 1, i2[:2, :2]),
    "gather to": lambda x, i2, **_: torch.gather(x, 0, i2, out=x.new_empty(i2.shape)),
    "gather of a number": lambda x, **_: x[0, 0].gather(0, torch.tensor(0, device=x.device)),
    "index_select": lambda x, i, **_: x.index_select(0, i),
    "index_select columns": lambda x, i, **_: x.index_select(-1, i[::2]),
    "index_select to": lambda x, i, **_: torch.index_select(x, 1, i, out=x.new_empty(0)),
    "index_select by a number": lambda x, i, **_: x.index_select(0, i[0]),
    "take": lambda x, i2, **_: x.take(-1 - i2),
    "take to": lambda x, i, **_: torch.take(x, i, out=x.new_empty(i.shape)),
    "index": lambda x, i, **_: x[i],
    "index of int32": lambda x, i, **_: x[i.int()],
    "index from the end": lambda x, i, **_: x[-1 - i],
    "index columns": lambda x, i, **_: x[:, i],
    "index both": lambda x, i, j, **_: x[i, j],
    "index broadcast": lambda x, i, j, **_: x[i[:, None], j],
    "index around": lambda x, i, j, **_: x.expand(2, 4, 5)[j.clamp(max=1), :, i],
    "index between": lambda x, i, j, **_: x.expand(2, 4, 5)[:, i, j],
    "index by a number": lambda x, i, **_: x[i[0]],
    "index by two numbers": lambda x, i, **_: x[i[0], i[1]],
    "index by nothing": lambda x, i, **_: x[i[:0]],
    "index by the host": lambda x, **_: x[torch.tensor([3, 0])],
    "unsafe_index": lambda x, i, **_: torch.ops.aten._unsafe_index(x, [None, i]),
    "embedding": lambda x, i2, **_: torch.nn.functional.embedding(i2, x, padding_idx=1),
    "one_hot": lambda i2, **_: torch.nn.functional.one_hot(i2, 7),
}  # fmt: skip
WRITE: dict[str, Call] = {
    "scatter": lambda x, y, r2, **_: x.scatter(0, r2, y),
    "scatter_": lambda x, y, r2, **_: x.scatter_(0, r2, y),
    "scatter of few": lambda x, y, r2, **_: x.scatter_(0, r2[:2, :2], y),
    "scatter to": lambda x, y, r2, **_: torch.scatter(x, 0, r2, y, out=x.new_empty(x.shape)),
    "scatter value": lambda x, i2, **_: x.scatter(0, i2, 1),
    "scatter_ value": lambda x, i2, **_: x.scatter_(0, i2, 1),
    "scatter_ nothing": lambda x, i2, **_: x.scatter_(0, i2[:0], 1),
    "index_copy": lambda x, y, r, **_: x.index_copy(0, r, y),
    "index_copy_": lambda x, y, r, **_: x.t().index_copy_(1, r, y.t()),
    "index_fill": lambda x, i, **_: x.index_fill(1, i - 4, 1),
    "index_fill_ by a tensor": lambda x, i, **_: x.index_fill_(0, i[:2], x.new_ones(())),
    "put": lambda x, y, r2, **_: x.put(r2[:, 0] - 4, y[:, 0]),
    "put_": lambda x, y, r, **_: x.t().put_(r, y[:, 0]),
    "index_put_": lambda x, y, r, **_: x.index_put_((r,), y),
    "index_put": lambda x, y, r, **_: x.index_put((r - 4,), y[0]),
    "index_put_ columns": lambda x, r, **_: torch.ops.aten.index_put_(x, [None, r], x.new_ones(())),
    "index_put_ both": lambda x, y, r, **_: x.index_put_((r, r[:1]), y[:, 0]),
    "index_put_ a number": lambda x, r, **_: x.index_put_((r[0],), x.new_ones(5)),
    "setitem": lambda x, r, **_: x.__setitem__((r, slice(1, 3)), 1),
    "setitem of the host": lambda x, r, **_: x.__setitem__(r, torch.ones((), dtype=x.dtype)),
    "unsafe_index_put": lambda x, y, r, **_: torch.ops.aten._unsafe_index_put(x, [r], y, False),
    "masked by a number": lambda x, m, **_: x.__setitem__(m, 1),
    "rows masked by a number": lambda x, m, **_: x.__setitem__((slice(None), m[0]), 1),
}  # fmt: skip
COMBINE: dict[str, Call] = {
    "scatter_add": lambda x, y, i2, **_: x.scatter_add(0, i2, y),
    "scatter_add_": lambda x, y, i2, **_: x.scatter_add_(0, i2, y),
    "scatter reduce": lambda x, y, i2, **_: x.scatter(0, i2, y, reduce="add"),
    "scatter_ value reduce": lambda x, i2, **_: x.scatter_(0, i2[:1], 2, reduce="multiply"),
    "index_add": lambda x, y, k, **_: x.index_add(0, k, y),
    "index_add_": lambda x, y, k, **_: x.t().index_add_(1, k.int(), y.t()),
    "index_add alpha": lambda x, y, k, **_: x.index_add(0, k, y, alpha=2),
    "index_put_ accumulate": lambda x, y, k, **_: x.index_put_((k,), y, accumulate=True),
    "put_ accumulate": lambda x, y, k, **_: x.put_(k, y[:, 1], accumulate=True),
}  # fmt: skip
REDUCE = ["sum", "prod", "mean", "amax", "amin"]


@pytest.mark.parametrize("name", [*READ, *WRITE])
def test_it_moves_what_the_host_moves(
    name: str, device: torch.device, backend: DeviceModule
) -> None:
    for dtype in DTYPES:
        # Complex elements that do not lie in a line fall back.
        if not (dtype.is_complex and name.startswith(("take", "put"))):
            check({**READ, **WRITE}[name], operands(dtype), device, backend)


@pytest.mark.parametrize("name", [*READ, *WRITE, *COMBINE])
def test_layouts_change_nothing(name: str, device: torch.device, backend: DeviceModule) -> None:
    call = {**READ, **WRITE, **COMBINE}[name]
    for layout in LAYOUTS:
        check(call, operands(torch.float32, layout), device, backend)


@pytest.mark.parametrize("name", COMBINE)
def test_it_combines_what_the_host_combines(
    name: str, device: torch.device, backend: DeviceModule
) -> None:
    """Factors and products of complex numbers, and factors of truth values, fall back."""
    for dtype in DTYPES:
        is_product = name.endswith(("alpha", "value reduce"))
        if not (is_product and (dtype.is_complex or dtype == torch.bool)):
            check(COMBINE[name], operands(dtype), device, backend)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("how", REDUCE)
def test_reductions(
    how: str, include_self: bool, device: torch.device, backend: DeviceModule
) -> None:
    kind = {"include_self": include_self}
    calls: list[Call] = [
        lambda x, y, i2, **_: x.scatter_reduce(0, i2, y, how, **kind),
        lambda x, y, i2, **_: x.scatter_reduce_(0, i2[:2], y, how, **kind),
    ]
    if how != "sum":
        calls += [
            lambda x, y, k, **_: x.index_reduce(0, k, y, how, **kind),
            lambda x, y, k, **_: x.index_reduce_(0, k, y, how, **kind),
        ]
    for call, dtype in itertools.product(calls, REAL):
        check(call, operands(dtype), device, backend)


def test_nan_wins_over_every_number(device: torch.device, backend: DeviceModule) -> None:
    host = operands(torch.float32)
    host["y"][1] = float("nan")
    for how in ("amax", "amin", "sum"):
        check(lambda x, y, i2, how=how, **_: x.scatter_reduce(0, i2, y, how),
              host, device, backend)  # fmt: skip


def test_the_last_of_equal_places_wins_where_order_counts(
    device: torch.device, backend: DeviceModule
) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        host = operands(torch.float32)
        host["k"] = torch.tensor([1, 1, 1])
        for name in ("index_copy_", "index_put_"):
            calls: dict[str, Call] = {
                "index_copy_": lambda x, y, k, **_: x.index_copy_(0, k, y),
                "index_put_": lambda x, y, k, **_: x.index_put_((k,), y),
            }
            check(calls[name], host, device, backend)
    finally:
        torch.use_deterministic_algorithms(False)


def test_places_of_no_elements(device: torch.device, backend: DeviceModule) -> None:
    host = {"x": torch.ones(0, 5), "i": torch.empty(0, dtype=torch.int64)}
    for call in (
        lambda x, i: x.index_select(0, i),
        lambda x, i: x[i],
        lambda x, i: x.index_add(0, i, x),
        lambda x, i: x.index_put_((i,), x.clone()),
    ):
        check(call, host, device, backend)


REFUSED: dict[str, Call] = {
    "dtypes": lambda x, i, y, **_: x.index_add(0, i[:3], y.long()),
    "sizes": lambda x, i, y, **_: x.index_add(0, i, y),
    "dimensions": lambda x, i, **_: x.index_select(0, i[None]),
    "a dimension": lambda x, i, **_: x.index_select(2, i),
    "real indices": lambda x, i, **_: x.gather(0, i[None].float()),
    "too many": lambda x, i, **_: x[i, i, i],
    "shapes": lambda x, i, **_: x[i, i[:3]],
    "a mask": lambda x, i, **_: x[i > 0, i[:3] > 0],
    "values": lambda x, i, y, **_: x.index_put_((i,), y),
    "a name": lambda x, y, i2, **_: x.scatter_reduce(0, i2, y, "most"),
    "a source in the result": lambda x, i2, **_: x.scatter_(0, i2, x[:3]),
    "a bad index of the host": lambda x, **_: x[torch.tensor([4])],
    "no rows": lambda x, i, **_: x[:0].index_select(0, i),
    "a target": lambda x, i, **_: torch.nn.functional.nll_loss(x, i.int()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name: str, device: torch.device) -> None:
    host = operands(torch.float32)
    with pytest.raises((RuntimeError, IndexError)) as on_host:
        REFUSED[name](**host)
    with pytest.raises(type(on_host.value)):
        REFUSED[name](**{key: moved(tensor, device) for key, tensor in host.items()})


# --------------------------------------------------------------------------------- gradients --

LEARN: dict[str, Call] = {
    "embedding": lambda x, i2, **_: torch.nn.functional.embedding(i2, x),
    "padded embedding": lambda x, i2, **_: torch.nn.functional.embedding(i2, x, padding_idx=1),
    "embedding with padding first": lambda x, i2, **_: torch.nn.functional.embedding(
        i2, x, padding_idx=0
    ),
    "embedding with padding last": lambda x, i2, **_: torch.nn.functional.embedding(
        i2, x, padding_idx=-1
    ),
    "gather": lambda x, i2, **_: x.gather(0, i2),
    "index": lambda x, i, j, **_: x[i, j],
    "index_select": lambda x, i, **_: x.index_select(1, i),
    "take": lambda x, i2, **_: x.take(i2),
    "scatter_add": lambda x, y, i2, **_: y.scatter_add(0, i2.clamp(max=2), x[:3] * x[:3]),
    "index_put": lambda x, y, r, **_: (x * 2).index_put((r,), y * x[:3]),
}


def gradient(call: Call, there: Operands) -> Tensor:
    x = there["x"].detach().requires_grad_()
    call(**{**there, "x": x}).square().sum().backward()
    assert x.grad is not None
    return x.grad


@pytest.mark.parametrize("name", LEARN)
def test_gradients(name: str, device: torch.device, backend: DeviceModule) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        host = operands(dtype)
        there = {key: moved(tensor, device) for key, tensor in host.items()}
        backend.reset_fallbacks()
        seen = gradient(LEARN[name], there)
        assert backend.fallbacks() == []
        check_same(seen, gradient(LEARN[name], host))


# --------------------------------------------------------------------------------- the routes --


@pytest.mark.parametrize("route", ["named", "fallback"])
def test_another_route_leaves_it_to_the_host(
    route: Literal["named", "fallback"], device: torch.device, backend: DeviceModule
) -> None:
    host = operands(torch.float32)
    there = {key: moved(tensor, device) for key, tensor in host.items()}
    backend.set_forced_route(route)
    try:
        for name in ("gather", "index", "scatter_add", "index_put_"):
            backend.reset_fallbacks()
            seen = {**READ, **WRITE, **COMBINE}[name](**there)
            assert backend.fallbacks() != []
            check_same(seen, {**READ, **WRITE, **COMBINE}[name](**host))
    finally:
        backend.set_forced_route(None)


ALONE: dict[Literal["generic", "composed"], list[str]] = {
    "generic": [
        "gather", "index_select", "take", "index", "index by the host", "scatter", "scatter_ value",
        "scatter_add", "index_add", "index_copy", "index_fill", "index_put_", "masked by a number",
    ],
    "composed": ["index_add alpha"],
}  # fmt: skip


@pytest.mark.parametrize("route", ALONE)
def test_a_route_serves_by_itself(
    route: Literal["generic", "composed"], device: torch.device, backend: DeviceModule
) -> None:
    calls = {**READ, **WRITE, **COMBINE}
    backend.set_forced_route(route)
    try:
        for name in ALONE[route]:
            check(calls[name], operands(torch.float32), device, backend)
    finally:
        backend.set_forced_route(None)


def test_calls_are_counted(device: torch.device, backend: DeviceModule) -> None:
    there = {key: moved(tensor, device) for key, tensor in operands(torch.float32).items()}
    backend.reset_routes()
    READ["gather"](**there)
    there["x"].scatter_reduce(0, there["i2"], there["y"], "mean")
    torch.nn.functional.nll_loss(there["x"], there["i"])
    routes = {row.operator: row.route for row in backend.routes()}
    assert routes["aten::gather.out"] == "generic"
    assert routes["aten::scatter_reduce.two_out"] == "composed"
    assert routes["aten::nll_loss_forward.output"] == "composed"
