# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Functions over their whole domain, and the precision in which operators compute."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import oracle, sweep
from tbk_contracts.torch.operators.lattice import whole

F = torch.nn.functional
Unary = Callable[[torch.Tensor], torch.Tensor]
Binary = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@each_dtype("float32", "float64", "float16", "bfloat16")
@pytest.mark.parametrize("name", sweep.FUNCTIONS)
@clause("OPS-553")
def test_every_value(device: torch.device, dtype: torch.dtype, name: str) -> None:
    sweep.judge_function(name, dtype, device)


# Well conditioned between 0.1 and 0.9: what float64 loses there, it loses in operators.
IN_FLOAT64: dict[str, Unary] = {
    **{name: getattr(torch, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "asin", "acos", "atan", "asinh", "atanh", "sigmoid", "rsqrt", "sqrt",
        "reciprocal", "erf", "erfc", "square", "neg", "abs", "sum", "mean", "prod", "std",
        "logsumexp", "digamma", "lgamma", "erfinv", "frac")},
    "add": lambda x: x + x.flip(0), "sub": lambda x: x - 2 * x.flip(0),
    "mul": lambda x: x * x.flip(0), "true_divide": lambda x: x / x.flip(0),
    "add of a number": lambda x: x + 0.1, "mul by a number": lambda x: x * 0.1,
    "add with alpha": lambda x: torch.add(x, x, alpha=0.1), "pow": lambda x: x**2.5,
    "atan2": lambda x: torch.atan2(x, x.flip(0)), "hypot": lambda x: torch.hypot(x, x.flip(0)),
    "lerp": lambda x: torch.lerp(x, x.flip(0), 0.3), "addcmul":
        lambda x: torch.addcmul(x, x, x.flip(0), value=0.7),
    "gelu": F.gelu, "silu": F.silu, "softplus": F.softplus, "elu": lambda x: F.elu(-x),
    "softmax": lambda x: x.softmax(0), "log_softmax": lambda x: x.log_softmax(0),
    "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x[:8].cumprod(0),
    "mm": lambda x: x[:256].reshape(16, 16) @ x[:256].reshape(16, 16).t(),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[0],)),
    "vector_norm": torch.linalg.vector_norm, "var": torch.var,
    "conv1d": lambda x: F.conv1d(x.reshape(1, 1, -1), x[:3].reshape(1, 1, 3)),
    "interpolate": lambda x: F.interpolate(
        x.reshape(1, 1, -1), scale_factor=2.0, mode="linear"),
    "fill": lambda x: torch.full_like(x, 0.1), "clamp": lambda x: x.clamp(0.3, 0.7),
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(
        0, torch.zeros(x.shape[0], dtype=torch.int64, device=x.device), x),
}  # fmt: skip
IN_FLOAT64["logsumexp"] = lambda x: x.logsumexp(0)


@pytest.mark.parametrize("name", list(IN_FLOAT64))
@clause("OPS-554", needs="dtype:float64")
def test_float64_is_computed_in_float64(device: torch.device, name: str) -> None:
    values = torch.rand(1000, generator=host.seed(), dtype=torch.float64) * 0.8 + 0.1
    expected = IN_FLOAT64[name](values)
    seen = host.download(IN_FLOAT64[name](host.upload(values, device)))
    check.equal(f"dtype of {name}", seen.dtype, torch.float64)
    size = expected.abs().max().expand(expected.shape)
    off = (seen - expected).abs() / oracle.unit(size, torch.float64)
    worst = float(off.max())
    allowed = int(oracle.leeway(torch.float64))  # of 53 bits 13 may be lost; float32 loses 29
    check.that(f"{name} in float64", worst <= allowed,
               expected=f"at most {allowed} units in the last place off", seen=worst)  # fmt: skip


