# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""When a device starts: at its first use, not before, and not by being asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tbk_contracts.torch import check, host, process
from tbk_contracts.torch.case import clause


def stays_asleep(what: str, module: Any, call: Callable[[], object]) -> None:
    """`call` starts no device."""
    call()
    check.equal(f"is_initialized after {what}", module.is_initialized(), False)


def use(device: torch.device) -> bool:
    """A tensor goes there and comes back."""
    sent = host.values((5,))
    return torch.equal(host.download(host.upload(sent, device)), sent)


def starts_no_more(what: str, module: Any, call: Callable[[], object]) -> None:
    """`call` starts nothing but what PyTorch starts before it, by initialising the device type."""
    getattr(module, "_lazy_init", lambda: None)()
    before = module.is_initialized()
    if before:
        check.evidence(check.TRIVIAL, "PyTorch's own initialisation starts a device here")
    call()
    check.equal(f"is_initialized after {what}", module.is_initialized(), before)


@clause("DEV-510", needs="accelerator lazy privateuse1", fresh=True)
def test_exchanging_for_no_device_changes_and_starts_nothing(module: Any) -> None:
    exchange = torch._C._accelerator_maybeExchangeDevice
    starts_no_more("an exchange for -1", module, lambda: exchange(-1))
    last = module.device_count() - 1
    torch.accelerator.set_device_index(last)
    exchange(-1)
    check.equal("the current device after it", torch.accelerator.current_device_index(), last)


@clause("DEV-511", needs="accelerator lazy", fresh=True)
def test_exchanging_for_a_device_never_used_starts_nothing(module: Any) -> None:
    exchange = torch._C._accelerator_maybeExchangeDevice
    last = module.device_count() - 1
    starts_no_more("an exchange that need not be made", module, lambda: exchange(last))
    starts_no_more("an exchange back", module, lambda: exchange(0))


@clause("DEV-517", needs="accelerator lazy", fresh=True)
def test_asking_for_availability_starts_nothing(module: Any) -> None:
    stays_asleep("is_available of the module", module, module.is_available)
    stays_asleep("torch.accelerator.is_available", module, torch.accelerator.is_available)
    stays_asleep("device_count", module, torch.accelerator.device_count)
    stays_asleep("current_accelerator", module, lambda: torch.accelerator.current_accelerator(True))


@clause("DEV-518", needs="accelerator module", fresh=True)
def test_after_asking_for_availability_a_child_can_use_the_device(
    device: torch.device, module: Any
) -> None:
    available = torch.accelerator.is_available() and module.device_count() > 0
    check.equal("available before the fork", available, True)
    ended = process.in_fork(lambda: use(device))
    if ended.error and ("Error" in ended.error or process.foreign_threads()):
        # Some drivers cannot count without starting.
        check.note(f"asking counts as use here: {ended.error[:200]}")
        check.evidence(check.NOT_SHOWN, "the driver starts when it is asked")
        return
    check.equal("a round trip in a forked child", ended.error or ended.value, True)
    check.equal("exit code of the child", ended.exit_code, 0)
    check.equal("a round trip in the parent", use(device), True)


@clause("DEV-520", needs="accelerator lazy", fresh=True)
def test_a_device_starts_at_its_first_use(device: torch.device, module: Any) -> None:
    check.equal("is_initialized before any use", module.is_initialized(), False)
    torch.empty(3, device=device)
    check.equal("is_initialized after an allocation", module.is_initialized(), True)
    check.equal("is_initialized in a thread", host.in_thread(module.is_initialized), True)


@clause("DEV-522", needs="accelerator", fresh=True)
def test_initialising_from_several_threads_is_the_same_as_once(
    devices: list[torch.device], module: Any
) -> None:
    start = threading.Barrier(8, timeout=host.JOIN_S)
    initialise: Callable[[], object] = getattr(module, "init", lambda: None)

    def begin(index: int) -> bool:
        start.wait()
        initialise()
        return use(devices[index % len(devices)])

    calls = [partial(begin, index) for index in range(8)]
    check.equal("round trips of threads that begin at once", host.in_threads(calls), [True] * 8)
    tensor = host.upload(sent := host.values((9,)), devices[0])
    initialise()
    initialise()
    check.tensor("a tensor from before it was initialised again", host.download(tensor), sent)


@clause("DEV-528", needs="accelerator lazy", fresh=True)
def test_importing_the_package_starts_nothing(module: Any) -> None:
    check.equal("is_initialized after the import", module.is_initialized(), False)


@clause("DEV-528", needs="accelerator lazy memory_stats", fresh=True)
def test_importing_the_package_takes_no_memory(module: Any) -> None:
    check.equal("memory reserved on device 0", torch.accelerator.memory_reserved(0), 0)
    check.equal("is_initialized after that", module.is_initialized(), False)
