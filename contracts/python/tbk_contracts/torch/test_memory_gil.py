# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Memory without the GIL, and which device a pointer belongs to."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch import check, gil, host, native
from tbk_contracts.torch.case import clause

COST = 7

CALLS = 10_000
SIZE = 500
ATTEMPTS = 15
ENOUGH = 2


def _judge(what: str, attempt: Callable[[], tuple[int, int]]) -> None:
    """Makes calls until some were under way when the GIL was taken."""
    caught = 0
    for _ in range(ATTEMPTS):
        more, stuck = attempt()
        caught += more
        check.that(what, stuck == 0, expected="it completes while another thread holds the GIL",
                   seen="it waits for the GIL")  # fmt: skip
        if caught >= ENOUGH:
            return
    check.evidence(check.NOT_SHOWN, f"{caught} calls were under way when the GIL was taken")


@clause("MEM-507", needs="accelerator")
def test_allocating_needs_no_gil(device: torch.device) -> None:
    def attempt() -> tuple[int, int]:
        empties = native.Empties(device, SIZE, CALLS)
        counts = gil.calls_caught(
            empties.allocate, empties.allocations, lambda index: empties.handles[index] is not None
        )
        check.that("handles", all(empties.handles), expected="all made", seen="some not made")
        for each in empties.frees():
            empties.free(*each)
        return counts

    _judge("an allocation", attempt)


@clause("MEM-507", needs="accelerator memory_stats")
def test_freeing_needs_no_gil(device: torch.device) -> None:
    def attempt() -> tuple[int, int]:
        empties = native.Empties(device, SIZE, CALLS)
        empty = torch.accelerator.memory_allocated(device)
        failed = sum(empties.allocate(*each) != 0 for each in empties.allocations)
        check.equal("allocations that failed", failed, 0)
        full = torch.accelerator.memory_allocated(device)
        size = (full - empty) // CALLS
        return gil.calls_caught(
            empties.free, empties.frees(),
            lambda index: torch.accelerator.memory_allocated(device) <= full - (index + 1) * size,
        )  # fmt: skip

    _judge("a free", attempt)


@clause("MEM-531", needs="accelerator")
def test_a_pointer_has_a_device(device: torch.device) -> None:
    tensor = host.upload(host.values((100,)), device)
    asked = [tensor.data_ptr(), 1 << 62]
    seen = native.Blobs(device, asked).make_all()
    check.equal("whether pointers are the device's", seen, [True, False])


@clause("MEM-531", needs="accelerator addresses")
def test_a_pointer_inside_has_a_device(device: torch.device) -> None:
    tensor = host.upload(host.values((100,)), device)
    first = tensor.data_ptr()
    inside = [first + 1, first + 17, first + tensor.nbytes - 1]
    seen = native.Blobs(device, [*inside, 64]).make_all()
    check.equal("whether pointers are the device's", seen, [True, True, True, False])


@clause("MEM-531", needs="two_devices addresses")
def test_a_pointer_has_its_own_device(device: torch.device, other_device: torch.device) -> None:
    one, other = (host.upload(host.values((100,)), each) for each in (device, other_device))
    for place, mine, others in ((device, one, other), (other_device, other, one)):
        pointers = [mine.data_ptr(), others.data_ptr(), mine.data_ptr() + 4, others.data_ptr() + 4]
        seen = native.Blobs(place, pointers).make_all()
        check.equal("whether pointers are this device's", seen, [True, False, True, False])


@clause("MEM-532", needs="accelerator")
def test_asking_for_the_device_needs_no_gil(device: torch.device) -> None:
    tensor = host.upload(host.values((100,)), device)

    def attempt() -> tuple[int, int]:
        blobs = native.Blobs(device, [tensor.data_ptr()] * CALLS)
        counts = gil.calls_caught(
            blobs.make, blobs.arguments, lambda index: blobs.handles[index] is not None
        )
        blobs.free()
        return counts

    _judge("asking for a pointer's device", attempt)
