# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How many devices there are, and which one is current."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause


@pytest.fixture(autouse=True)
def back_on_the_first_device() -> Iterator[None]:
    """Each test begins and ends on device 0, where there is an accelerator."""
    _to_the_first()
    yield
    _to_the_first()


def _to_the_first() -> None:
    if torch.accelerator.is_available():
        torch.accelerator.set_device_index(0)


def current() -> int:
    """Returns the current device of the calling thread."""
    return torch.accelerator.current_device_index()


def works(device: torch.device) -> bool:
    """A tensor goes there and comes back."""
    sent = host.values((5,))
    return torch.equal(host.download(host.upload(sent, device)), sent)


@clause("DEV-501", needs="accelerator module")
def test_counting_devices_raises_nothing_and_counts_what_can_be_used(
    devices: list[torch.device], module: Any
) -> None:
    counts = host.in_threads([module.device_count] * 4)
    check.equal("module.device_count() in four threads", counts, [len(devices)] * 4)
    for device in devices:
        check.that("a device that is counted can be used", works(device), expected=True, seen=False)
    beyond = torch.device(devices[0].type, len(devices))
    check.raises("a tensor on a device beyond the count", RuntimeError,
                 lambda: torch.empty(1, device=beyond))  # fmt: skip


@clause("DEV-502", needs="accelerator module")
def test_guard_hooks_and_module_give_the_same_count(
    devices: list[torch.device], module: Any
) -> None:
    def agree() -> None:
        count = module.device_count()
        check.equal("torch.accelerator.device_count()", torch.accelerator.device_count(), count)
        hooks = torch._C._accelerator_hooks_device_count()
        check.equal("the count of the hooks", hooks, count)

    agree()
    # Autograd has a thread for each device that the guard counts, and none for others. No operator
    # is asked for: the gradient of a leaf is what it is given.
    sent = host.values((3,))
    leaf = host.upload(sent, devices[-1]).requires_grad_()
    leaf.backward(host.upload(sent, devices[-1]))
    check.that("a gradient on the last device", leaf.grad is not None, expected="one", seen="none")
    agree()
    host.in_thread(agree)


@clause("DEV-503", needs="accelerator module")
def test_the_count_stays_the_same(devices: list[torch.device], module: Any) -> None:
    count = torch.accelerator.device_count()
    for device in devices:
        works(device)
        torch.accelerator.synchronize(device)
        check.equal("the count after a use", torch.accelerator.device_count(), count)
    check.raises("the current stream of a device beyond the count", RuntimeError,
                 lambda: torch.accelerator.current_stream(count))  # fmt: skip
    check.equal("the count after an error", torch.accelerator.device_count(), count)
    check.equal("the count in a thread", host.in_thread(module.device_count), count)


@clause("DEV-504", needs="accelerator")
def test_the_current_device_is_one_of_those_that_there_are(devices: list[torch.device]) -> None:
    def look() -> None:
        check.that("the current device's index", 0 <= current() < len(devices),
                   expected=f"0 to {len(devices) - 1}", seen=current())  # fmt: skip
        stream = torch.accelerator.current_stream()
        check.equal("the current stream's device", stream.device,
                    torch.device(devices[0].type, current()))  # fmt: skip

    look()
    host.in_thread(look)
    for device in devices:
        torch.accelerator.set_device_index(device)
        check.equal("the current device after it was set", current(), device.index)
        look()


@clause("DEV-505", needs="accelerator two_devices")
def test_each_thread_has_its_current_device() -> None:
    step = threading.Barrier(2, timeout=host.JOIN_S)

    def stay_on(index: int) -> list[int]:
        seen = []
        torch.accelerator.set_device_index(index)
        for _ in range(3):
            step.wait()
            seen.append(current())
            step.wait()
            torch.accelerator.set_device_index(index)
        return seen

    seen = host.in_threads([lambda: stay_on(0), lambda: stay_on(1)])
    check.equal("the current devices of two threads", seen, [[0] * 3, [1] * 3])
    check.equal("the current device of the main thread", current(), 0)


@clause("DEV-506", needs="accelerator two_devices")
def test_a_new_thread_begins_on_device_0(device: torch.device) -> None:
    torch.accelerator.set_device_index(1)
    check.equal("the current device of a new thread", host.in_thread(current), 0)
    made = host.in_thread(lambda: torch.empty(1, device=device.type).device.index)
    check.equal("where a new thread makes a tensor", made, 0)
    check.equal("the current device of the thread that began it", current(), 1)


