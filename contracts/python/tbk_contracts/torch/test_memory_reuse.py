# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Freed memory and the work that still uses it.

A late stream reads a tensor that is freed meanwhile. What is allocated next is written at once,
from a stream that nothing holds: if it was given the same memory, the late stream reads the wrong
values.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch import capability, check, host, order
from tbk_contracts.torch.case import clause

COST = 14

COUNT = 50_000
FRESH = 8  # tensors that are made in the place of the freed one


def _write_fresh(stream: torch.Stream, values: torch.Tensor, device: torch.device) -> None:
    """New tensors on `stream`, each written and waited for."""
    with stream:
        held = []
        for _ in range(FRESH):
            held.append(torch.empty(COUNT, device=device))
            held[-1].copy_(values)
    stream.synchronize()


def _late_read(
    load: order.Load,
    values: torch.Tensor,
    others: torch.Tensor,
    streams: tuple[torch.Stream, torch.Stream],
    record: Callable[[torch.Tensor], torch.Tensor],
    free: Callable[[], object] | None = None,
) -> torch.Tensor:
    """Returns what the late stream reads of a tensor of the other stream that is freed before."""
    late, own = streams
    device = late.device
    with own:
        tensor = host.upload(values, device)
        own.synchronize()
    seen = host.poisoned((COUNT,), values.dtype, device)
    load.hold()
    tensor = record(tensor)
    with late:
        seen.copy_(tensor)
    del tensor
    if free is not None:  # it may wait itself, which is right, too
        load.mark()
        free()
    _write_fresh(own, others, device)
    if free is None:
        load.mark()
    return order.read(late, seen)


def _shown(device: torch.device, record: Callable[[torch.Tensor, torch.Stream], torch.Tensor],
           free: Callable[[], object] | None = None) -> None:  # fmt: skip
    late, own = torch.Stream(device), torch.Stream(device)
    values, others = host.values((COUNT,)), host.values((COUNT,))

    def program(load: order.Load) -> None:
        seen = _late_read(
            load, values, others, (late, own), lambda tensor: record(tensor, late), free
        )
        check.tensor("what the late stream reads", seen, values)

    def control(load: order.Load) -> bool:
        seen = _late_read(load, values, others, (late, own), lambda tensor: tensor)
        return not torch.equal(seen, values)

    order.show(late, program, control)


def _recorded(tensor: torch.Tensor, stream: torch.Stream) -> torch.Tensor:
    tensor.record_stream(stream)
    return tensor


@clause("MEM-514", needs="stream")
def test_recorded_memory_waits_for_the_stream(device: torch.device) -> None:
    _shown(device, _recorded)


@clause("MEM-514", needs="stream")
def test_a_view_records_its_whole_storage(device: torch.device) -> None:
    def record(tensor: torch.Tensor, stream: torch.Stream) -> torch.Tensor:
        tensor[COUNT // 2 :].record_stream(stream)
        return tensor

    _shown(device, record)


@clause("MEM-514", needs="stream")
def test_memory_recorded_on_two_streams_waits_for_both(device: torch.device) -> None:
    def record(tensor: torch.Tensor, stream: torch.Stream) -> torch.Tensor:
        tensor.record_stream(stream)
        tensor.record_stream(torch.Stream(device))
        return tensor

    _shown(device, record)


@clause("MEM-518", needs="stream memory_stats")
def test_emptying_the_cache_leaves_what_waits(device: torch.device) -> None:
    _shown(device, _recorded, torch.accelerator.empty_cache)


@clause("MEM-511", needs="stream event")
def test_a_future_records_the_stream_that_waits(device: torch.device) -> None:
    def record(tensor: torch.Tensor, stream: torch.Stream) -> torch.Tensor:
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=[device])
        future.set_result(tensor)
        del tensor
        with stream:
            return future.wait()

    _shown(device, record)


@clause("MEM-509", needs="stream")
def test_freed_memory_waits_for_its_own_stream(device: torch.device) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    values, others = host.values((COUNT,)), host.values((COUNT,))

    def read(load: order.Load, keep: bool) -> torch.Tensor:
        with late:
            tensor, seen = (
                host.upload(values, device),
                host.poisoned((COUNT,), values.dtype, device),
            )
        load.hold()
        with late:
            seen.copy_(tensor)
        if keep:
            with other:
                tensor.copy_(others)
            other.synchronize()
        else:
            del tensor
            _write_fresh(other, others, device)
        load.mark()
        return order.read(late, seen)

    order.show(
        late,
        lambda load: check.tensor("what the stream reads", read(load, keep=False), values),
        lambda load: not torch.equal(read(load, keep=True), values),
    )


