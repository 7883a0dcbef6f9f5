# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Values made on the host, the way to a device and back, and threads that report what they met."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from tbk_contracts.torch import patience, run_seed

Result = TypeVar("Result")
JOIN_S = 60.0
GONE_S = 2.0


def seed(number: int = 0) -> torch.Generator:
    """Returns a generator on the host. Without a number, another one each time: no value comes
    twice, so that a block of memory that is used again does not hold the right answer by chance."""
    return torch.Generator("cpu").manual_seed(number or run_seed.fresh())


def values(
    shape: Sequence[int],
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Random values on the host: normal ones, integers over the range of int8, or booleans."""
    made = generator or seed()
    if dtype == torch.bool:
        return torch.randint(0, 2, tuple(shape), generator=made).to(torch.bool)
    if not (dtype.is_floating_point or dtype.is_complex):
        low = 0 if dtype == torch.uint8 else -100
        return torch.randint(low, 101, tuple(shape), generator=made).to(dtype)
    if dtype.is_complex:
        parts = torch.randn((*shape, 2), generator=made, dtype=torch.float64)
        return torch.view_as_complex(parts).to(dtype)
    return torch.randn(tuple(shape), generator=made, dtype=torch.float64).to(dtype)


def counting(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """0, 1, 2, ... in this shape: each element tells where it came from."""
    return torch.arange(math.prod(shape), dtype=torch.int64).reshape(tuple(shape)).to(dtype)


def upload(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Returns a copy on `device` with the same strides, where they are dense."""
    return tensor.to(device, copy=True)


def download(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy on the host, which waits for what the tensor waits for."""
    return tensor.detach().to("cpu", copy=True)


def goes_round(dtype: torch.dtype, device: torch.device) -> bool:
    """Returns whether the device has tensors of `dtype`: they come back as they were sent."""
    sent = counting((8,), dtype)
    try:
        return torch.equal(download(upload(sent, device)), sent)
    except (RuntimeError, TypeError):
        return False


def gradient(leaf: torch.Tensor) -> torch.Tensor:
    """Returns what backward has left in `leaf.grad`, as a copy on the host."""
    if leaf.grad is None:
        raise RuntimeError("no gradient has come to a leaf")
    return download(leaf.grad)


def poisoned(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Memory on `device` that holds no right answer: NaN, or the largest integer, or True."""
    if dtype.is_floating_point or dtype.is_complex:
        value: float | int | bool = math.nan
    else:
        value = True if dtype == torch.bool else torch.iinfo(dtype).max
    return upload(torch.full(tuple(shape), value, dtype=dtype), device)


def in_thread(call: Callable[[], Result], timeout_s: float = JOIN_S) -> Result:
    """Returns what `call` returns or raises in a thread of its own."""
    return in_threads([call], timeout_s)[0]


def in_threads(calls: Sequence[Callable[[], Result]], timeout_s: float = JOIN_S) -> list[Result]:
    """Returns the same for several threads that run at once. One that does not end is an error."""
    results: list[Result | None] = [None] * len(calls)
    errors: list[BaseException] = []

    def run(index: int, call: Callable[[], Result]) -> None:
        try:
            results[index] = call()
        except BaseException as error:  # handed on to the caller below
            errors.append(error)

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        if not patience.wait(partial(_has_ended, thread), timeout_s):
            raise TimeoutError(f"a thread has not ended after {timeout_s:g} s")
        _wait_until_gone(thread)
    if errors:
        raise errors[0]
    return results  # type: ignore[return-value]  # each has returned


def _has_ended(thread: threading.Thread, within_s: float) -> bool:
    thread.join(within_s)
    return not thread.is_alive()


def _wait_until_gone(thread: threading.Thread) -> None:
    """Python's join returns when a thread has left Python. What a device keeps for a thread goes
    later, as it ends in the kernel, which Linux tells."""
    told, until = Path(f"/proc/self/task/{thread.native_id}"), time.monotonic() + GONE_S
    while told.exists() and time.monotonic() < until:
        time.sleep(0.001)
