# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sorting, running reductions and what a mask chooses: each gives what PyTorch's CPU gives.

None of them falls back. Of equal elements only a stable sort says which index comes first: else an
index is right where it finds the value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch
from likeness import check_same, moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Tensor = torch.Tensor
Call = Callable[..., Any]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
          torch.int8, torch.uint8]  # fmt: skip
REAL = [dtype for dtype in DTYPES if dtype.is_floating_point]
SHAPES: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "turned": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "stepped": lambda t: t.repeat_interleave(2, 0)[::2],
    "line": lambda t: t.flatten(),
    "number": lambda t: t.flatten()[0],
    "empty": lambda t: t[:0],
}


@pytest.fixture(autouse=True)
def served(backend: DeviceModule, device: torch.device) -> Iterator[None]:
    """Skips where the backend neither sorts nor scans; PyTorch's own warnings are not ours."""
    backend.reset_fallbacks()
    torch.ones(2, device=device).sort()
    torch.ones(2, device=device).cumsum(0)
    if backend.fallbacks():
        pytest.skip("the backend offers no tbk::sort, or no tbk::scan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values(dtype: torch.dtype, shape: str = "plain", seed: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    drawn = (torch.randn(4, 7, generator=generator) * 2).to(dtype)
    return SHAPES[shape](drawn)


def run(call: Call, host: Tensor, device: torch.device, backend: DeviceModule) -> tuple[Any, Any]:
    """Returns what the device gives, without the host's help, and what the host gives."""
    there = moved(host, device)
    backend.reset_fallbacks()
    seen = call(there)
    assert backend.fallbacks() == []
    return seen, call(host)


def check(call: Call, host: Tensor, device: torch.device, backend: DeviceModule) -> None:
    seen, expected = run(call, host, device, backend)
    if isinstance(expected, Tensor):
        seen, expected = (seen,), (expected,)
    for one, like in zip(seen, expected, strict=True):
        check_same(one, like)


EXACT: dict[str, Call] = {
    "stable sort": lambda x: x.sort(dim=-1, stable=True),
    "stable sort down": lambda x: x.sort(dim=0, stable=True, descending=True),
    "stable argsort": lambda x: x.argsort(dim=0, stable=True),
    "msort": lambda x: x.msort() if x.dim() > 0 else x,
    "cumsum": lambda x: x.cumsum(0),
    "cumsum to": lambda x: torch.cumsum(x, -1, out=torch.empty(x.shape, dtype=x.dtype,
                                                               device=x.device)),
    "cumsum_": lambda x: x.clone().cumsum_(0),
    "cumprod": lambda x: x.clamp(max=2).cumprod(-1),
    "cumsum as": lambda x: x.cumsum(0, dtype=torch.float64),
    "cummax": lambda x: x.cummax(0),
    "cummin": lambda x: x.cummin(-1),
    "nonzero": lambda x: x.nonzero() if x.dim() > 0 else x,
    "masked_select": lambda x: x.masked_select(x > 0),
    "masked_select of rows": lambda x: x.masked_select(x.select(0, 0) > 0) if x.numel() > 1 else x,
    "mask": lambda x: x[x > 0],
    "put by a mask": lambda x: x.clone().index_put_((x > 0,), x[x > 0] * 2) if x.dim() > 0 else x,
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x + 1),
}  # fmt: skip
# With the dimension that they choose along.
CHOOSE: dict[str, tuple[int, Call]] = {
    "sort": (0, lambda x: x.sort(dim=0)),
    "sort down": (1, lambda x: torch.sort(x, -1, True)),
    "topk": (1, lambda x: x.topk(3)),
    "topk of the least": (0, lambda x: x.topk(2, 0, largest=False)),
    "kthvalue": (1, lambda x: x.kthvalue(2)),
    "kthvalue kept": (0, lambda x: x.kthvalue(3, 0, keepdim=True)),
    "median": (1, lambda x: x.median(-1)),
    "median kept": (0, lambda x: x.median(0, keepdim=True)),
    "nanmedian": (1, lambda x: x.nanmedian(-1)),
}


@pytest.mark.parametrize("name", EXACT)
def test_it_gives_what_the_host_gives(
    name: str, device: torch.device, backend: DeviceModule
) -> None:
    for dtype in DTYPES:
        check(EXACT[name], values(dtype), device, backend)


@pytest.mark.parametrize("name", EXACT)
def test_shapes_change_nothing(name: str, device: torch.device, backend: DeviceModule) -> None:
    for shape in SHAPES:
        check(EXACT[name], values(torch.float32, shape), device, backend)