# Near 0 these are their operand, or what is said, but for a part that float32 does not show.
SMALL: dict[str, Unary] = {
    **{name: getattr(torch, name) for name in (
        "neg", "abs", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1",
        "log1p", "clone", "relu", "reciprocal", "sqrt", "sum", "amax", "erf", "sort", "cumsum")},
    "add": lambda x: x + x, "sub": lambda x: x - 3 * x, "mul": lambda x: x * 0.25,
    "true_divide": lambda x: x / 8, "clamp": lambda x: x.clamp(-1, 1), "silu": F.silu,
    "gelu": F.gelu, "where": lambda x: torch.where(x > 0, x, -x), "mm": lambda x:
        x.reshape(-1, 4) @ torch.eye(4).to(x), "leaky_relu": F.leaky_relu,
    "softmax": lambda x: (x.abs().log()).softmax(0), "vector_norm": torch.linalg.vector_norm,
    "cat": lambda x: torch.cat([x, x]), "mean": torch.mean, "maximum": lambda x: x.maximum(-x),
}  # fmt: skip
SMALL["sort"] = lambda x: x.sort().values
SMALL["cumsum"] = lambda x: x.abs().cumsum(0)
SMALL["sum"] = lambda x: x.abs().sum()
SMALL["mean"] = lambda x: x.abs().mean()


@each_dtype("float32", "float64")
@pytest.mark.parametrize("name", list(SMALL))
@clause("OPS-561")
def test_small_values_are_kept(device: torch.device, dtype: torch.dtype, name: str) -> None:
    sizes = 10.0 ** -torch.arange(4, 16, 0.1, dtype=torch.float64)
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(len(sizes) // 2)
    values = (sizes * signs).to(dtype)
    if name in ("sqrt", "amax"):
        values = values.abs()
    exact = SMALL[name](values.to(torch.float64))
    seen = host.download(SMALL[name](host.upload(values, device))).to(torch.float64)
    worst = float(((seen - exact).abs() / oracle.unit(exact, dtype)).max())
    allowed = int(oracle.leeway(dtype))
    check.that(f"{name} of small values", worst <= allowed,
               expected=f"at most {allowed} units in the last place off", seen=worst)  # fmt: skip


ADDS: dict[str, tuple[Binary, tuple[int, ...], tuple[int, ...]]] = {
    "mm": (torch.mm, (33, 65), (65, 17)),
    "bmm": (torch.bmm, (3, 9, 65), (3, 65, 7)),
    "mv": (torch.mv, (33, 65), (65,)),
    "dot": (torch.dot, (257,), (257,)),
    "linear": (lambda x, y: F.linear(x, y.t()), (33, 65), (65, 17)),
    "addmm": (lambda x, y: torch.addmm(y[:1, :], x, y), (33, 65), (65, 17)),
    "einsum": (lambda x, y: torch.einsum("ij,jk->ki", x, y), (33, 65), (65, 17)),
    "sum": (lambda x, y: (x * y).sum(), (500,), (500,)),
    "sum along": (lambda x, y: (x * y).sum(0), (129, 5), (129, 5)),
    "cumsum": (lambda x, y: (x * y).cumsum(0), (300,), (300,)),
    "mean": (lambda x, y: (x * y).mean(0), (256, 3), (256, 3)),
    "index_add": (lambda x, y: x.new_zeros(1).index_add(
        0, torch.zeros(x.shape[0], dtype=torch.int64, device=x.device), x * y), (200,), (200,)),
}  # fmt: skip
NARROW_BITS = 2


def _exact(name: str, device: torch.device, dtype: torch.dtype, bits: int) -> None:
    """One operand has more bits than narrower types hold, the other has few; then the reverse."""
    call, *shapes = ADDS[name]
    for left, right in ((bits, NARROW_BITS), (NARROW_BITS, bits)):
        operands = [whole(shape, held, host.seed(), dtype)
                    for shape, held in zip(shapes, (left, right), strict=True)]  # fmt: skip
        exact = call(*[one.to(torch.float64) for one in operands])
        seen = host.download(call(*[host.upload(one, device) for one in operands]))
        check.tensor(f"{name} of whole numbers", seen + 0.0, exact.to(dtype) + 0.0)


@pytest.mark.parametrize("name", list(ADDS))
@clause("OPS-555", needs="dtype:float32")
def test_float32_is_added_up_in_float32(device: torch.device, name: str) -> None:
    _exact(name, device, torch.float32, 13)


@each_dtype("float16", "bfloat16")
@pytest.mark.parametrize("name", [name for name in ADDS if name not in ("cumsum", "index_add")])
@clause("OPS-556")
def test_halves_are_added_up_in_float32(
    device: torch.device, dtype: torch.dtype, name: str
) -> None:
    _exact(name, device, dtype, 6)
