# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""An index that is out of range is told where the host next waits, once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from index_calls import Call, Tensor, check, operands
from likeness import moved

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

pytestmark = pytest.mark.usefixtures("takes_indices")

AFTER: Call = lambda x, i, **_: x[i]  # noqa: E731
BAD: dict[str, Call] = {
    "gather": lambda x, bad, **_: x.gather(0, bad[:, None]),
    "index_select": lambda x, bad, **_: x.index_select(0, bad),
    "index.Tensor": lambda x, bad, **_: x[:, bad + 1],
    "take": lambda x, bad, **_: x.take(bad + 16),
    "scatter.value": lambda x, bad, **_: x.scatter_(0, bad[:, None], 9.0),
    "scatter_add": lambda x, y, bad, **_: x.scatter_add_(0, bad[:, None], y),
    "index_add": lambda x, y, bad, **_: x.index_add_(0, bad, y[:2]),
    "_index_put_impl_": lambda x, y, bad, **_: x.index_put_((bad,), y[0]),
    "nll_loss": lambda x, bad, **_: torch.nn.functional.nll_loss(x[:2], bad + 1),
}
WAITS: dict[str, Callable[[Tensor, DeviceModule], object]] = {
    "synchronize": lambda _, backend: backend.synchronize(),
    "stream": lambda _, backend: backend.current_stream().synchronize(),
    "copy": lambda x, _: x.cpu(),
    "item": lambda x, _: x.sum().item(),
}


def waited(call: Callable[[], object], backend: DeviceModule) -> None:
    call()
    backend.synchronize()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_index_is_told_where_the_host_waits(
    name: str, device: torch.device, backend: DeviceModule
) -> None:
    host = {**operands(torch.float32), "bad": torch.tensor([1, 4])}
    there = {key: moved(tensor, device) for key, tensor in host.items()}
    with pytest.raises(IndexError, match=rf"index is out of range.*aten::{name}"):
        waited(partial(BAD[name], **there), backend)
    backend.synchronize()  # it is told once
    check(AFTER, operands(torch.float32), device, backend)


@pytest.mark.parametrize("wait", WAITS)
def test_every_wait_tells_it(wait: str, device: torch.device, backend: DeviceModule) -> None:
    x = torch.arange(4.0, device=device)
    with pytest.raises(IndexError, match="out of range"):
        WAITS[wait](x.index_select(0, torch.tensor([1, -1], device=device)), backend)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("number", [1, 2, 5, 40])
def test_that_of_any_stream_is_told(
    number: int, device: torch.device, backend: DeviceModule
) -> None:
    """Once, to whoever waits for the device, and to nobody who waits for another stream."""
    x = torch.arange(4.0, device=device)
    streams = [backend.Stream(device) for _ in range(number)]
    for stream in streams:
        with stream:
            x.index_select(0, torch.tensor([4 if stream is streams[-1] else 1], device=device))
    backend.Stream(device).synchronize()
    with pytest.raises(IndexError, match=rf"on stream {streams[-1].stream_id} "):
        backend.synchronize(device)
    for stream in streams:
        with stream:
            x.index_select(0, torch.tensor([2], device=device))
        stream.synchronize()
    backend.synchronize(device)


def test_a_bad_place_is_left_out(device: torch.device, backend: DeviceModule) -> None:
    x, places = torch.zeros(4, device=device), torch.tensor([1, 7, -1, -5], device=device)
    with pytest.raises(IndexError):
        waited(partial(x.index_fill_, 0, places, 3.0), backend)
    assert x.tolist() == [0.0, 3.0, 0.0, 3.0]
