# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Pinned memory of the host."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.pairs import Case, each_case, line

COUNT = 100_000
WILD = (64, (1 << 47) - 4096, -4096)  # addresses of nothing


def pinned(sent: torch.Tensor) -> torch.Tensor:
    made = torch.empty(sent.shape, dtype=sent.dtype, pin_memory=True)
    made.numpy()[...] = sent.numpy()
    return made


def is_pinned_at(address: int) -> bool:
    host_device = torch.device("cpu")
    storage: Any = torch._C._construct_storage_from_data_pointer(address, host_device, 16)
    return bool(storage.is_pinned())


@clause("PIN-501", needs="pinned")
def test_the_host_reads_and_writes_it(device: torch.device) -> None:
    sent = host.values((3, 1001))
    moved, made = sent.pin_memory(), torch.empty((3, 1001), pin_memory=True)
    for one in (moved, made):
        check.equal("device", one.device.type, "cpu")
        check.that("is_pinned()", one.is_pinned(), expected=True, seen=False)
    check.tensor("pin_memory()", moved, sent)
    made.numpy()[...] = sent.numpy()
    check.tensor("what the host wrote", made, sent)
    made.add_(1)
    check.tensor("what an operator of the host wrote", made, sent + 1)
    check.tensor("what the device reads of it", host.download(made.to(device)), sent + 1)


@clause("PIN-501", needs="pinned")
def test_live_tensors_share_no_byte(device: torch.device) -> None:
    sent = [host.values((size,), torch.uint8) for size in (1, 3, 100, 511, 4096, 70_001) * 3]
    held = [one.pin_memory() for one in sent]
    for one, expected in zip(held, sent, strict=True):
        check.tensor("values", one, expected)


@clause("PIN-502", needs="pinned")
def test_all_of_it_is_pinned(device: torch.device) -> None:
    tensor = torch.empty(1000, pin_memory=True)
    rewrapped = torch.empty(0).set_(tensor.untyped_storage(), 500, (4,), (1,))
    views = {
        "a tensor": tensor,
        "its last element": tensor[999:],
        "a view with steps": tensor[1::3],
        "another dtype": tensor.view(torch.uint8)[-1:],
        "a tensor at an offset of its storage": rewrapped,
    }
    for name, view in views.items():
        check.equal(f"is_pinned(): {name}", view.is_pinned(), True)
    storage = tensor.untyped_storage()
    # PyTorch 2.11 asks one certain kind of device on behalf of whoever names none.
    usual = inspect.signature(storage.is_pinned).parameters["device"].default
    is_pinned = storage.is_pinned() if usual is None else storage.is_pinned(device)
    check.equal("is_pinned(): its storage", is_pinned, True)


@clause("PIN-502", needs="pinned")
def test_nothing_else_is_pinned(device: torch.device) -> None:
    tensor = torch.empty(1000, pin_memory=True)
    for size in (1, 1000, 1 << 20):
        check.equal("is_pinned(): ordinary memory", torch.empty(size).is_pinned(), False)
    check.equal("is_pinned(): a copy", tensor.clone().is_pinned(), False)
    check.equal("is_pinned(): memory of numpy", torch.from_numpy(np.zeros(9)).is_pinned(), False)
    there = tensor.to(device)
    check.equal("is_pinned(): the device's memory", there.is_pinned(), False)
    check.equal("is_pinned(): the device's storage", there.untyped_storage().is_pinned(), False)


OFFSETS = ("0", "4999", "1", "3", "8", "64", "100", "4095", "4096")
WRAPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a view": lambda one: one,
    "memory of numpy": lambda one: torch.from_numpy(one.numpy()),
    "a buffer": lambda one: torch.frombuffer(one.numpy(), dtype=torch.uint8),
    "dlpack": torch.utils.dlpack.from_dlpack,
}


@each_case({"memory": ("pinned", "ordinary"), "wrap": tuple(WRAPS), "offset": OFFSETS,
            "size": ("5000", "70000", "2000000"), "thread": ("main", "other")})  # fmt: skip
@clause("PIN-502", needs="pinned")
def test_any_part_of_it(device: torch.device, case: Case) -> None:
    """Wherever memory begins, and whoever says that it is a tensor's."""
    whole = torch.empty(int(case["size"]), dtype=torch.uint8, pin_memory=case["memory"] == "pinned")
    part = WRAPS[case["wrap"]](whole[int(case["offset"]) :])
    asked = host.in_thread(part.is_pinned) if case["thread"] == "other" else part.is_pinned()
    check.equal(f"is_pinned(): {line(case)}", asked, case["memory"] == "pinned")


@clause("PIN-503", needs="accelerator")
def test_any_pointer_may_be_asked_for(device: torch.device) -> None:
    check.equal("is_pinned(): no memory", torch.empty(0).is_pinned(), False)
    for address in WILD:
        check.equal("is_pinned(): an address of nothing", is_pinned_at(address), False)
    there = host.upload(host.values((10,)), device)
    check.note(f"is_pinned(): an address of the device: {is_pinned_at(there.data_ptr())}")


@clause("PIN-504", needs="accelerator lazy", fresh=True)
def test_asking_starts_nothing(device: torch.device) -> None:
    check.equal("is_pinned()", torch.ones(1000).is_pinned(), False)
    check.equal("is_pinned() of a storage", torch.ones(9).untyped_storage().is_pinned(), False)
    check.equal("is_initialized()", torch.get_device_module(device).is_initialized(), False)


