# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Says to operators what is seldom said: another dtype to compute in, other kinds of norm, one
tensor given twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.operators import oracle

INF = float("inf")
Unary = Callable[[torch.Tensor], torch.Tensor]
Twice = Callable[[torch.Tensor, torch.Tensor], Any]

# Of a matrix of float32; all terms are positive, so that no bit of a sum goes.
WIDER: dict[str, Unary] = {
    "sum": lambda x: x.sum(dtype=torch.float64),
    "sum of rows": lambda x: x.sum(1, dtype=torch.float64),
    "sum of columns": lambda x: x.sum(0, keepdim=True, dtype=torch.float64),
    "nansum": lambda x: x.nansum(dtype=torch.float64),
    "nansum of rows": lambda x: x.nansum(1, dtype=torch.float64),
    "mean": lambda x: x.mean(dtype=torch.float64),
    "mean of rows": lambda x: x.mean(1, dtype=torch.float64),
    "prod": lambda x: x.prod(dtype=torch.float64),
    "prod of rows": lambda x: x.prod(1, dtype=torch.float64),
    "cumsum": lambda x: x.cumsum(1, dtype=torch.float64),
    "cumprod": lambda x: x.cumprod(0, dtype=torch.float64),
    "softmax": lambda x: x.softmax(1, dtype=torch.float64),
    "log_softmax": lambda x: x.log_softmax(1, dtype=torch.float64),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dtype=torch.float64),
    "vector_norm of rows": lambda x: torch.linalg.vector_norm(x, 3, 1, dtype=torch.float64),
    "norm": lambda x: torch.norm(x, 2, 1, dtype=torch.float64),
    "foreach_norm": lambda x: torch._foreach_norm([x], 2, dtype=torch.float64)[0],
}


@pytest.mark.parametrize("name", WIDER)
@clause("OPS-554", needs="dtype:float32 dtype:float64")
def test_float32_is_computed_in_the_dtype_asked_for(device: torch.device, name: str) -> None:
    sent = torch.rand((12, 40), generator=host.seed()) * 0.3 + 0.9
    seen = host.download(WIDER[name](host.upload(sent, device)))
    expected = WIDER[name](sent.to(torch.float64))
    check.equal(f"the dtype of {name}", seen.dtype, torch.float64)
    check.equal(f"the shape of {name}", tuple(seen.shape), tuple(expected.shape))
    worst = float(((seen - expected).abs() / oracle.unit(expected, torch.float64)).max())
    allowed = int(oracle.leeway(torch.float64))
    check.that(f"{name} of float32 in float64", worst <= allowed,
               expected=f"at most {allowed} units in the last place off", seen=worst)  # fmt: skip


TWICE: dict[str, Twice] = {
    **{name: getattr(torch, name) for name in (
        "equal", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "fmax", "fmin",
        "isclose", "allclose", "sub", "true_divide", "fmod", "remainder", "heaviside", "copysign",
        "nextafter", "logical_and", "logical_xor", "add", "mul")},
    "where": lambda x, y: torch.where(x > 0, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "isclose, NaN too": lambda x, y: torch.isclose(x, y, equal_nan=True),
    "allclose, NaN too": lambda x, y: torch.allclose(x, y, equal_nan=True),
}  # fmt: skip
PLACES: dict[str, Unary] = {"itself": lambda x: x, "a view of it": lambda x: x.view(x.shape)}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", TWICE)
@clause("OPS-550", needs="dtype:float32")
def test_one_tensor_may_be_both_operands(device: torch.device, name: str, place: str) -> None:
    """NaN differs from itself, and what is infinite has no difference."""
    for last in (2.0, float("nan"), INF):
        sent = torch.tensor([1.0, -1.5, 0.0, -0.0, last])
        there = host.upload(sent, device)
        seen, expected = TWICE[name](there, PLACES[place](there)), TWICE[name](sent, sent)
        if isinstance(expected, torch.Tensor):
            check.tensor(f"{name} of a tensor and {place}", host.download(seen), expected)
        else:
            check.equal(f"{name} of a tensor and {place}", seen, expected)


Lists = list[torch.Tensor]
FOREACH: dict[str, Callable[[Lists], Sequence[torch.Tensor]]] = {
    **{
        f"norm, {order}": lambda x, order=order: torch._foreach_norm(x, order)  # type: ignore[misc]
        for order in (0, 1, 2, INF)
    },
    "add, alpha": lambda x: torch._foreach_add(x, x, alpha=-2),
    "sub, alpha": lambda x: torch._foreach_sub(x, x, alpha=3),
    "addcmul, value": lambda x: torch._foreach_addcmul(x, x, x, value=-2),
    "addcmul, values": lambda x: torch._foreach_addcmul(x, x, x, [2.0, -1.0]),
    "addcdiv, value": lambda x: torch._foreach_addcdiv(x, x, x, value=4),
    "lerp, weight": lambda x: torch._foreach_lerp(x, [-each for each in x], 0.25),
    "pow, number": lambda x: torch._foreach_pow(x, 2),
    "clamp_max, numbers": lambda x: torch._foreach_clamp_max(x, [1.0, 2.0]),
    "clamp_min, number": lambda x: torch._foreach_clamp_min(x, 2.0),
    "max": torch._foreach_max,
}


@pytest.mark.parametrize("name", FOREACH)
@clause("OPS-537", needs="dtype:float32")
def test_lists_take_what_a_tensor_takes(device: torch.device, name: str) -> None:
    """The results are whole numbers, or quarters, in whatever order they are computed."""
    sent = [torch.tensor([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0]]) + 0.0, torch.tensor([1.0, -2.0, 2.0])]
    if name.startswith("addcdiv"):
        sent = [one + 8 * (one == 0) for one in sent]
    seen = FOREACH[name]([host.upload(one, device) for one in sent])
    for mine, theirs in zip(seen, FOREACH[name](sent), strict=True):
        check.tensor(f"_foreach_{name}", host.download(mine) + 0.0, theirs + 0.0)
