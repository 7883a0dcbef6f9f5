# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators by description: each row of the tables gives what PyTorch's CPU gives.

Every overload of the table of pointwise rows is called as its schema has it, in each of its forms,
and every reduction, with operands of every layout and dtype: values, dtype, sizes and strides are
the same, or both raise the same class. What the generic kernels do not take falls back as a whole.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
ROWS = Path(__file__).parents[2] / "csrc/generic/pointwise_rows.cpp"
OVERLOADS = sorted(set(re.findall(r'^    \{"([\w.]+)", Form', ROWS.read_text(), re.MULTILINE)))
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "turned": lambda t: t.transpose(0, -1),
    "stepped": lambda t: t[:, ::2],
    "row": lambda t: t[0].expand(t.shape),
    "number": lambda t: t.select(0, 0).select(0, 0).flatten()[0],
    "empty": lambda t: t[:0],
    "last": lambda t: t.reshape(1, 4, 6, 1).to(memory_format=torch.channels_last),
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
          torch.int8, torch.uint8, torch.bool, torch.complex64]  # fmt: skip
# PyTorch's CPU divides integers by a beta that it has cast to 0, which ends the process.
REAL_ONLY = ("smooth_l1_loss_backward", "huber_loss_backward")
# Their results have strides of their own, which no row tells.
ON_THE_HOST = ("pow.Scalar", "pow.Scalar_out", "mse_loss_backward")
# In place of defaults that no formula is for.
SAMPLES = {"reduction": 0, "rounding_mode": "floor", "min": -1}
# Half precision differs by the order of roundings, and the CPU rounds more often than programs do.
LIMITS = {torch.float16: (4e-3, 4e-3), torch.bfloat16: (4e-2, 4e-2), torch.float32: (2e-5, 1e-5)}