@clause("PIN-505", needs="pinned")
def test_what_is_current_stays(devices: list[torch.device]) -> None:
    before = torch.accelerator.current_device_index()
    try:
        for device in devices:
            torch.accelerator.set_device_index(device.index)
            streams = [torch.accelerator.current_stream(each) for each in devices]
            sent = host.values((device.index + 700,))
            check.tensor("pin_memory()", sent.pin_memory(), sent)
            torch.empty(1 << 20, pin_memory=True)
            check.equal("current device", torch.accelerator.current_device_index(), device.index)
            seen = [torch.accelerator.current_stream(each) for each in devices]
            check.equal("current streams", seen, streams)
    finally:
        torch.accelerator.set_device_index(before)


@clause("PIN-506", needs="pinned stream")
def test_freed_memory_that_a_copy_reads(device: torch.device) -> None:
    stream = torch.Stream(device)
    values, others = host.values((COUNT,)), host.values((COUNT,))

    def copied(load: order.Load, keep: bool) -> torch.Tensor:
        source, seen = pinned(values), host.poisoned((COUNT,), values.dtype, device)
        load.hold()
        with stream:
            seen.copy_(source, non_blocking=True)
        if not keep:
            del source
            source = torch.empty(COUNT, pin_memory=True)
        source.numpy()[...] = others.numpy()
        load.mark()
        return order.read(stream, seen)

    order.show(
        stream,
        lambda load: check.tensor("what arrived", copied(load, keep=False), values),
        lambda load: not torch.equal(copied(load, keep=True), values),
    )


@clause("PIN-506", needs="pinned stream")
def test_freed_memory_that_a_copy_writes(device: torch.device) -> None:
    stream = torch.Stream(device)
    values, others = host.values((COUNT,)), host.values((COUNT,))

    def copied(load: order.Load, keep: bool) -> torch.Tensor:
        source, target = host.upload(values, device), pinned(others)
        load.hold()
        with stream:
            target.copy_(source, non_blocking=True)
        if not keep:
            del target
            target = torch.empty(COUNT, pin_memory=True)
        target.numpy()[...] = others.numpy()
        load.mark()
        stream.synchronize()
        return target.clone()

    order.show(
        stream,
        lambda load: check.tensor("memory made later", copied(load, keep=False), others),
        lambda load: not torch.equal(copied(load, keep=True), others),
    )


@clause("PIN-508", needs="pinned")
def test_no_bytes(device: torch.device) -> None:
    for made in (torch.empty((0, 3), pin_memory=True), torch.empty((0, 3)).pin_memory()):
        check.equal("shape", tuple(made.shape), (0, 3))
        check.equal("device", made.device.type, "cpu")
        sent = made.to(device, non_blocking=True)
        check.equal("shape on the device", tuple(sent.shape), (0, 3))


@clause("PIN-509", needs="pinned host_cache")
def test_memory_in_use_stays(device: torch.device) -> None:
    values = [host.values((size,)) for size in (10, 1000, COUNT)]
    held = [one.pin_memory() for one in values]
    for size in (10, 1000, COUNT):
        torch.empty(size, pin_memory=True)
    torch.accelerator.empty_host_cache()
    made = [torch.zeros(one.shape).pin_memory() for one in values]
    for one, expected, other in zip(held, values, made, strict=True):
        check.tensor("values", one, expected)
        check.equal("is_pinned()", one.is_pinned(), True)
        check.tensor("memory made later", other, torch.zeros(expected.shape))


@clause("PIN-509", needs="pinned stream host_cache")
def test_memory_that_a_copy_reads_stays(device: torch.device) -> None:
    stream = torch.Stream(device)
    values, others = host.values((COUNT,)), host.values((COUNT,))

    def copied(load: order.Load, keep: bool) -> torch.Tensor:
        source, seen = pinned(values), host.poisoned((COUNT,), values.dtype, device)
        load.hold()
        with stream:
            seen.copy_(source, non_blocking=True)
        if keep:
            source.numpy()[...] = others.numpy()
        else:
            del source
            torch.accelerator.empty_host_cache()
            pinned(others)
        load.mark()
        return order.read(stream, seen)

    order.show(
        stream,
        lambda load: check.tensor("what arrived", copied(load, keep=False), values),
        lambda load: not torch.equal(copied(load, keep=True), values),
    )


@clause("PIN-511", needs="pinned")
def test_blocks_are_used_again(device: torch.device) -> None:
    kept = torch.empty(3000, pin_memory=True)
    places = {torch.empty(3000, pin_memory=True).data_ptr() for _ in range(50)}
    check.that("places of 50 tensors, each freed before the next", len(places) < 50,
               expected="fewer than 50", seen=len(places))  # fmt: skip
    check.that("the place of a tensor in use", kept.data_ptr() not in places,
               expected="used by no other", seen="used again")  # fmt: skip


@clause("PIN-512", needs="accelerator")
def test_a_device_tensor_cannot_be_pinned(device: torch.device) -> None:
    check.raises("torch.empty", RuntimeError,
                 lambda: torch.empty(3, device=device, pin_memory=True))  # fmt: skip
    there = host.upload(host.values((3,)), device)
    check.raises("pin_memory()", RuntimeError, there.pin_memory)


@clause("PIN-514", needs="pinned")
def test_a_data_loader_pins(device: torch.device) -> None:
    rows = host.values((12, 3))
    loader = DataLoader(TensorDataset(rows), batch_size=4, pin_memory=True, num_workers=1)
    batches = [batch for [batch] in loader]
    check.equal("batches", len(batches), 3)
    for batch, expected in zip(batches, rows.split(4), strict=True):
        check.equal("is_pinned()", batch.is_pinned(), True)
        check.tensor("values", batch, expected)
        check.tensor("on the device", host.download(batch.to(device, non_blocking=True)), expected)
