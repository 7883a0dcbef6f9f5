# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Threads that use one device at once, and what is left of them."""

from __future__ import annotations

from functools import partial

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

COST = 3

THREADS, ROUNDS = 6, 12


@clause("FRK-507")
def test_threads_compute_at_once(device: torch.device) -> None:
    shared = host.counting((32, 32)) % 8

    def work(number: int, there: torch.Tensor) -> torch.Tensor:
        own = host.upload(torch.full((32, 32), float(number)), device)
        for _ in range(ROUNDS):
            own = (own + there * number - there * number).clone()
            own.add_(1)
        return host.download(own @ torch.eye(32).to(device))

    there = host.upload(shared, device)
    calls = [partial(work, number, there) for number in range(THREADS)]
    for number, seen in enumerate(host.in_threads(calls)):
        check.tensor(f"thread {number}", seen, torch.full((32, 32), float(number + ROUNDS)))
    check.tensor("what they shared", host.download(there), shared)


@clause("FRK-507")
def test_threads_allocate_and_free_at_once(device: torch.device) -> None:
    def work(number: int) -> bool:
        right = True
        for count in range(ROUNDS * 4):
            shape = (1 + (number * 37 + count * 101) % 5000,)
            value = float(number * 1000 + count)
            made = host.upload(torch.full(shape, value), device)
            twin = made.clone()
            del made
            right = right and torch.equal(host.download(twin), torch.full(shape, value))
        return right

    seen = host.in_threads([partial(work, number) for number in range(THREADS)])
    check.equal("values that were right, by thread", seen, [True] * THREADS)


@clause("FRK-507", needs="two_devices")
def test_threads_have_current_devices_of_their_own(devices: list[torch.device]) -> None:
    def work(number: int) -> list[str]:
        own = devices[number % len(devices)]
        torch.accelerator.set_device_index(own)
        seen = set()
        for _ in range(ROUNDS):
            made = host.upload(torch.ones(5), torch.device(own.type)) + 1
            seen.add((str(made.device), torch.accelerator.current_device_index(), float(made[4])))
        return sorted(str(one) for one in seen)

    before = torch.accelerator.current_device_index()
    given = host.in_threads([partial(work, number) for number in range(THREADS)])
    for number, seen in enumerate(given):
        own = devices[number % len(devices)]
        check.equal(f"thread {number}", seen, [str((str(own), own.index, 2.0))])
    check.equal("the caller's afterwards", torch.accelerator.current_device_index(), before)


@clause("FRK-508", needs="two_devices")
def test_a_thread_begins_with_the_first_device(
    device: torch.device, other_device: torch.device
) -> None:
    torch.accelerator.set_device_index(other_device)
    try:
        for _ in range(2):
            current = torch.accelerator.current_device_index
            check.equal("current device of a new thread", host.in_thread(current), device.index)
            host.in_thread(partial(torch.accelerator.set_device_index, device))
            check.equal("here, after it ended", current(), other_device.index)
    finally:
        torch.accelerator.set_device_index(device)


@clause("FRK-508", needs="stream")
def test_a_thread_leaves_current_streams_to_others(device: torch.device) -> None:
    def current() -> int:
        return torch.accelerator.current_stream(device).stream_id

    own = torch.Stream(device)
    default = host.in_thread(current)
    with own:
        check.equal("current stream of a new thread", host.in_thread(current), default)

        def change() -> int:
            made, first = torch.Stream(device), torch.accelerator.current_stream(device)
            is_shared = made.stream_id == own.stream_id  # of a device with one beside the default
            torch.accelerator.set_stream(first if is_shared else made)
            return current()

        elsewhere = host.in_thread(change)
        apart = elsewhere != own.stream_id
        check.that("stream of that thread", apart, expected="another", seen=elsewhere)
        check.equal("here, after it ended", current(), own.stream_id)
    check.equal("the next new thread's", host.in_thread(current), default)


@clause("FRK-508", needs="stream")
def test_a_stream_outlives_its_thread(device: torch.device) -> None:
    values = host.values((1000,))

    def work() -> tuple[torch.Stream, torch.Tensor]:
        own = torch.Stream(device)
        with own:
            return own, host.upload(values, device) * 2

    own, made = host.in_thread(work)
    own.synchronize()
    check.equal("idle", own.query(), True)
    check.tensor("what it computed", host.download(made), values * 2)
    with own:
        again = host.download(made + made)
    check.tensor("what it computes here", again, values * 4)
    for _ in range(4):
        host.in_thread(lambda: torch.Stream(device).synchronize())
    own.record_event().synchronize()
    own.synchronize()  # a stream may learn later than its event that all is done
    check.equal("idle still", own.query(), True)