@pytest.fixture(autouse=True)
def generic(takes_programs: None) -> Iterator[None]:
    """Only on a backend that takes programs; PyTorch's own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _values(dtype: torch.dtype, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(4, 6, generator=generator) * 3
    return values > 0 if dtype == torch.bool else values.to(dtype)


def _operand(layout: str, dtype: torch.dtype, seed: int, device: torch.device) -> Tensor:
    host = LAYOUTS[layout](_values(dtype, seed))
    moved = _values(dtype, seed).to(device)
    return host if device.type == "cpu" else LAYOUTS[layout](moved)


def _run(call: Callable[[], Any]) -> tuple[str, list[Tensor]]:
    try:
        result = call()
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return type(error).__name__, []
    return "", [result] if isinstance(result, Tensor) else list(result)


def _difference(host: tuple[str, list[Tensor]], ours: tuple[str, list[Tensor]]) -> str:
    """Returns what the device does otherwise than the CPU; nothing where there is no difference."""
    if host[0] != ours[0]:
        return f"cpu: {host[0] or 'no error'}, device: {ours[0] or 'no error'}"
    if host[0]:  # what was written before the error is nobody's
        return ""
    for theirs, mine in zip(host[1], ours[1], strict=True):
        for what in ("dtype", "shape"):
            if getattr(theirs, what) != getattr(mine, what):
                return f"{what} {getattr(mine, what)} instead of {getattr(theirs, what)}"
        if theirs.stride() != mine.stride():
            return f"strides {mine.stride()} instead of {theirs.stride()}"
        rtol, atol = LIMITS.get(theirs.dtype, (1e-6, 1e-6))
        try:
            torch.testing.assert_close(mine.cpu(), theirs, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as error:
            return " ".join(str(error).split())[:160]
    return ""


def _argument(of: Any, operands: Iterator[Tensor], out: Tensor) -> Any:
    """What the schema wants there: a fresh operand, the output, a small number or its default."""
    kind = str(of.type)
    if kind in ("Tensor", "Optional[Tensor]"):
        return out if of.alias_info is not None and of.is_out else next(operands)
    if of.name in SAMPLES:
        return SAMPLES[of.name]
    if of.has_default_value():
        return of.default_value
    known = {"number": 2, "float": 0.5, "int": 1, "bool": True, "str": "none"}
    return known.get(kind.removeprefix("Optional[").removesuffix("]"))


def _call(overload: str, layout: str, dtype: torch.dtype, device: torch.device) -> list[Any]:
    name, _, rest = overload.partition(".")
    operator = getattr(getattr(torch.ops.aten, name), rest or "default")
    out = torch.empty(0, dtype=dtype, device=device)
    conditions = name in ("where", "masked_fill", "masked_fill_", "native_dropout_backward")
    wanted = [
        torch.bool if conditions and argument.name in ("condition", "mask") else dtype
        for argument in operator._schema.arguments
        if "Tensor" in str(argument.type) and not argument.is_out
    ]
    operands = [_operand(layout, each, seed, device) for seed, each in enumerate(wanted)]
    given = iter(operands)
    arguments = [_argument(each, given, out) for each in operator._schema.arguments]
    names = [each.name for each in operator._schema.arguments]
    keywords = {
        key: value
        for key, value, each in zip(names, arguments, operator._schema.arguments, strict=True)
        if each.kwarg_only
    }
    positional = arguments[: len(arguments) - len(keywords)]
    error, results = _run(lambda: operator(*positional, **keywords))
    return [error, results + operands]


@pytest.mark.parametrize("overload", OVERLOADS)
def test_each_row_is_as_on_the_cpu(
    backend: DeviceModule, device: torch.device, overload: str
) -> None:
    backend.reset_routes()
    wrong = {}
    for layout, dtype in itertools.product(LAYOUTS, DTYPES):
        if overload.startswith(REAL_ONLY) and not dtype.is_floating_point:
            continue
        host = _call(overload, layout, dtype, torch.device("cpu"))
        ours = _call(overload, layout, dtype, device)
        if what := _difference((host[0], host[1]), (ours[0], ours[1])):
            wrong[layout, dtype] = what
    assert not wrong, f"{len(wrong)}: {list(wrong.items())[:6]}"
    if overload in ON_THE_HOST:
        return
    kept = ("aten::copy_", "aten::fill_")
    served = {row.route for row in backend.routes() if not row.operator.startswith(kept)}
    assert served & {"generic", "named"}, f"no call was served on the device: {served}"


MIXED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "rsub": torch.rsub,
    "sub": torch.sub,
    "where": lambda a, b: torch.where(a > 0, b, a),
    "threshold backward": lambda a, b: torch.ops.aten.threshold_backward(a, b, 0.1),
    "leaky relu backward": lambda a, b: torch.ops.aten.leaky_relu_backward(a, b, 0.1, False),
    "tanh backward": torch.ops.aten.tanh_backward,
    "addcmul": lambda a, b: torch.addcmul(b, a, b),
}
ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2)]


@pytest.mark.parametrize("name", MIXED)
def test_strides_follow_the_operand_that_pytorch_reads_first(
    device: torch.device, name: str
) -> None:
    for one, other in itertools.product(ORDERS, repeat=2):
        a, b = (torch.randn(3, 3, 3).permute(order) for order in (one, other))
        here = [torch.empty_strided(each.shape, each.stride(), device=device) for each in (a, b)]
        for mine, theirs in zip(here, (a, b), strict=True):
            mine.copy_(theirs)
        made, wanted = MIXED[name](*here), MIXED[name](a, b)
        assert made.stride() == wanted.stride(), (one, other)
        torch.testing.assert_close(made.cpu(), wanted)


REDUCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "sum": lambda a: a.sum(),
    "sum of rows": lambda a: a.sum(-1, keepdim=True),
    "sum as double": lambda a: a.sum(0, dtype=torch.float64),
    "mean": lambda a: a.mean(),
    "mean as float": lambda a: a.mean(0, dtype=torch.float32),
    "prod": lambda a: a.prod(0),
    "prod of all": lambda a: a.prod(),
    "any": lambda a: a.any(),
    "all": lambda a: a.all(0, keepdim=True),
    "any of two": lambda a: torch.any(a, (0, -1)),
    "all of two": lambda a: torch.all(a, (0, 1), keepdim=True),
    "amax": lambda a: a.amax(0),
    "amin": lambda a: a.amin((0, 1)),
    "aminmax": lambda a: torch.aminmax(a, dim=0),
    "max": lambda a: a.max(),
    "min": lambda a: a.min(),
    "max with places": lambda a: a.max(0),
    "min with places": lambda a: a.min(-1, keepdim=True),
    "argmax": lambda a: a.argmax(),
    "argmin": lambda a: a.argmin(-1, keepdim=True),
    "var": lambda a: a.var(),
    "var of a population": lambda a: a.var(0, correction=0),
    "std": lambda a: a.std(-1),
    "var and mean": lambda a: torch.var_mean(a, 0),
    "std and mean": torch.std_mean,
    "logsumexp": lambda a: torch.logsumexp(a, 0),
    "norm": torch.linalg.vector_norm,
    "norm 1": lambda a: torch.linalg.vector_norm(a, 1, dim=0),
    "norm inf": lambda a: torch.linalg.vector_norm(a, float("inf")),
    "norm -inf": lambda a: torch.linalg.vector_norm(a, -float("inf"), dim=0),
    "norm 0": lambda a: torch.linalg.vector_norm(a, 0),
    "norm 3.5": lambda a: torch.linalg.vector_norm(a, 3.5, dim=-1),
    "norm of old": lambda a: a.norm(2, 0),
    "nansum": lambda a: a.nansum(0),
    "count_nonzero": lambda a: a.count_nonzero(0),
    "softmax": lambda a: a.softmax(0),
    "softmax of rows": lambda a: a.softmax(-1),
    "log_softmax": lambda a: a.log_softmax(-1),
    "out": lambda a: torch.amax(a, 0, out=torch.empty(0, dtype=a.dtype, device=a.device)),
    "no such dimension": lambda a: a.sum(7),
    "a dimension twice": lambda a: a.sum((0, 0)),
}
SPECIAL: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "nan": lambda t: t.index_fill(1, torch.tensor([2]), float("nan")),
    "infinities": lambda t: t.index_fill(1, torch.tensor([1]), float("inf")).neg(),
    "lowest": lambda t: torch.full_like(t, -float("inf")),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction_is_as_on_the_cpu(device: torch.device, name: str) -> None:
    wrong = {}
    call = REDUCTIONS[name]
    for layout, dtype, special in itertools.product(LAYOUTS, DTYPES, SPECIAL):
        if special != "plain" and not dtype.is_floating_point:
            continue
        values = SPECIAL[special](_values(dtype, 3))
        host, ours = LAYOUTS[layout](values), LAYOUTS[layout](values.to(device))
        if what := _difference(_run(partial(call, host)), _run(partial(call, ours))):
            wrong[layout, dtype, special] = what
    assert not wrong, f"{len(wrong)}: {list(wrong.items())[:6]}"


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_softmax_has_a_gradient(device: torch.device, function: Any, dtype: torch.dtype) -> None:
    weights = torch.arange(24.0).reshape(4, 6).to(dtype)
    seen = []
    for where in (torch.device("cpu"), device):
        operand = _values(dtype, 5).to(where).requires_grad_()
        (function(operand, 1) * weights.to(where)).sum().backward()
        assert operand.grad is not None
        seen.append(operand.grad.cpu())
    rtol, atol = LIMITS.get(dtype, (1e-6, 1e-6))
    torch.testing.assert_close(seen[1], seen[0], rtol=rtol, atol=20 * atol)


def _several(a: Tensor) -> list[Tensor]:
    return [(a + a).exp(), a.sum(0), a.softmax(1), torch.where(a > 0, a, 1)]


@pytest.mark.parametrize("route", ["named", "generic", "composed", "fallback"])
def test_each_route_gives_the_same(backend: DeviceModule, device: torch.device, route: Any) -> None:
    """What one route does not serve runs on the CPU, and nothing takes another one."""
    host = _values(torch.float32, 7)
    backend.reset_routes()
    with backend.forced_route(route):
        ours = [each.cpu() for each in _several(host.to(device))]
    for mine, theirs in zip(ours, _several(host), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-5, atol=1e-5)
    taken = {row.route for row in backend.routes()}
    assert taken <= {route, "fallback"}
    if route in ("generic", "composed"):
        assert route in taken


def test_who_served_is_told(backend: DeviceModule, device: torch.device) -> None:
    ours = torch.ones(3, dtype=torch.float64, device=device)
    backend.reset_routes()
    ours.exp()
    ours.exp()
    (row,) = [each for each in backend.routes() if each.operator == "aten::exp"]
    assert (row.device, row.dtype, row.route, row.count) == (0, torch.float64, "generic", 2)


def test_numbers_are_not_rounded_first(device: torch.device) -> None:
    """A number of Python's has the precision that is computed in."""
    for dtype in (torch.float16, torch.bfloat16):
        host = _values(dtype, 1)
        for number in (1.01, 0.1, 3):
            torch.testing.assert_close(
                (host.to(device) * number).cpu(), host * number, rtol=0, atol=0
            )


BAD_ROUTE = """
import sys, torch_tbk
try:
    torch_tbk.load(sys.argv[1])
except ValueError as error:
    print(error)
"""


def test_a_route_that_is_none_is_refused(child: Callable[..., str], library: Path) -> None:
    said = child(BAD_ROUTE, library, TBK_ROUTE="genric")
    assert said == "TBK_ROUTE is 'genric'; it is named, generic, composed or fallback\n"
