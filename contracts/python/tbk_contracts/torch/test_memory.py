# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Memory: allocating and freeing, threads, storages that grow, copies on write."""

from __future__ import annotations

import random

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

is_cow = torch._C._is_cow_tensor  # type: ignore[attr-defined]
ODD_SIZES = (1, 2, 3, 15, 16, 17, 63, 100, 255, 511, 513, 1000, 4097, 70_001)


@clause("MEM-501")
def test_no_bytes(device: torch.device) -> None:
    for shape in ((0,), (3, 0), (0, 5)):
        tensor = torch.empty(shape, device=device)
        check.equal("device", tensor.device, device)
        check.equal("shape", tuple(tensor.shape), shape)
        check.equal("bytes", tensor.untyped_storage().nbytes(), 0)
        check.equal("device of the storage", tensor.untyped_storage().device, device)
        check.tensor("values", host.download(tensor), torch.empty(shape))
    check.equal("bytes of a storage", torch.UntypedStorage(0, device=device).nbytes(), 0)


@clause("MEM-502", needs="accelerator")
def test_memory_is_on_the_current_device(devices: list[torch.device]) -> None:
    before = torch.accelerator.current_device_index()
    try:
        for device in devices:
            torch.accelerator.set_device_index(device.index)
            for size in (0, 5):
                tensor = torch.empty(size, device=device.type)
                check.equal("device", tensor.device, device)
                check.equal("device of the storage", tensor.untyped_storage().device, device)
            sent = host.values((100,))
            check.tensor("values", host.download(sent.to(device.type)), sent)
    finally:
        torch.accelerator.set_device_index(before)


@clause("MEM-502", needs="two_devices memory_stats")
def test_memory_is_taken_from_the_current_device(devices: list[torch.device]) -> None:
    before = torch.accelerator.current_device_index()
    size = 1 << 20
    try:
        for device in devices:
            torch.accelerator.set_device_index(device.index)
            used = [torch.accelerator.memory_allocated(each) for each in devices]
            tensor = torch.empty(size, dtype=torch.uint8, device=device.type)
            more = [torch.accelerator.memory_allocated(each) - was
                    for each, was in zip(devices, used, strict=True)]  # fmt: skip
            check.equal("bytes", tensor.nbytes, size)
            check.equal("devices with more memory in use",
                        [each for each, bytes_ in zip(devices, more, strict=True) if bytes_ > 0],
                        [device])  # fmt: skip
    finally:
        torch.accelerator.set_device_index(before)


