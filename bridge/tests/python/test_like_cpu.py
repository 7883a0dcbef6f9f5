# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's CPU does the device does, and what it refuses the device refuses.

Every operation of a table, in place and with `out`, is called on both with operands of every
layout: contiguous, turned, stepped, expanded, channels-last with dimensions of one element, without
dimensions, empty. Result, arguments afterwards, dtype, sizes and strides are the same, or both
raise the same class.
"""

from __future__ import annotations

import itertools
import platform
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

Tensor = torch.Tensor
Call = Callable[..., Any]

# Elements of the storage, sizes, strides, offset.
LAYOUTS: dict[str, tuple[int, tuple[int, ...], tuple[int, ...], int]] = {
    "plain": (16, (4, 4), (4, 1), 0),
    "turned": (16, (4, 4), (1, 4), 0),
    "stepped": (128, (4, 4), (32, 2), 3),
    "row": (4, (4, 4), (0, 1), 0),
    "column": (4, (4, 4), (1, 0), 0),
    "one": (1, (4, 4), (0, 0), 0),
    "vector": (4, (4,), (1,), 0),
    "number": (1, (), (), 0),
    "empty": (0, (0, 4), (4, 1), 0),
    "four": (256, (2, 4, 4, 4), (64, 16, 4, 1), 0),
    "last": (256, (2, 4, 4, 4), (64, 1, 16, 4), 0),
    "last of one": (16, (4, 4, 1, 1), (4, 1, 4, 4), 0),
    "rows of one": (4, (4, 4, 1, 1), (0, 1, 1, 1), 0),
}
DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


def _index(a: Tensor) -> Tensor:
    return torch.tensor([0], device=a.device)


def _mask(a: Tensor) -> Tensor:
    return torch.ones(a.shape, dtype=torch.bool, device=a.device)


def _last(a: Tensor) -> Tensor:
    made = torch.ones(a.shape, dtype=torch.complex128, device=a.device)
    return made.to(memory_format=torch.channels_last) if a.dim() == 4 else made


IN_PLACE: dict[str, Call] = {
    "fill_": lambda a: a.fill_(2),
    "fill_ with a tensor": lambda a: a.fill_(torch.tensor(2, device=a.device)),
    "zero_": lambda a: a.zero_(),
    "masked_fill_": lambda a: a.masked_fill_(_mask(a), 2),
    "index_fill_": lambda a: a.index_fill_(0, _index(a), 2),
    "index_put_": lambda a: a.index_put_((_index(a),), torch.ones((), dtype=a.dtype)),
    "index_add_": lambda a: a.index_add_(0, _index(a), a[:1].clone()),
    "scatter_": lambda a: a.scatter_(0, torch.zeros_like(a, dtype=torch.long), 1),
    "tril_": lambda a: a.tril_(),
    "fill_diagonal_": lambda a: a.fill_diagonal_(3),
    "add_": lambda a: a.add_(1),
    "mul_": lambda a: a.mul_(2),
    "neg_": lambda a: a.neg_(),
    "addcmul_": lambda a: a.addcmul_(a, a),
    "copy_ of a row": lambda a: a.copy_(a[0]),
    "copy_ of itself": lambda a: a.copy_(a.view_as(a)),
    "copy_ of a number": lambda a: a.copy_(torch.tensor(3)),
    "copy_ from the host": lambda a: a.copy_(torch.ones(a.shape)),
    "add_ of a row": lambda a: a.add_(a[0]),
    "addr_": lambda a: a.addr_(*[torch.ones(4, dtype=a.dtype, device=a.device)] * 2),
    "addmv_": lambda a: a.addmv_(a, a[0]),
    "set an element": lambda a: a.__setitem__(0, 1),
    "mul by a number": lambda a: a * 2,
    "add a number": lambda a: a + 1,
    "add to itself": lambda a: a + a,
    "clone": lambda a: a.clone(),
    "to channels-last": lambda a: a.to(memory_format=torch.channels_last),
    "where": lambda a: torch.where(_mask(a), a, 1),
    "where of two dtypes": lambda a: torch.where(a.eq(a), a, _last(a)),
    "resize_ to nothing": lambda a: a.resize_(0),
}
WITH_OUT: dict[str, Call] = {
    "add": lambda o, a: torch.add(a, 1, out=o),
    "mul": lambda o, a: torch.mul(a, a, out=o),
    "sum": lambda o, a: torch.sum(a, 0, out=o),
    "where": lambda o, a: torch.where(_mask(a), a, a, out=o),
    "neg": lambda o, a: torch.neg(a, out=o),
    "cat": lambda o, a: torch.cat([a, a], out=o),
    "full": lambda o, _: torch.full((4, 4), 2, out=o),
    "copy_": lambda o, a: o.copy_(a),
    "add_": lambda o, a: o.add_(a),
    "fill_": lambda o, a: o.fill_(a),
}
NUMBERS = [1.01, 3, -7, True, 0.1, 70000, float("inf"), 1e30]
WITH_NUMBER: dict[str, Callable[[Tensor, Any], Any]] = {
    "mul": lambda a, n: a * n,
    "of a number": lambda a, n: n * a,
    "mul_": lambda a, n: a.mul_(n),
    "out of another dtype": lambda a, n: torch.mul(
        a, torch.tensor(n), out=torch.empty(0, dtype=torch.float32, device=a.device)
    ),
    "by a tensor of the host": lambda a, n: torch.mul(a, torch.tensor(n)),
    "by a tensor of the device": lambda a, n: torch.mul(a, torch.tensor(n, device=a.device)),
    "into a number's place": lambda a, n: torch.mul(torch.tensor(n), a),
    "foreach": lambda a, n: torch._foreach_mul([a], n)[0],
    "add": lambda a, n: a + n,
    "sub": lambda a, n: a - n,
    "from a number": lambda a, n: n - a,
    "div": lambda a, n: a / n,
    "where": lambda a, n: torch.where(a > 0, a, n),
    "equal": lambda a, n: a == n,
    "less": lambda a, n: a < n,
}


def _made(layout: str, dtype: torch.dtype, device: torch.device) -> Tensor:
    count, sizes, strides, offset = LAYOUTS[layout]
    values = (torch.arange(count) * 7 % 11 - 5).to(torch.float32) / 4
    values = values if dtype.is_floating_point or dtype.is_complex else values * 4
    return values.to(dtype).to(device).as_strided(sizes, strides, offset)


def _storage(tensor: Tensor) -> Tensor:
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.as_strided((count,), (1,), 0).cpu()


def _run(call: Call, *tensors: Tensor) -> tuple[str, list[Tensor]]:
    """Returns the class of what was raised, or nothing; the result, and the arguments
    afterwards."""
    try:
        result = call(*tensors)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return type(error).__name__, []
    return "", [each for each in (result, *tensors) if isinstance(each, Tensor)]


def _difference(
    call: Call, exact: bool, device: torch.device, *made: tuple[str, torch.dtype]
) -> str:
    """Returns what the device does otherwise than the CPU; nothing where there is no difference."""
    host = torch.device("cpu")
    raised, expected = _run(call, *(_made(*each, host) for each in made))
    ours_raised, seen = _run(call, *(_made(*each, device) for each in made))
    if raised != ours_raised:
        return f"cpu: {raised or 'no error'}, device: {ours_raised or 'no error'}"
    for ours, theirs in zip(seen, expected, strict=True):
        for what in ("dtype", "shape", "stride"):
            mine, other = (getattr(each, what) for each in (ours, theirs))
            if callable(mine):
                mine, other = mine(), other()
            if mine != other:
                return f"{what} {mine} instead of {other}"
        limits: dict[str, Any] = {"rtol": 0, "atol": 0} if exact else {}
        try:
            torch.testing.assert_close(ours.cpu(), theirs, equal_nan=True, **limits)
            if ours.untyped_storage().nbytes() == theirs.untyped_storage().nbytes():
                torch.testing.assert_close(
                    _storage(ours), _storage(theirs), equal_nan=True, **limits
                )
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return ""


def _check(differences: dict[object, str]) -> None:
    assert differences, "no case was run"
    wrong = {case: what for case, what in differences.items() if what}
    assert not wrong, f"{len(wrong)} of {len(differences)}: {list(wrong.items())[:8]}"


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, of writes to expanded tensors
        yield


@pytest.mark.parametrize("name", IN_PLACE)
def test_one_operand(device: torch.device, name: str) -> None:
    _check(
        {
            case: _difference(IN_PLACE[name], False, device, case)
            for case in itertools.product(LAYOUTS, DTYPES)
        }
    )


@pytest.mark.parametrize("name", WITH_OUT)
def test_an_output_that_is_given(device: torch.device, name: str) -> None:
    dtypes = [(each, each) for each in DTYPES] + [
        (torch.float32, torch.int64),
        (torch.int64, torch.float32),
        (torch.bfloat16, torch.float32),
    ]
    # A new output is empty; what is resized is resized alike, but its old bytes are nobody's.
    _check(
        {
            (out, of, layout, wanted): _difference(
                WITH_OUT[name], False, device, (wanted, out), (layout, of)
            )
            for out, of in dtypes
            for layout, wanted in itertools.product(("plain", "turned", "row", "number"), LAYOUTS)
            if wanted != "empty" or name != "copy_"
        }
    )


@pytest.mark.parametrize("name", WITH_NUMBER)
def test_a_number_is_not_rounded_first(device: torch.device, name: str) -> None:
    """Half precision by a number is computed in float on the CPU, and rounded once."""
    dtypes = (torch.bfloat16, torch.float16, torch.float32, torch.int64)
    _check(
        {
            (layout, dtype, number): _difference(
                lambda a, number=number: WITH_NUMBER[name](a, number),
                True,
                device,
                (layout, dtype),
            )
            for layout, dtype, number in itertools.product(
                ("plain", "stepped", "vector", "number"), dtypes, NUMBERS
            )
        }
    )


def test_all_of_256_products_are_rounded_once(device: torch.device) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.arange(1, 257).to(dtype)
        assert torch.equal((x.to(device) * 1.01).cpu(), x * 1.01)


def test_alpha_that_does_not_fit_is_refused(device: torch.device) -> None:
    for place in (torch.device("cpu"), device):
        half = torch.ones(2, dtype=torch.half, device=place)
        for call in (torch.add, torch.sub):
            with pytest.raises(RuntimeError, match="overflow"):
                call(half, half, alpha=70000)


def test_only_indices_may_lie_on_the_host(device: torch.device) -> None:
    x = torch.zeros(5, device=device)
    here, there = torch.tensor([0, 1], device=device), torch.tensor([2, 3])
    x.index_put_((there,), torch.ones(2, device=device))
    x.index_put_((here,), torch.tensor(4.0))
    assert x.tolist() == [4, 4, 1, 1, 0]
    assert x[there].tolist() == [1, 1]
    refusals: list[Call] = [
        lambda: x.index_put_((here,), torch.ones(2)),
        lambda: torch.zeros(5)[here],
        lambda: torch.zeros(5).index_put_((here,), torch.ones(2)),
    ]
    for refused in refusals:
        with pytest.raises(RuntimeError, match="device"):
            refused()


OUT_OF_RANGE = """
import torch, torch_tbk
device = torch_tbk.load(torch_tbk.reference("cpu")).backend_name
values = [-3.4e38, 3.4e38, float("nan"), float("inf"), 3e9, -3e9, 300.0, -300.0, -1.5]
for source in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    x = torch.tensor(values, dtype=torch.float64).to(source)
    for target in (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
        assert torch.equal(x.to(device).to(target).cpu(), x.to(target)), (source, target)
print("done")
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="C leaves it to the machine")
def test_the_reference_converts_what_does_not_fit_as_the_cpu(child: Callable[..., str]) -> None:
    """Nobody defines it, so that no other device is held to it."""
    assert child(OUT_OF_RANGE) == "done\n"
