# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""unique and its kin, and other results whose size depends on values, beside PyTorch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
from likeness import check_same, moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[[Tensor], Any]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.uint8,
          torch.bool]  # fmt: skip


pytestmark = pytest.mark.usefixtures("takes_programs")


def whole(*sizes: int, below: int = 4) -> Tensor:
    return torch.randint(below, sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def as_list(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else list(result)


def check(call: Call, x: Tensor, backend: DeviceModule, device: torch.device) -> None:
    expected = as_list(call(x))
    there = moved(x, device)
    backend.reset_fallbacks()
    seen = as_list(call(there))
    assert backend.fallbacks() == []
    for ours, theirs in zip(seen, expected, strict=True):
        check_same(ours, theirs)


ALL = {"return_inverse": True, "return_counts": True}
CALLS: dict[str, Call] = {
    "unique": torch.unique,
    "unique with inverse": partial(torch.unique, return_inverse=True),
    "unique with counts": partial(torch.unique, return_counts=True),
    "unique with all": partial(torch.unique, **ALL),
    "unique, unsorted": partial(torch.unique, sorted=False, **ALL),
    "neighbours": torch.unique_consecutive,
    "neighbours with all": partial(torch.unique_consecutive, **ALL),
}
OF_ROWS: dict[str, Call] = {
    "rows": partial(torch.unique, dim=0, **ALL),
    "columns": partial(torch.unique, dim=-1, **ALL),
    "neighbouring rows": partial(torch.unique_consecutive, dim=0, **ALL),
    "neighbouring columns": partial(torch.unique_consecutive, dim=1, **ALL),
}
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda x: x,
    "turned": lambda x: x.transpose(0, -1),
    "stepped": lambda x: x[::2],
    "expanded": lambda x: x[:, :1].expand_as(x),
}


@pytest.mark.parametrize("name", [*CALLS, *OF_ROWS])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: torch.dtype, name: str, backend: DeviceModule, device: torch.device) -> None:
    check({**CALLS, **OF_ROWS}[name], whole(9, 3, below=3).to(dtype), backend, device)


@pytest.mark.parametrize("name", [*CALLS, *OF_ROWS])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, name: str, backend: DeviceModule, device: torch.device) -> None:
    call, lay = {**CALLS, **OF_ROWS}[name], LAYOUTS[layout]
    check(lambda x: call(lay(x)), whole(6, 2, 3, below=2), backend, device)


@pytest.mark.parametrize("name", CALLS)
def test_few_elements(name: str, backend: DeviceModule, device: torch.device) -> None:
    for x in (torch.tensor(3.0), torch.tensor([3]), torch.zeros(5), torch.zeros(0, 3)):
        check(CALLS[name], x, backend, device)


@pytest.mark.parametrize("name", CALLS)
def test_each_nan_is_another(name: str, backend: DeviceModule, device: torch.device) -> None:
    nan = float("nan")
    check(CALLS[name], torch.tensor([nan, 1.0, nan, nan, -0.0, 0.0, 1.0]), backend, device)


def test_rows_that_are_long(device: torch.device) -> None:
    """They may fall back; they are right."""
    x = whole(5, 100, below=2)[[0, 1, 0, 2, 1]]
    for seen, expected in zip(torch.unique(x.to(device), dim=0, **ALL),
                              torch.unique(x, dim=0, **ALL), strict=True):  # fmt: skip
        check_same(seen, expected)


def test_one_count_is_read(backend: DeviceModule, device: torch.device) -> None:
    x = whole(50).to(device)
    backend.reset_routes()
    torch.unique(x, **ALL)
    counts = {row.operator: row.count for row in backend.routes()}
    assert counts["aten::nonzero"] == 1
    assert counts["aten::_unique2"] == 1


@pytest.mark.parametrize("sizes", [(), (0, 3), (3, 0)])
def test_the_errors_are_pytorchs(sizes: tuple[int, ...], device: torch.device) -> None:
    x = torch.zeros(sizes)
    if sizes != (0, 3):
        with pytest.raises((IndexError, RuntimeError)) as on_host:
            torch.unique(x, dim=0)
        with pytest.raises(type(on_host.value)):
            torch.unique(x.to(device), dim=0)
    with pytest.raises(IndexError):
        torch.unique(x.to(device), dim=5)


def repeats(*counts: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor(counts, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("counts", [(2, 1, 3), (0, 2, 0, 0, 4, 0), (0, 0), (1,), (5,)])
def test_repeats(
    counts: tuple[int, ...], dtype: torch.dtype, backend: DeviceModule, device: torch.device
) -> None:
    check(torch.repeat_interleave, repeats(*counts, dtype=dtype), backend, device)
    total = sum(counts)
    check(partial(torch.repeat_interleave, output_size=total), repeats(*counts), backend, device)


def test_rows_are_repeated(backend: DeviceModule, device: torch.device) -> None:
    rows = torch.arange(12.0).view(4, 3)
    check(lambda x: rows.to(x.device).repeat_interleave(x, 0), repeats(2, 0, 1, 3), backend, device)


def test_repeats_that_pytorch_refuses(device: torch.device) -> None:
    with pytest.raises(RuntimeError, match="negative"):
        torch.repeat_interleave(repeats(1, -1, 2).to(device))
    with pytest.raises(RuntimeError):
        torch.repeat_interleave(repeats(1, 2).to(device), output_size=7)
    with pytest.raises(RuntimeError):
        torch.repeat_interleave(torch.ones(3, device=device))


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_a_number_that_is_set(value: float, backend: DeviceModule, device: torch.device) -> None:
    check(torch.nonzero, torch.tensor(value), backend, device)
    check(torch.argwhere, torch.tensor(value), backend, device)


@pytest.mark.parametrize("size", [0, 2, 5, 40])
def test_places_of_a_number_that_is_known(
    size: int, backend: DeviceModule, device: torch.device
) -> None:
    for x in (whole(4, 3), whole(7), whole(2, 3, 4).mT, torch.zeros(3), torch.tensor(1)):
        check(partial(torch.nonzero_static, size=size), x, backend, device)
        check(partial(torch.nonzero_static, size=size, fill_value=-7), x, backend, device)


def test_selected_by_a_mask_has_a_gradient(backend: DeviceModule, device: torch.device) -> None:
    def slope(x: Tensor) -> Tensor:
        leaf = x.detach().clone().requires_grad_()
        (leaf.masked_select(leaf > 1) ** 2).sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    check(slope, whole(6, 7).float(), backend, device)


def test_a_mask_takes_no_more_than_there_is(backend: DeviceModule, device: torch.device) -> None:
    mask = torch.tensor([True, False, True, True, False])
    check(lambda x: torch.zeros(5, device=x.device).masked_scatter(mask.to(x.device), x),
          torch.tensor([1.0, 2.0, 3.0]), backend, device)  # fmt: skip
    with pytest.raises(RuntimeError, match=r"(?i)number of"):
        torch.zeros(5, device=device).masked_scatter(mask.to(device), torch.ones(2, device=device))