@clause("DEV-507", needs="accelerator")
def test_an_index_beyond_the_count_is_refused(devices: list[torch.device]) -> None:
    last = len(devices) - 1
    torch.accelerator.set_device_index(last)
    for index in (len(devices), len(devices) + 1, 100):
        check.raises("set_device_index beyond the count", (RuntimeError, ValueError),
                     partial(torch.accelerator.set_device_index, index))  # fmt: skip
        check.equal("the current device after that", current(), last)
        check.that("the device can still be used", works(devices[last]),
                   expected=True, seen=False)  # fmt: skip


@clause("DEV-508", needs="accelerator module")
def test_a_negative_index_changes_nothing(devices: list[torch.device], module: Any) -> None:
    last = len(devices) - 1
    torch.accelerator.set_device_index(last)
    torch.accelerator.set_device_index(-1)
    check.equal("the current device after torch.accelerator.set_device_index(-1)", current(), last)
    module.set_device(-1)
    check.equal("the current device after set_device(-1) of the module", current(), last)


@clause("DEV-509", needs="accelerator two_devices")
def test_exchanging_gives_back_the_device_before() -> None:
    exchange = torch._C._accelerator_exchangeDevice
    for new, before in ((1, 0), (1, 1), (0, 1), (0, 0)):
        check.equal(f"exchanging {before} for {new}", exchange(new), before)
        check.equal("the current device after it", current(), new)


@clause("DEV-513", needs="accelerator")
def test_the_current_device_can_be_set_again(devices: list[torch.device]) -> None:
    for device in devices:
        for _ in range(3):
            torch.accelerator.set_device_index(device)
            check.equal("the current device", current(), device.index)
        check.that("the device can be used", works(device), expected=True, seen=False)


@clause("DEV-514", needs="accelerator module")
def test_a_device_of_another_type_is_refused(devices: list[torch.device], module: Any) -> None:
    last = len(devices) - 1
    torch.accelerator.set_device_index(last)
    for other in ("cpu", "meta"):
        for what, call in (
            ("torch.accelerator.set_device_index", torch.accelerator.set_device_index),
            ("set_device of the module", module.set_device),
        ):
            check.raises(f"{what} of another type", (ValueError, RuntimeError),
                         partial(call, torch.device(other, 0)))  # fmt: skip
            check.equal("the current device after it", current(), last)


@clause("DEV-515", needs="accelerator two_devices")
def test_a_device_without_index_is_the_current_one(devices: list[torch.device]) -> None:
    kind = torch.device(devices[0].type)
    sent = host.values((7,))
    for index in (1, 0, 1):
        torch.accelerator.set_device_index(index)
        made = [torch.empty(3, device=kind), sent.to(kind), torch.zeros(2, device=kind.type)]
        seen = [tensor.device.index for tensor in made]
        check.equal("the devices of an empty tensor, a copy, and zeros", seen, [index] * 3)
        check.tensor("the copy", host.download(made[1]), sent)
    check.equal("a tensor stays where it was made", made[0].device.index, 1)


@clause("DEV-516", needs="accelerator module")
def test_asking_for_availability_raises_nothing(device: torch.device, module: Any) -> None:
    for what, ask in (
        ("is_available of the module", module.is_available),
        ("torch.accelerator.is_available", torch.accelerator.is_available),
    ):
        answers = [ask(), *host.in_threads([ask] * 4)]
        check.equal(what, answers, [True] * 5)
    checked = torch.accelerator.current_accelerator(check_available=True)
    check.equal("the accelerator that is available", checked and checked.type, device.type)


@clause("DEV-519", needs="accelerator module")
def test_available_means_that_a_device_can_be_used(
    devices: list[torch.device], module: Any
) -> None:
    usable = any(works(device) for device in devices)
    check.equal("is_available, where a device can be used", module.is_available(), usable)
    check.equal("the count is above 0", module.device_count() > 0, usable)


class _InsideError(Exception):
    """Leaves a context."""


@clause("DEV-533", needs="accelerator module")
def test_the_module_has_a_context_manager_for_the_device(
    devices: list[torch.device], module: Any
) -> None:
    last = devices[-1]
    with module.device(last.index):
        check.equal("the current device inside of device(index)", current(), last.index)
    check.equal("the current device behind it", current(), 0)
    with module.device(last):
        check.equal("the current device inside of device(torch.device)", current(), last.index)
        with module.device(0):
            check.equal("the current device inside of a nested one", current(), 0)
        check.equal("the current device behind the nested one", current(), last.index)
    check.equal("the current device at the end", current(), 0)
    with contextlib.suppress(_InsideError), module.device(last.index):
        raise _InsideError
    check.equal("the current device after an exception inside", current(), 0)
