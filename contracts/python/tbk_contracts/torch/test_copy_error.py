# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies that overlap, have no elements, resize, or fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, needs

Change = Callable[[torch.Tensor], object]
EMPTY: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((0,), (0,)), ((0, 3), (0, 3)), ((2, 0), (2, 0)), ((0, 3), (1, 3)), ((0, 3), (3,)),
    ((0, 3), ()), ((2, 0), (1, 1)),
)  # fmt: skip
UNFIT: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((0, 3), (2, 3)), ((2, 0), (3, 0)), ((0,), (5,)), ((4, 5), (3,)), ((4, 5), (4, 4)),
    ((4, 5), (2, 4, 5)), ((5,), (1, 4)), ((), (2,)),
)  # fmt: skip
OVERLAPS: dict[str, Change] = {
    "the elements of one broadcast": lambda x: x[:1].expand(5).copy_(x[5:10]),
    "shifted by one": lambda x: x[1:].copy_(x[:-1]),
    "shifted back": lambda x: x[:-3].copy_(x[3:]),
    "windows": lambda x: x.unfold(0, 4, 2).copy_(torch.ones(9, 4, dtype=x.dtype, device=x.device)),
}
DIRECTIONS = ["upload", "download", "within", pytest.param("across", marks=needs("two_devices"))]


def ends(way: str, device: torch.device) -> tuple[torch.device, torch.device]:
    """Returns where a copy of this way comes from, and where it goes to."""
    cpu = torch.device("cpu")
    other = torch.device(device.type, 1) if way == "across" else device
    return {"upload": (cpu, device), "download": (device, cpu)}.get(way, (device, other))


@clause("CPY-509")
def test_a_tensor_copied_onto_itself_stays(device: torch.device) -> None:
    sent = host.values((20, 30))
    there = host.upload(sent, device)
    for view in (there, there.t(), there[3:7], there[::2, 1::3], there[0]):
        view.copy_(view)
        view.copy_(view.view_as(view))
        check.tensor("a tensor copied onto itself", host.download(there), sent)


@clause("CPY-509", needs="dtype:complex64")
def test_bits_of_a_view_onto_itself(device: torch.device) -> None:
    sent = host.values((20,), torch.complex64)
    there = host.upload(sent, device)
    there.conj().copy_(there.conj())
    check.tensor("its conjugate onto itself", host.download(there), sent)


def _refused(change: Change, tensor: torch.Tensor) -> bool:
    try:
        change(tensor)
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize("name", OVERLAPS)
@clause("CPY-509")
def test_an_overlap_is_refused_or_as_on_the_cpu(device: torch.device, name: str) -> None:
    sent = host.values((20,))
    expected, there = sent.clone(), host.upload(sent, device)
    if _refused(OVERLAPS[name], expected):
        check.raises("copy_ into what overlaps", RuntimeError, partial(OVERLAPS[name], there))
        check.tensor("the tensor after that", host.download(there), sent)
    else:
        allowed = sent if _refused(OVERLAPS[name], there) else expected
        check.tensor("copy_ into what overlaps", host.download(there), allowed)


@clause("CPY-509")
def test_parts_of_one_storage_that_do_not_overlap(device: torch.device) -> None:
    changes: tuple[Change, ...] = (
        lambda x: x[:10].copy_(x[10:]), lambda x: x[10:].copy_(x[:10]),
        lambda x: x[::2].copy_(x[1::2]), lambda x: x[3:4].copy_(x[4:5]),
    )  # fmt: skip
    for change in changes:
        sent = host.values((20,))
        there = host.upload(sent, device)
        change(sent)
        change(there)
        check.tensor("parts of one storage", host.download(there), sent)


@pytest.mark.parametrize("way", DIRECTIONS)
@clause("CPY-510")
def test_no_elements(device: torch.device, way: str) -> None:
    start, end = ends(way, device)
    for target, source in EMPTY:
        made = torch.empty(target, device=end)
        given = made.copy_(torch.ones(source, device="cpu").to(start))
        check.equal("shape", tuple(given.shape), target)
        converted = torch.empty(target, device=end, dtype=torch.int16)
        converted.copy_(torch.ones(source).to(start))
        check.equal("shape, converted", tuple(converted.shape), target)
    whole = host.values((5,))
    there = whole.to(end, copy=True)
    there[3:3].copy_(torch.empty(0).to(start))
    check.tensor("memory beside no elements", there.cpu(), whole)


@pytest.mark.parametrize("way", DIRECTIONS)
@clause("CPY-510")
def test_shapes_are_checked(device: torch.device, way: str) -> None:
    start, end = ends(way, device)
    for target, source in UNFIT:
        sent = host.values(target)
        made = sent.to(end, copy=True)
        check.raises("shapes that do not fit", RuntimeError,
                     partial(made.copy_, torch.ones(source).to(start)))  # fmt: skip
        check.tensor("the tensor after that", made.cpu(), sent)


@clause("CPY-511", needs="privateuse1")
def test_a_destination_is_resized(device: torch.device) -> None:
    cpu = torch.device("cpu")
    for start, end in ((cpu, device), (device, cpu), (device, device)):
        for shape in ((0,), (2, 3), (100,), (3, 4, 5)):
            sent = host.values((4, 5))
            target = torch.empty(shape, device=end)
            torch._copy_from_and_resize(sent.to(start), target)
            check.equal("shape", tuple(target.shape), (4, 5))
            check.tensor("values", target.cpu(), sent)


FAILURES: dict[str, Change] = {
    "another shape": lambda x: x.copy_(torch.ones(3, 7)),
    "another shape, on the device": lambda x: x.copy_(torch.ones(3, 7).to(x.device)),
    "no values": lambda x: x.copy_(torch.ones(4, 5, device="meta")),
    "to another shape": lambda x: torch.ones(3).copy_(x),
    "an overlap": lambda x: x[0, :1].expand(5).copy_(x[1]),
}


@pytest.mark.parametrize("name", FAILURES)
@clause("CPY-514")
def test_a_copy_that_fails_changes_nothing(device: torch.device, name: str) -> None:
    sent = host.values((4, 5))
    there = host.upload(sent, device)
    version = there._version
    check.raises("a copy that fails", (RuntimeError, NotImplementedError),
                 partial(FAILURES[name], there))  # fmt: skip
    check.tensor("the tensor after that", host.download(there), sent)
    again = host.values((4, 5))
    check.tensor("a later copy", host.download(there.copy_(again)), again)
    check.that("version", there._version > version, expected="more", seen=there._version)


@pytest.mark.parametrize("name", FAILURES)
@clause("CPY-514", needs="two_devices")
def test_a_copy_that_fails_leaves_what_is_current(devices: list[torch.device], name: str) -> None:
    before = torch.accelerator.current_device_index()
    try:
        for current, device in ((0, devices[1]), (1, devices[0])):
            there = host.upload(host.values((4, 5)), device)
            torch.accelerator.set_device_index(current)
            streams = [torch.accelerator.current_stream(each) for each in devices]
            check.raises("a copy that fails", (RuntimeError, NotImplementedError),
                         partial(FAILURES[name], there))  # fmt: skip
            check.equal("current device", torch.accelerator.current_device_index(), current)
            seen = [torch.accelerator.current_stream(each) for each in devices]
            check.equal("current streams", seen, streams)
    finally:
        torch.accelerator.set_device_index(before)
