# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Python numbers at the ends of a dtype and beyond: as PyTorch's CPU takes them, or refuses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

Operator = Callable[[Tensor, Any], Tensor]
INTEGERS = (
    -1, 300, -300, 70000, 2**40, -(2**40), 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1
)  # fmt: skip
NUMBERS = (True, 1.5, -1.5, 1e10, 1e30, float("inf"), float("nan"), 1 + 2j, *INTEGERS)
WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
DTYPES = (*WHOLE, torch.float16, torch.bfloat16, torch.float32, torch.float64)
VALUES = (0, 1, 2, 100, 127)
# PyTorch's CPU rounds a step between to half precision in some of its kernels; ours do not.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 2e-2}

BY_NAME = (
    "add", "sub", "rsub", "mul", "div", "fmod", "remainder", "pow", "eq", "ne", "lt", "le", "gt",
    "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "float_power", "copysign",
    "xlogy", "bitwise_left_shift", "bitwise_right_shift", "clamp_min", "clamp_max", "hardshrink",
    "full_like", "searchsorted", "nan_to_num",
)  # fmt: skip
IN_PLACE = ("add_", "sub_", "mul_", "div_", "pow_", "fill_", "clamp_", "clamp_min_", "clamp_max_")
FOREACH = ("add", "mul", "div", "clamp_min", "clamp_max", "pow")


def _placed(x: Tensor, where: Any, value: Any) -> Tensor:
    x = x.clone()
    x[where] = value
    return x


def _in_place(name: str) -> Operator:
    return lambda x, v: getattr(x.clone(), name)(v)


def _foreach(name: str) -> Operator:
    return lambda x, v: getattr(torch, f"_foreach_{name}")([x, x], v)[1]


def _square(x: Tensor) -> Tensor:
    return x[1:].reshape(2, 2)


OPERATORS: dict[str, Operator] = {
    **{name: getattr(torch, name) for name in BY_NAME},
    **{name: _in_place(name) for name in IN_PLACE},
    **{f"foreach {name}": _foreach(name) for name in FOREACH},
    "number ** x": lambda x, v: torch.pow(v, x),
    "number / x": lambda x, v: v / x,
    "number % x": lambda x, v: v % x,
    "number - x": lambda x, v: v - x,
    "add alpha": lambda x, v: torch.add(x, x, alpha=v),
    "sub alpha": lambda x, v: torch.sub(x, x, alpha=v),
    "addcmul": lambda x, v: torch.addcmul(x, x, x, value=v),
    "addcdiv": lambda x, v: torch.addcdiv(x, x, x + 1, value=v),
    "clamp both": lambda x, v: torch.clamp(x, v, v),
    "threshold": lambda x, v: functional.threshold(x, 1, v),
    "threshold at": lambda x, v: functional.threshold(x, v, 1),
    "where": lambda x, v: torch.where(x > 1, x, v),
    "masked_fill": lambda x, v: x.masked_fill(x > 1, v),
    "index_fill": lambda x, v: x.index_fill(0, torch.tensor([0, 2], device=x.device), v),
    "scatter": lambda x, v: x.scatter(0, torch.tensor([0, 2], device=x.device), v),
    "pad": lambda x, v: functional.pad(x, (1, 1), value=v),
    "full": lambda x, v: torch.full((2,), v, dtype=x.dtype, device=x.device),
    "tensor": lambda x, v: torch.tensor(v, dtype=x.dtype, device=x.device),
    "x[0:2] = number": lambda x, v: _placed(x, slice(0, 2), v),
    "x[mask] = number": lambda x, v: _placed(x, x > 1, v),
    "x[indices] = number": lambda x, v: _placed(x, torch.tensor([0, 1], device=x.device), v),
    "lerp": lambda x, v: torch.lerp(x, x + 1, v),
    "elu": functional.elu,
    "celu": functional.celu,
    "softplus": functional.softplus,
    "softshrink": functional.softshrink,
    "leaky_relu": functional.leaky_relu,
    "addmm beta": lambda x, v: torch.addmm(_square(x), _square(x), _square(x), beta=v),
    "div floor": lambda x, v: torch.div(x, v, rounding_mode="floor"),
    "div trunc": lambda x, v: torch.div(x, v, rounding_mode="trunc"),
}  # fmt: skip