@clause("MEM-510", needs="stream")
def test_memory_is_used_again_in_the_order_of_its_stream(device: torch.device) -> None:
    stream = torch.Stream(device)
    sent = [host.values((COUNT,)) for _ in range(6)]
    with stream:
        there = [host.upload(each, device) for each in sent]

    def program(load: order.Load) -> None:
        seen = [host.poisoned((COUNT,), torch.float32, device) for _ in sent]
        load.hold()
        with stream:
            for source, target in zip(there, seen, strict=True):
                block = torch.empty(COUNT, device=device)
                block.copy_(source)
                target.copy_(block)
                del block
        load.mark()
        for target, expected in zip(seen, sent, strict=True):
            check.tensor("values that went through it", order.read(stream, target), expected)

    order.show(stream, program)


@clause("MEM-513", needs="stream")
def test_recording_the_own_stream_is_harmless(device: torch.device) -> None:
    own = torch.Stream(device)
    with own:
        for _ in range(50):
            sent = host.values((1000,))
            tensor = host.upload(sent, device)
            tensor.record_stream(own)
            tensor.record_stream(own)
            later = tensor + 0
            del tensor
            check.tensor("values", host.download(later), sent)


@clause("MEM-513", needs="stream memory_stats")
def test_memory_of_the_own_stream_comes_back(device: torch.device) -> None:
    own = torch.Stream(device)
    before = torch.accelerator.memory_allocated(device)
    with own:
        for _ in range(50):
            torch.empty(COUNT, device=device).record_stream(own)
    order.settle(device)
    torch.accelerator.empty_cache()
    check.equal("memory_allocated()", torch.accelerator.memory_allocated(device), before)


@clause("MEM-512", needs="accelerator")
def test_memory_of_somebody_else_is_left_alone(device: torch.device) -> None:
    sent = host.values((COUNT,))
    tensor = host.upload(sent, device)
    own = torch.ones(100)
    users = [torch.accelerator.current_stream(device)]
    users += [torch.Stream(device)] if capability.probe("stream", device).held else []
    for address in (tensor.data_ptr(), tensor.data_ptr() + 4096, own.data_ptr()):
        storage = torch._C._construct_storage_from_data_pointer(address, device, 400)
        foreign = torch.empty(0, device=device).set_(storage, 0, (100,), (1,))
        for stream in users:
            foreign.record_stream(stream)
        del foreign, storage
    check.tensor("values of the owner", host.download(tensor), sent)
    torch.empty(0, device=device).record_stream(users[-1])
    check.tensor("memory of the host", own, torch.ones(100))


@clause("MEM-528", needs="cow stream")
def test_a_copy_on_write_sees_pending_writes(device: torch.device) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update, head = host.upload(new, device), host.upload(old[:1], device)

    def copied(load: order.Load, stream: torch.Stream) -> torch.Tensor:
        tensor = host.upload(old, device)
        load.hold()
        with late:
            tensor.copy_(update)
        with stream:
            clone = torch._lazy_clone(tensor)
            load.mark()
            clone[:1].copy_(head)
        stream.synchronize()
        return order.read(stream, clone)

    order.show(
        late,
        lambda load: check.tensor("copy", copied(load, late), torch.cat([old[:1], new[1:]])),
        lambda load: not torch.equal(copied(load, other)[1:], new[1:]),
    )


@clause("MEM-530", needs="stream")
def test_a_storage_grows_behind_pending_writes(device: torch.device) -> None:
    late, other = torch.Stream(device), torch.Stream(device)
    old, new = host.values((COUNT,)), host.values((COUNT,))
    update = host.upload(new, device)

    def grown(load: order.Load, stream: torch.Stream) -> torch.Tensor:
        with stream:
            tensor = host.upload(old, device)
        load.hold()
        with late:
            tensor.copy_(update)
        load.mark()
        with stream:
            tensor.untyped_storage().resize_(8 * COUNT)
        stream.synchronize()
        return order.read(stream, tensor)

    order.show(
        late,
        lambda load: check.tensor("the front", grown(load, late), new),
        lambda load: not torch.equal(grown(load, other), new),
    )