@clause("MEM-503")
def test_live_tensors_share_no_byte(device: torch.device) -> None:
    order = random.Random(5)  # noqa: S311
    held: list[tuple[torch.Tensor, torch.Tensor]] = []
    for round_ in range(20):
        for size in ODD_SIZES:
            sent = host.values((size,), torch.uint8)
            held.append((host.upload(sent, device), sent))
        order.shuffle(held)
        for tensor, sent in held[:7]:
            check.tensor("bytes written before others were allocated", host.download(tensor), sent)
        del held[:7]
        if round_ % 5 == 4:
            del held[: len(held) // 2]
    for tensor, sent in held:
        check.tensor("bytes", host.download(tensor), sent)


@clause("MEM-504", needs="addresses")
def test_memory_suits_every_dtype(device: torch.device) -> None:
    held = [torch.empty(size, dtype=torch.uint8, device=device) for size in ODD_SIZES * 3]
    wrong = [tensor.data_ptr() for tensor in held if tensor.data_ptr() % 16]
    check.that("data_ptr()", not wrong, expected="multiples of 16", seen=wrong)


@clause("MEM-506", needs="accelerator memory_stats")
def test_memory_is_freed_in_any_thread(devices: list[torch.device]) -> None:
    for device in devices:
        used = [torch.accelerator.memory_allocated(each) for each in devices]
        held = [torch.empty(size, device=device) for size in (0, 1000, 100_000) * 10]
        other = devices[device.index - 1]

        def free(held: list[torch.Tensor] = held, other: torch.device = other) -> int:
            torch.accelerator.set_device_index(other.index)
            held.clear()
            return torch.accelerator.current_device_index()

        check.equal("current device of the thread", host.in_thread(free), other.index)
        seen = [torch.accelerator.memory_allocated(each) for each in devices]
        check.equal("memory in use", seen, used)


@clause("MEM-527")
def test_threads_allocate_and_free_at_once(device: torch.device) -> None:
    def work() -> int:
        order = random.Random(7)  # noqa: S311
        held: list[tuple[torch.Tensor, torch.Tensor]] = []
        for _ in range(150):
            sent = host.values((order.choice(ODD_SIZES),), torch.uint8)
            held.append((host.upload(sent, device), sent))
            if len(held) > 8:
                tensor, sent = held.pop(order.randrange(8))
                check.tensor("bytes of this thread", host.download(tensor), sent)
        return len(held)

    check.equal("tensors held by each thread", host.in_threads([work] * 4), [8] * 4)


@clause("MEM-527", needs="accelerator memory_stats")
def test_threads_free_what_others_allocate(device: torch.device) -> None:
    used = torch.accelerator.memory_allocated(device)
    shared: list[torch.Tensor] = []

    def work() -> None:
        for round_ in range(300):
            shared.append(torch.empty(ODD_SIZES[round_ % len(ODD_SIZES)], device=device))
            if round_ % 2:
                shared.pop(0)
                shared.pop(0)
            if round_ % 100 == 50:
                torch.accelerator.empty_cache()

    host.in_threads([work] * 4)
    shared.clear()
    check.equal("memory in use", torch.accelerator.memory_allocated(device), used)


@clause("MEM-529", needs="cow")
def test_lazy_clones_are_copied_when_written(device: torch.device) -> None:
    sent = host.values((1001,))
    for write_first in (True, False):
        tensor = host.upload(sent, device)
        clone = torch._lazy_clone(tensor)
        check.that("a lazy clone", is_cow(clone), expected="shared until written",
                   seen="copied at once")  # fmt: skip
        written, kept = (clone, tensor) if write_first else (tensor, clone)
        written[:2].zero_()
        check.tensor("the one that was not written", host.download(kept), sent)
        expected = torch.cat([torch.zeros(2), sent[2:]])
        check.tensor("the one that was written", host.download(written), expected)
        kept[2:4].zero_()  # the last one has the memory for itself
        check.tensor("the first one again", host.download(written), expected)
        check.that("memory", written.data_ptr() != kept.data_ptr(), expected="of their own",
                   seen="the same")  # fmt: skip


@clause("MEM-528", needs="cow")
def test_exactly_the_bytes_are_copied(device: torch.device) -> None:
    for size in ODD_SIZES:
        before, sent, behind = (host.values((size,), torch.uint8) for _ in range(3))
        tensor = host.upload(sent, device)
        clone = torch._lazy_clone(tensor)
        # What lies beside the copy, where it is made of memory that was just given back.
        neighbours = [host.upload(each, device) for each in (before, before, behind)]
        del neighbours[1]
        clone[:1].zero_()
        expected = torch.cat([torch.zeros(1, dtype=torch.uint8), sent[1:]])
        check.tensor("copy", host.download(clone), expected)
        check.tensor("source", host.download(tensor), sent)
        for neighbour, values in zip(neighbours, (before, behind), strict=True):
            check.tensor("memory beside it", host.download(neighbour), values)


@clause("MEM-530")
def test_a_storage_grows_and_shrinks(device: torch.device) -> None:
    sent = host.values((1000,), torch.uint8)
    for size in (1001, 4096, 1 << 20, (1 << 20) + 1, 3 << 20, 999, 17, 1):
        tensor = host.upload(sent, device)
        storage = tensor.untyped_storage()
        storage.resize_(size)
        check.equal("bytes", storage.nbytes(), size)
        check.equal("device", storage.device, device)
        kept = min(size, 1000)
        seen = torch.empty(0, dtype=torch.uint8, device=device).set_(storage, 0, (kept,), (1,))
        check.tensor("the front", host.download(seen), sent[:kept])


@clause("MEM-530")
def test_a_large_storage_grows_and_shrinks(device: torch.device) -> None:
    """Beyond a MiB, where allocators have blocks of other kinds."""
    sent = host.values(((2 << 20) + 5,), torch.uint8)
    for size in ((5 << 20) + 3, (2 << 20) + 6, (1 << 20) - 1, 1000):
        storage = host.upload(sent, device).untyped_storage()
        storage.resize_(size)
        check.equal("bytes", storage.nbytes(), size)
        kept = min(size, len(sent))
        seen = torch.empty(0, dtype=torch.uint8, device=device).set_(storage, 0, (kept,), (1,))
        check.tensor("the front", host.download(seen), sent[:kept])


@clause("MEM-530")
def test_a_storage_shrinks_to_nothing_and_back(device: torch.device) -> None:
    sent, again = host.values((1000,)), host.values((1000,))
    tensor = host.upload(sent, device)
    storage = tensor.untyped_storage()
    for values in (sent, again):
        storage.resize_(0)
        check.equal("bytes", storage.nbytes(), 0)
        storage.resize_(4000)
        check.equal("bytes", storage.nbytes(), 4000)
        tensor.copy_(values)
        check.tensor("values", host.download(tensor), values)


@clause("MEM-530", needs="memory_stats")
def test_a_storage_of_nothing_takes_no_memory(device: torch.device) -> None:
    used = torch.accelerator.memory_allocated(device)
    tensor = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    tensor.untyped_storage().resize_(0)
    check.equal("memory in use", torch.accelerator.memory_allocated(device), used)
