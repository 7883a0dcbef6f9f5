# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies between devices, and copies while another device is current: on which streams they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause

COST = 32

COUNT = 50_000


@contextmanager
def current(device: torch.device, *streams: torch.Stream) -> Iterator[None]:
    """`device` and `streams` are current inside."""
    before = torch.accelerator.current_device_index()
    former = [torch.accelerator.current_stream(stream.device) for stream in streams]
    try:
        for stream in streams:
            torch.accelerator.set_stream(stream)
        torch.accelerator.set_device_index(device.index)
        yield
    finally:
        for stream in former:
            torch.accelerator.set_stream(stream)
        torch.accelerator.set_device_index(before)


@pytest.mark.parametrize("where", [0, 1])
@clause("CPY-507", needs="two_devices stream")
def test_a_copy_waits_for_the_source(devices: list[torch.device], where: int) -> None:
    source, target = devices[0], devices[1]
    late, other, taking = torch.Stream(source), torch.Stream(source), torch.Stream(target)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update = host.upload(new, source)

    def arrived(load: order.Load, giving: torch.Stream) -> torch.Tensor:
        tensor, there = host.upload(old, source), host.poisoned((COUNT,), torch.float32, target)
        load.hold()
        with current(source, late):
            tensor.copy_(update)
        load.mark()
        with current(devices[where], giving, taking):
            there.copy_(tensor, non_blocking=True)
        return order.read(taking, there)

    order.show(
        late,
        lambda load: check.tensor("what arrived", arrived(load, late), new),
        lambda load: not torch.equal(arrived(load, other), new),
    )


@pytest.mark.parametrize("where", [0, 1])
@clause("CPY-507", needs="two_devices stream")
def test_a_copy_waits_for_the_target(devices: list[torch.device], where: int) -> None:
    source, target = devices[0], devices[1]
    late, other, giving = torch.Stream(target), torch.Stream(target), torch.Stream(source)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update = host.upload(new, source)

    def read_before(load: order.Load, taking: torch.Stream) -> tuple[torch.Tensor, torch.Tensor]:
        there, seen = host.upload(old, target), host.poisoned((COUNT,), torch.float32, target)
        load.hold()
        with current(target, late):
            seen.copy_(there)
        load.mark()
        with current(devices[where], giving, taking):
            there.copy_(update, non_blocking=True)
        taking.synchronize()
        return order.read(late, seen), order.read(late, there)

    def program(load: order.Load) -> None:
        seen, there = read_before(load, late)
        check.tensor("what was read before the copy", seen, old)
        check.tensor("what arrived", there, new)

    order.show(late, program, lambda load: not torch.equal(read_before(load, other)[0], old))


@clause("CPY-507", needs="two_devices stream")
def test_the_source_is_written_after_the_copy(devices: list[torch.device]) -> None:
    source, target = devices[0], devices[1]
    giving, late = torch.Stream(source), torch.Stream(target)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update = host.upload(new, source)

    def program(load: order.Load) -> None:
        tensor, there = host.upload(old, source), host.poisoned((COUNT,), torch.float32, target)
        load.hold()
        load.mark()
        with current(source, giving, late):
            there.copy_(tensor, non_blocking=True)
            tensor.copy_(update)
        giving.synchronize()
        check.tensor("what arrived", order.read(late, there), old)
        check.tensor("the source in the end", order.read(giving, tensor), new)

    order.show(late, program)


@pytest.mark.parametrize("way", ["within", "upload", "download"])
@clause("CPY-513", needs="two_devices stream")
def test_a_copy_with_another_device_current(devices: list[torch.device], way: str) -> None:
    device, another = devices[0], devices[1]
    late, other = torch.Stream(device), torch.Stream(device)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update = host.upload(old if way == "upload" else new, device)

    def arrived(load: order.Load, stream: torch.Stream) -> torch.Tensor:
        tensor = host.poisoned((COUNT,), torch.float32, device)
        target = host.poisoned((COUNT,), torch.float32, device)
        load.hold()
        with current(device, late):
            tensor.copy_(update)
        load.mark()
        with current(another, stream):
            if way == "download":
                return tensor.cpu()
            if way == "upload":  # it comes behind the copy that is late
                tensor.copy_(new)
            else:
                target.copy_(tensor)
            check.equal("current device", torch.accelerator.current_device_index(), another.index)
        return order.read(
            late if way == "upload" else stream, target if way == "within" else tensor
        )

    order.show(
        late,
        lambda load: check.tensor("what arrived", arrived(load, late), new),
        lambda load: not torch.equal(arrived(load, other), new),
    )
