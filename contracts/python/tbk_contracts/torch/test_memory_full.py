# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""More memory than there is."""

from __future__ import annotations

import contextlib
from functools import partial

import pytest
import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause

MIB = 1 << 20
MOST = 1 << 30  # bytes that a test takes to fill a device
MOST_ROUNDS = 2000
ABSURD = (1 << 50, 1 << 60, (1 << 62) - 1, (1 << 63) - 1)


def _taken(size: int, device: torch.device) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device=device)


def _given_at_once(size: int, device: torch.device) -> int:
    """Returns `size`, or what is left when it has been halved until the device gives it in one
    allocation: how much that may be can be limited, whatever is free. Its cache is empty then."""
    while size > 1:
        try:
            _taken(size, device)
            break
        except torch.OutOfMemoryError:
            size //= 2
    torch.accelerator.empty_cache()
    return size


def _works(device: torch.device) -> None:
    sent = host.values((1000,))
    check.tensor("values of memory that is taken later", host.download(sent.to(device)), sent)


@clause("MEM-515", needs="oom", alone=True)
def test_too_much_is_out_of_memory(device: torch.device) -> None:
    sent = host.values((1000,))
    kept = host.upload(sent, device)
    _, total = torch.accelerator.get_memory_info(device)
    for size in (total + 1, total + 64 * MIB, 2 * total):
        check.raises("more than there is", torch.OutOfMemoryError, partial(_taken, size, device))
        _works(device)
    check.tensor("values that live", host.download(kept), sent)


@clause("MEM-515", needs="oom memory_stats", alone=True)
def test_a_failure_takes_nothing(device: torch.device) -> None:
    _works(device)
    order.settle(device)
    before = torch.accelerator.memory_allocated(device)
    _, total = torch.accelerator.get_memory_info(device)
    for _ in range(3):
        with contextlib.suppress(torch.OutOfMemoryError):
            _taken(total + 1, device)
    check.equal("memory_allocated()", torch.accelerator.memory_allocated(device), before)


@clause("MEM-515", needs="oom", alone=True)
def test_a_full_device_works_on(device: torch.device) -> None:
    sent = (torch.arange(64.0 * 64) % 5).view(64, 64)  # of which every sum is exact
    there = host.upload(sent, device)
    host.download(there @ there + there)  # what an operator makes once is made by now
    order.settle(device)
    torch.accelerator.empty_cache()
    free, total = torch.accelerator.get_memory_info(device)
    if total > MOST:
        _works(device)
        check.evidence(check.NOT_SHOWN, "the device is too large to be filled here")
        return
    most = _given_at_once(total // 2, device)
    part = min(total // 16, most)
    for _ in range(2):
        held: list[torch.Tensor] = []

        def fill(held: list[torch.Tensor] = held) -> None:
            while len(held) * part < 6 * total:
                held.append(_taken(part, device))

        check.raises("memory in parts", torch.OutOfMemoryError, fill)
        check.that(f"parts of {part} bytes until it is full", len(held) >= free // part // 2,
                   expected=f"{free // part // 2} at least", seen=len(held))  # fmt: skip
        held.clear()
        # Whoever caches memory has all of it now, and an operator may need some of its own.
        check.tensor("operators on the memory that is left", host.download(there @ there + there),
                     sent @ sent + sent)  # fmt: skip
        again = _taken(most, device)
        check.equal("bytes in one piece, later", again.nbytes, most)
        del again
    _works(device)


@clause("MEM-516", needs="oom memory_stats", alone=True)
def test_the_cache_is_given_back_first(device: torch.device) -> None:
    _works(device)
    order.settle(device)
    torch.accelerator.empty_cache()
    free, total = torch.accelerator.get_memory_info(device)
    if total > MOST:
        _works(device)
        check.evidence(check.NOT_SHOWN, "the device is too large to be filled here")
        return
    if _given_at_once(free * 6 // 8, device) < free * 6 // 8:
        check.evidence(check.NOT_SHOWN, "one allocation may not have most of the memory")
        return
    before = torch.accelerator.memory_stats(device)
    size = _taken(free * 5 // 8, device).nbytes  # in the cache when the next one is asked for
    larger = _taken(free * 6 // 8, device)
    check.that("bytes that need the cache's", larger.nbytes > size, expected="all", seen="fewer")
    between = torch.accelerator.memory_stats(device)
    check.that("num_alloc_retries", between["num_alloc_retries"] > before["num_alloc_retries"],
               expected="one more at least", seen="no more")  # fmt: skip
    check.raises("more than there is", torch.OutOfMemoryError, lambda: _taken(total + 1, device))
    after = torch.accelerator.memory_stats(device)
    check.equal("num_ooms, risen", after["num_ooms"] - between["num_ooms"], 1)


PARTS: dict[str, tuple[int, ...]] = {"eighths": (8,), "64ths": (64,), "mixed": (8, 64, 27, 300, 11)}


@pytest.mark.parametrize("parts", list(PARTS))
@clause("MEM-536", needs="memory_info", alone=True)
def test_more_than_there_is_one_after_the_other(device: torch.device, parts: str) -> None:
    order.settle(device)
    torch.accelerator.empty_cache()
    free, total = torch.accelerator.get_memory_info(device)
    sizes = [max(1, free // part) for part in PARTS[parts]]
    _works(device)
    taken = rounds = 0
    while taken <= 2 * total and rounds < MOST_ROUNDS:
        size = sizes[rounds % len(sizes)]
        try:
            _taken(size, device)
        except torch.OutOfMemoryError:
            # One allocation may be limited, whatever is free: what counts is that it goes on.
            check.that(f"memory in {parts} of what is free", taken == 0 and size > MIB,
                       expected=f"{2 * total} bytes, one after the other",
                       seen=f"out of memory after {taken}")  # fmt: skip
            sizes = [each // 2 for each in sizes]
            continue
        taken, rounds = taken + size, rounds + 1
    _works(device)


@clause("MEM-517")
def test_absurd_sizes_fail_cleanly(device: torch.device) -> None:
    for size in ABSURD:
        check.raises("torch.empty", (RuntimeError, MemoryError),
                     partial(_taken, size, device))  # fmt: skip
        _works(device)
    for shape in ((1 << 40, 1 << 40), (1 << 31, 1 << 31, 2), (1 << 62, 1 << 62, 4)):
        check.raises("torch.empty of many dimensions", (RuntimeError, MemoryError),
                     partial(torch.empty, shape, device=device))  # fmt: skip
    check.raises("a storage", (RuntimeError, MemoryError),
                 lambda: torch.UntypedStorage(1 << 60, device=device))  # fmt: skip
    sent = host.values((1000,))
    tensor = host.upload(sent, device)
    check.raises("a storage that grows", (RuntimeError, MemoryError),
                 lambda: tensor.untyped_storage().resize_(1 << 60))  # fmt: skip
    check.equal("its bytes", tensor.untyped_storage().nbytes(), 4000)
    check.tensor("its values", host.download(tensor), sent)
    _works(device)
