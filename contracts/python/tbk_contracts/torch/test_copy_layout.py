# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies of tensors with strides, offsets, conjugate and negative bits, and of one element."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, needs

Layout = Callable[[torch.Tensor], torch.Tensor]
SHAPE = (6, 8, 10)

LAYOUTS: dict[str, Layout] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "permuted": lambda x: x.permute(1, 2, 0),
    "slice": lambda x: x[1:5],
    "inner": lambda x: x[:, 2:7, 3:9],
    "column": lambda x: x[:, :, 3],
    "steps": lambda x: x[::2, 1::3, ::4],
    "one": lambda x: x[2:3, 3:4, 4:5],
    "number": lambda x: x[1, 2, 3],
    "nothing": lambda x: x[:, 3:3],
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "windows": lambda x: x.flatten()[7:].unfold(0, 5, 11).t(),
}
FLAT: dict[str, Layout] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.t(),
    "slice": lambda x: x[1:5],
    "inner": lambda x: x[:, 2:7],
    "column": lambda x: x[:, 3],
    "steps": lambda x: x[::2, 1::3],
}
"""The same of two dimensions."""
BITS: dict[str, Layout] = {
    "plain": lambda x: x,
    "conj": lambda x: x.conj(),
    "neg": torch._neg_view,
    "both": lambda x: torch._neg_view(x.conj()),
    "real": lambda x: x.real,
    "imag of conj": lambda x: x.conj().imag,
}
WAYS = [
    "upload", "download", "within", pytest.param("across", marks=needs("two_devices")),
]  # fmt: skip


def ends(way: str, device: torch.device) -> tuple[torch.device, torch.device]:
    """Returns where a copy of this way comes from, and where it goes to."""
    cpu = torch.device("cpu")
    other = torch.device(device.type, 1) if way == "across" else device
    return {"upload": (cpu, device), "download": (device, cpu)}.get(way, (device, other))


def check_is_view(what: str, view: torch.Tensor, base: torch.Tensor) -> None:
    """Whether they share memory. What is copied into a view that is none is lost, and the copy is
    not to blame."""
    apart = view.untyped_storage().data_ptr() != base.untyped_storage().data_ptr()
    check.that(f"{what} is a view", not apart, expected="in the memory of its base",
               seen="in memory of its own: the copy that was asked for cannot be seen")  # fmt: skip


