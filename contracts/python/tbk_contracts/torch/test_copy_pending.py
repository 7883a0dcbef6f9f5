# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Several copies that do not block and are pending at once: each keeps memory of its own, on its
way, until it is complete."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import needs, place
from tbk_contracts.torch.pairs import Case, each_case, line

COST = 12
PINNED_BLOCKS = 64  # at a time, as tbk.h says

Tensors = list[torch.Tensor]
Leave = Callable[[Tensors, int, torch.Tensor], None]
"""What the host does to memory of its own as soon as the call that copies has returned."""

SIZES = {"same": (1000,), "other": (10, 16_000, 1000, 3, 40_000)}
CASES = {"count": ("8", "2", "40"), "sizes": tuple(SIZES), "device": ("first", "second")}
each = each_case(CASES, needs=needs, quick=2)


def pinned(values: torch.Tensor) -> torch.Tensor:
    made = torch.empty(values.shape, pin_memory=True)
    made.numpy()[...] = values.numpy()
    return made


def ordinary(values: torch.Tensor) -> torch.Tensor:
    return values.clone()


def numbers(case: Case) -> Tensors:
    """Returns other ones at each call, in as many tensors as the case says."""
    sizes = itertools.cycle(SIZES[case["sizes"]])
    return [host.values((next(sizes),)) for _ in range(int(case["count"]))]


def keep(memory: Tensors, index: int, other: torch.Tensor) -> None:
    """Nothing."""


def change(memory: Tensors, index: int, other: torch.Tensor) -> None:
    memory[index].numpy()[...] = other.numpy()


def free(memory: Tensors, index: int, other: torch.Tensor) -> None:
    """Other memory, of the same size, is written in its place: pinned, where there are no more
    blocks then, beside those that copies still use, than a host may rely on."""
    memory[index] = torch.empty(0)
    is_one_more = index < PINNED_BLOCKS - len(memory)
    memory[index] = pinned(other) if is_one_more else ordinary(other)


def check_all(what: str, case: Case, seen: Tensors, expected: Tensors) -> None:
    for index, (one, right) in enumerate(zip(seen, expected, strict=True)):
        check.tensor(f"{what} {index + 1}, {line(case)}", one, right)


def differ(seen: Tensors, expected: Tensors) -> bool:
    return not all(map(torch.equal, seen, expected))


# -------------------------------------------------------------------------------- to the device ---


def uploaded(load: order.Load, sources: Tensors, others: Tensors, leave: Leave) -> Tensors:
    """Returns what has arrived of the sources, which were copied behind the load."""
    stream = load.stream
    targets = [host.poisoned(one.shape, one.dtype, stream.device) for one in sources]
    load.hold()
    load.mark()
    with order.on(stream):
        for index, target in enumerate(targets):
            target.copy_(sources[index], non_blocking=True)
            leave(sources, index, others[index])
    return [order.read(stream, target) for target in targets]


def show_uploads(
    device: torch.device, case: Case, memory: Callable[[torch.Tensor], torch.Tensor], leave: Leave
) -> None:
    """The control changes pinned memory while it is read; without any, nothing could be late."""
    values, others = numbers(case), numbers(case)

    def program(load: order.Load) -> None:
        seen = uploaded(load, [memory(one) for one in values], others, leave)
        check_all("upload", case, seen, values)

    def control(load: order.Load) -> bool:
        try:
            sources = [pinned(one) for one in values]
        except RuntimeError:
            return True
        return not sources[0].is_pinned() or differ(
            uploaded(load, sources, others, change), values)  # fmt: skip

    order.show(torch.Stream(place(case, device)), program, control)


@each
@clause("CPY-505", needs="stream")
def test_ordinary_sources_may_change_at_once(device: torch.device, case: Case) -> None:
    show_uploads(device, case, ordinary, change)


@each
@clause("CPY-504", needs="stream event pinned")
def test_each_pinned_source_arrives(device: torch.device, case: Case) -> None:
    show_uploads(device, case, pinned, keep)


@each
@clause("PIN-506", needs="stream pinned")
def test_each_pinned_source_may_be_freed(device: torch.device, case: Case) -> None:
    show_uploads(device, case, pinned, free)


# ---------------------------------------------------------------------------------- to the host ---


def downloaded(
    load: order.Load, case: Case, reads: torch.Stream, new: Tensors, targets: Tensors, leave: Leave
) -> Tensors:
    """Returns what is in the host's memory once `reads` is idle, which copied what the held stream
    writes."""
    device = load.stream.device
    there = [host.upload(one, device) for one in numbers(case)]
    updates = [host.upload(one, device) for one in new]
    load.hold()
    load.mark()
    for index, tensor in enumerate(there):
        with order.on(load.stream):
            tensor.copy_(updates[index])
        with order.on(reads):
            targets[index].copy_(tensor, non_blocking=True)
        leave(targets, index, new[index])
    reads.synchronize()
    return [one.clone() for one in targets]


def show_downloads(
    device: torch.device, case: Case, memory: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    late, other = (torch.Stream(place(case, device)) for _ in range(2))
    new = numbers(case)

    def seen(load: order.Load, reads: torch.Stream) -> Tensors:
        targets = [memory(one) for one in numbers(case)]
        return downloaded(load, case, reads, new, targets, keep)

    order.show(
        late,
        lambda load: check_all("download", case, seen(load, late), new),
        lambda load: differ(seen(load, other), new),
    )


@each
@clause("CPY-506", needs="stream")
def test_each_ordinary_destination_is_right_after_waiting(device: torch.device, case: Case) -> None:
    show_downloads(device, case, ordinary)


@each
@clause("CPY-504", needs="stream event pinned")
def test_each_pinned_destination_is_right_after_waiting(device: torch.device, case: Case) -> None:
    show_downloads(device, case, pinned)


@each
@clause("PIN-506", needs="stream pinned")
def test_each_pinned_destination_may_be_freed(device: torch.device, case: Case) -> None:
    """Memory that is taken then is not written by a copy that is pending."""
    late = torch.Stream(place(case, device))
    arriving, others = numbers(case), numbers(case)

    def seen(load: order.Load, leave: Leave) -> Tensors:
        def left(memory: Tensors, index: int, _: torch.Tensor) -> None:
            leave(memory, index, others[index])

        targets = [pinned(one) for one in numbers(case)]
        return downloaded(load, case, late, arriving, targets, left)

    order.show(
        late,
        lambda load: check_all("memory taken later", case, seen(load, free), others),
        lambda load: differ(seen(load, change), others),
    )