def _is_lost(name: str, value: Any) -> bool:
    """Returns whether this PyTorch's CPU takes NaN for no bound, as that of 2.11 does."""
    number = value.item() if isinstance(value, Tensor) else value
    is_nan = isinstance(number, float) and math.isnan(number)
    return name == "clamp_" and is_nan and not torch.ones(1).clamp_(number).isnan()


def _answer(operator: Operator, x: Tensor, value: Any) -> Tensor | str:
    """Returns the result on the host, or the kind of error."""
    try:
        return operator(x, value).cpu()
    except Exception as error:
        return type(error).__name__


def _difference(seen: Tensor | str, expected: Tensor | str) -> str:
    if isinstance(expected, str) or isinstance(seen, str):
        return "" if isinstance(seen, str) and seen == expected else f"{seen}, not {expected}"
    rtol = TOLERANCE.get(expected.dtype, 1e-5)
    if str(seen.dtype) == str(expected.dtype) == "torch.bcomplex32":  # which cannot be compared yet
        seen, expected = torch.view_as_real(seen), torch.view_as_real(expected)
    try:
        torch.testing.assert_close(seen, expected, rtol=rtol, atol=1e-6, equal_nan=True)
    except AssertionError:
        return f"{seen.dtype} {seen.tolist()}, not {expected.dtype} {expected.tolist()}"
    return ""


def _differences(
    name: str, device: torch.device, values: Sequence[Any], placed: Callable[[Any], Any]
) -> list[str]:
    """Returns where the device answers otherwise than the CPU, which gets `values` as they are."""
    operator = OPERATORS[name]
    differences = []
    for dtype in DTYPES:
        x = torch.tensor(VALUES).to(dtype)
        on_device = x.to(device)
        for value in (one for one in values if not _is_lost(name, one)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = _answer(operator, x, value)
                seen = _answer(operator, on_device, placed(value))
            if said := _difference(seen, expected):
                differences.append(f"{dtype} {value}: {said}")
    return differences


@pytest.mark.parametrize("name", OPERATORS)
def test_a_number_is_taken_or_refused_as_on_the_cpu(device: torch.device, name: str) -> None:
    differences = _differences(name, device, NUMBERS, lambda value: value)
    assert not differences, "\n".join(differences)


# Some of which other dtypes do not hold.
TENSORS = tuple(
    torch.tensor(value, dtype=dtype) for dtype, value in (
        (torch.bool, True), (torch.uint8, 200), (torch.int8, -128), (torch.int16, -300),
        (torch.int32, 70000), (torch.int64, -1), (torch.int64, 200), (torch.int64, 300),
        (torch.int64, 2**40 + 3), (torch.float16, 1.5), (torch.bfloat16, -1.5),
        (torch.float32, 1e10), (torch.float64, 1e300), (torch.float64, math.nan),
    )
)  # fmt: skip
# PyTorch fills a device with a number of the host, which has to fit; one of the CPU it copies.
FILLED = ("fill_", "x[0:2] = number")


@pytest.mark.parametrize("name", OPERATORS)
def test_a_tensor_without_dimensions_is_taken_or_refused_as_on_the_cpu(
    device: torch.device, name: str
) -> None:
    differences = _differences(name, device, TENSORS, lambda value: value.to(device))
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in FILLED])
def test_one_of_the_host_is_taken_or_refused_as_on_the_cpu(device: torch.device, name: str) -> None:
    differences = _differences(name, device, TENSORS, lambda value: value)
    assert not differences, "\n".join(differences)