def shaped(tensor: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Returns its first elements in another shape; a view wherever one is possible."""
    if tensor.shape == shape:
        return tensor
    return tensor.reshape(-1)[: shape.numel()].reshape(shape)


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508")
def test_from_a_layout_to_any(device: torch.device, way: str, source: str) -> None:
    start, end = ends(way, device)
    sent, before = host.values(SHAPE), host.values(SHAPE)
    there = sent.to(start)
    for name, layout in LAYOUTS.items():
        expected, target = before.clone(), before.to(end, copy=True)
        part = layout(expected)
        if LAYOUTS[source](sent).numel() < part.numel():
            continue
        part.copy_(shaped(LAYOUTS[source](sent), part.shape))
        into = layout(target)
        check_is_view(f"layout {name!r} of the target", into, target)
        into.copy_(shaped(LAYOUTS[source](there), part.shape))
        what = f"a tensor into whose layout {name!r} one of layout {source!r} was copied"
        check.tensor(what, target.cpu(), expected)
    check.tensor("the source", there.cpu(), sent)


@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508")
def test_dimensions_in_any_order(device: torch.device, way: str) -> None:
    """Both ends are dense; which dimensions lie alike tells nothing of the others."""
    start, end = ends(way, device)
    sent = host.values((2, 3, 4, 5))
    for axes in itertools.permutations(range(4)):
        right = sent.permute(axes)
        plain = torch.zeros(right.shape).to(end)
        plain.copy_(sent.to(start, copy=True).permute(axes))
        check.tensor(f"from dimensions in the order {axes}", host.download(plain), right)
        laid = torch.zeros(sent.shape).to(end)
        laid.permute(axes).copy_(right.contiguous().to(start))
        check.tensor(f"to dimensions in the order {axes}", host.download(laid), sent)


@pytest.mark.parametrize("waits", ["waits", "goes on"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", ["upload", "download"])
@clause("CPY-508", needs="pinned")
def test_a_layout_in_pinned_memory(device: torch.device, way: str, layout: str, waits: str) -> None:
    """Hardware reads and writes pinned memory by itself, beside the way that ordinary memory goes;
    a tensor of two dimensions is what it can copy in rows."""
    wait = waits == "waits"
    for shape in (SHAPE, (6, 8)):
        if len(shape) == 2 and layout not in FLAT:
            continue
        sent, before = host.values(shape), host.values(shape)
        view = FLAT[layout] if len(shape) == 2 else LAYOUTS[layout]
        expected = before.clone()
        if way == "upload":
            pinned = sent.pin_memory()
            target = view(before).contiguous().to(device, copy=True)
            target.copy_(view(pinned), non_blocking=not wait)
            check.tensor(f"from {layout!r} in pinned memory", target.cpu(), view(sent).contiguous())
            continue
        pinned = before.pin_memory()
        view(expected).copy_(view(sent))
        there = view(sent).contiguous().to(device)
        view(pinned).copy_(there, non_blocking=not wait)
        if not wait:
            torch.accelerator.synchronize(device)
        check.tensor(f"all around {layout!r} in pinned memory", pinned.clone(), expected)


@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508")
def test_layouts_with_conversion(device: torch.device, way: str) -> None:
    start, end = ends(way, device)
    sent = host.values(SHAPE, torch.int16)
    there = sent.to(start)
    for source, target in itertools.product(("whole", "transposed", "steps", "inner"), repeat=2):
        expected = torch.zeros(SHAPE)
        moved, part = expected.to(end, copy=True), LAYOUTS[target](expected)
        if LAYOUTS[source](sent).numel() < part.numel():
            continue
        part.copy_(shaped(LAYOUTS[source](sent), part.shape))
        LAYOUTS[target](moved).copy_(shaped(LAYOUTS[source](there), part.shape))
        check.tensor(f"conversion, {source} to {target}", moved.cpu(), expected)


@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508")
def test_layouts_at_random(device: torch.device, way: str) -> None:
    start, end = ends(way, device)
    order = random.Random(3)  # noqa: S311
    for _ in range(40):
        rank = order.randrange(7)
        steps = [order.randrange(1, 3) for _ in range(rank)]
        sizes = [step * order.randrange(1, 5) for step in steps]
        axes = [order.sample(range(rank), rank) for _ in range(2)]
        cut = tuple(slice(None, None, step) for step in steps)
        sent, expected = host.values(sizes), host.values(sizes)
        there, target = sent.to(start), expected.to(end, copy=True)
        shape = expected[cut].permute(axes[0]).shape
        expected[cut].permute(axes[0]).copy_(shaped(sent[cut].permute(axes[1]), shape))
        target[cut].permute(axes[0]).copy_(shaped(there[cut].permute(axes[1]), shape))
        check.tensor("strides at random", target.cpu(), expected)


@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508")
def test_the_source_is_broadcast(device: torch.device, way: str) -> None:
    start, end = ends(way, device)
    for shape in ((), (1,), (10,), (8, 1), (1, 8, 10), (6, 1, 1), (1, 1, 1)):
        sent = host.values(shape)
        expected = torch.zeros(SHAPE).copy_(sent)
        for base in (torch.zeros(SHAPE), torch.zeros((10, 8, 6)).transpose(0, 2)):
            target = base.to(end, copy=True).copy_(sent.to(start))
            check.tensor("broadcast", target.cpu(), expected)


@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508")
def test_tensors_without_dimensions(device: torch.device, way: str) -> None:
    start, end = ends(way, device)
    for sent, target in itertools.product((host.values(()), host.values((1, 1))), repeat=2):
        if sent.dim() > target.dim():
            continue
        moved = target.to(end, copy=True).copy_(sent.to(start))
        check.tensor("one element", moved.cpu(), sent.reshape(target.shape))


@pytest.mark.parametrize("target", BITS)
@pytest.mark.parametrize("way", WAYS)
@clause("CPY-508", needs="dtype:complex64")
def test_conjugate_and_negative_views(device: torch.device, way: str, target: str) -> None:
    start, end = ends(way, device)
    for source in BITS.values():
        sent, expected = host.values(SHAPE, torch.complex64), host.values(SHAPE, torch.complex64)
        there, moved = sent.to(start), expected.to(end, copy=True)
        if BITS[target](expected).is_complex() < source(sent).is_complex():
            continue
        BITS[target](expected).copy_(source(sent))
        BITS[target](moved).copy_(source(there))
        seen, right = (torch.view_as_real(each) for each in (moved.cpu(), expected))
        check.equal(f"copies into views with bits: {target}", torch.equal(seen, right), True)
        check.tensor("the source", there.cpu(), sent)


@clause("CPY-508", needs="dtype:complex64")
def test_views_with_bits_come_to_the_host(device: torch.device) -> None:
    sent = host.values((5, 7), torch.complex64)
    there = host.upload(sent, device)
    for name, view in BITS.items():
        seen, expected = view(there).cpu(), view(sent).resolve_conj().resolve_neg()
        check.equal(f"values of a view: {name}", torch.equal(seen.resolve_neg(), expected), True)
        part = view(there).t()[1:3]
        check.equal(f"values of a part of a view: {name}",
                    torch.equal(part.cpu().resolve_neg(), expected.t()[1:3]), True)  # fmt: skip


@clause("CPY-516", needs="two_devices")
def test_devices_copy_whatever_lies_between(
    device: torch.device, other_device: torch.device
) -> None:
    for count in (1, 1000, 1_000_003):
        sent = host.values((count,), torch.uint8)
        there = host.upload(sent, device).to(other_device)
        check.equal("device", there.device, other_device)
        check.tensor("values", host.download(there), sent)