def check_choice(name: str, host: Tensor, device: torch.device, backend: DeviceModule) -> None:
    """Values are the same, and each index finds its value."""
    dim, call = CHOOSE[name]
    (seen, places), (expected, _) = run(call, host, device, backend)
    check_same(seen, expected)
    assert (places.dtype, places.shape) == (torch.int64, expected.shape)
    is_kept = places.dim() == host.dim()
    found = host.gather(dim, places.cpu() if is_kept else places.cpu().unsqueeze(dim))
    found = found if is_kept else found.squeeze(dim)
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("name", CHOOSE)
def test_it_chooses_what_the_host_chooses(
    name: str, device: torch.device, backend: DeviceModule
) -> None:
    for dtype in DTYPES:
        check_choice(name, values(dtype), device, backend)


@pytest.mark.parametrize("name", [*CHOOSE, "stable sort", "cummax", "cummin"])
def test_nan_stands_last(name: str, device: torch.device, backend: DeviceModule) -> None:
    host = values(torch.float32)
    host[1, 2] = host[2, 2] = host[2, 5] = float("nan")
    host[3, 0], host[3, 1] = float("inf"), -float("inf")
    if name in CHOOSE:
        check_choice(name, host, device, backend)
    else:
        check(EXACT[name], host, device, backend)


def test_logcumsumexp(device: torch.device, backend: DeviceModule) -> None:
    for dtype in REAL:
        for call in (lambda x: x.logcumsumexp(0), lambda x: x.logcumsumexp(-1)):
            check(call, values(dtype), device, backend)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_all(name: str, device: torch.device, backend: DeviceModule) -> None:
    host = values(torch.float32)
    check(lambda x: getattr(x, name)(), host, device, backend)
    host[1, 2] = float("nan")
    check(lambda x: getattr(x, name)(), host, device, backend)


def test_long_segments(device: torch.device, backend: DeviceModule) -> None:
    host = torch.randint(50, (3, 5000), generator=torch.Generator().manual_seed(1))
    for name in ("stable sort", "cumsum", "cummax", "nonzero", "mask"):
        check(EXACT[name], host, device, backend)


def test_a_mask_of_truth_values(device: torch.device, backend: DeviceModule) -> None:
    for name in ("nonzero", "stable sort"):
        check(EXACT[name], values(torch.float32) > 0, device, backend)
    nothing = torch.zeros(3, 4, dtype=torch.bool)
    for name in ("nonzero", "mask"):
        check(lambda x, name=name: EXACT[name](x.int()), nothing, device, backend)


LEARN: dict[str, Call] = {
    "sort": lambda x: x.sort(0)[0] * torch.arange(1.0, 5.0, device=x.device)[:, None],
    "topk": lambda x: x.topk(3)[0],
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(-1),
    "cummax": lambda x: x.cummax(0)[0],
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "mask": lambda x: x[x > 0],
    "kthvalue": lambda x: x.kthvalue(2, 0)[0],
}


@pytest.mark.parametrize("name", LEARN)
def test_gradients(name: str, device: torch.device) -> None:
    def gradient(x: Tensor) -> Tensor:
        leaf = x.detach().requires_grad_()
        LEARN[name](leaf).square().sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    host = values(torch.float32)
    torch.testing.assert_close(gradient(moved(host, device)).cpu(), gradient(host))


REFUSED: dict[str, Call] = {
    "a dimension": lambda x: x.sort(2),
    "too many": lambda x: x.topk(9),
    "place 0": lambda x: x.kthvalue(0),
    "a mask": lambda x: x.masked_select(torch.ones(3, dtype=torch.bool, device=x.device)),
    "complex": lambda x: (x + 0j).sort(),
    "too few": lambda x: x.masked_scatter_(x < 99, x[0].clone()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name: str, device: torch.device) -> None:
    host = values(torch.float32)
    with pytest.raises((RuntimeError, IndexError)) as on_host:
        REFUSED[name](host)
    with pytest.raises(type(on_host.value)):
        REFUSED[name](moved(host, device))


def test_calls_are_counted(device: torch.device, backend: DeviceModule) -> None:
    there = moved(values(torch.float32), device)
    backend.reset_routes()
    there.sort(stable=True)
    there.cumsum(0)
    there[there > 0]
    routes = {row.operator: row.route for row in backend.routes()}
    assert routes["aten::sort.values_stable"] == "generic"
    assert routes["aten::cumsum.out"] == "generic"
    assert routes["aten::nonzero"] == "composed"
