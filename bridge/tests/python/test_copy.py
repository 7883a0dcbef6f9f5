# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies: every direction, dtype and layout, compared on the host with PyTorch's own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Layout = Callable[[torch.Tensor], torch.Tensor]

# Kernels of the C interface know the first twelve; the others are bytes to them.
KNOWN = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool, torch.bfloat16,
)  # fmt: skip
OTHER = (
    torch.uint16, torch.uint32, torch.uint64, torch.complex32, torch.float8_e4m3fn,
    torch.float8_e5m2,
)  # fmt: skip

# Views of a tensor of the sizes (6, 8, 10), as source and as destination alike.
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
    "flipped": lambda x: x.flatten()[7:].unfold(0, 5, 11).t(),
}


def values(dtype: torch.dtype, *, seed: int = 1) -> torch.Tensor:
    """Returns small whole numbers, which every dtype has."""
    generator = torch.Generator().manual_seed(seed)
    integers = torch.randint(0, 100, (6, 8, 10), generator=generator)
    if dtype.is_complex:
        return torch.complex(integers.double(), -integers.double()).to(dtype)
    return integers.to(dtype)


def shaped(tensor: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Returns the first elements in another shape; a view wherever one is possible."""
    if tensor.shape == shape:
        return tensor
    return tensor.reshape(-1)[: shape.numel()].reshape(shape)


def bits(tensor: torch.Tensor) -> bytes:
    host = tensor.cpu()
    assert host.device.type == "cpu"
    return bytes(host.contiguous().flatten().view(torch.uint8).tolist())


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", KNOWN + OTHER, ids=str)
def test_a_round_trip_changes_no_bit(device: torch.device, dtype: torch.dtype) -> None:
    host = values(dtype)
    whole = host.to(device)
    for name, view in LAYOUTS.items():
        there = view(host).to(device)
        assert (there.dtype, there.device) == (dtype, device)
        assert bits(there) == bits(view(host)), name
        assert bits(view(whole)) == bits(view(host)), name
        assert bits(view(whole).clone()) == bits(view(host)), name


PAIRS = [(torch.float32, torch.float32), (torch.int16, torch.float64)]


@pytest.mark.parametrize("dtypes", PAIRS, ids=str)
@pytest.mark.parametrize("way", ["upload", "download", "within", "across"])
def test_every_layout_into_every_layout(
    device: torch.device,
    request: pytest.FixtureRequest,
    way: str,
    dtypes: tuple[torch.dtype, torch.dtype],
) -> None:
    other = request.getfixturevalue("other_device") if way == "across" else device
    ways: dict[str, tuple[torch.device | str, torch.device | str]] = {
        "upload": ("cpu", device),
        "download": (device, "cpu"),
        "within": (device, device),
        "across": (device, other),
    }
    source_on, destination_on = ways[way]
    host_source = values(dtypes[1])
    source = host_source.to(source_on)
    for to, from_ in itertools.product(LAYOUTS, LAYOUTS):
        host = values(dtypes[0], seed=2)
        destination, want = host.to(destination_on), LAYOUTS[to](host)
        if LAYOUTS[from_](host_source).numel() < want.numel():
            continue
        LAYOUTS[to](destination).copy_(shaped(LAYOUTS[from_](source), want.shape))
        want.copy_(shaped(LAYOUTS[from_](host_source), want.shape))
        assert bits(destination) == bits(host), (to, from_)


@pytest.mark.parametrize("to", KNOWN, ids=str)
def test_dtypes_are_converted(device: torch.device, to: torch.dtype) -> None:
    for source, view in itertools.product(KNOWN, ("whole", "transposed")):
        if source.is_complex and not to.is_complex:
            continue  # PyTorch warns, once a process, that the imaginary part goes
        host = LAYOUTS[view](values(source))
        want = bits(host.to(to))
        assert bits(host.to(device, to)) == want, source
        assert bits(host.to(device).to(to)) == want, source
        assert bits(host.to(device).to("cpu", to)) == want, source


@pytest.mark.parametrize("shape", [(), (1,), (10,), (8, 1), (1, 8, 10), (6, 1, 1)])
def test_the_source_broadcasts(device: torch.device, shape: tuple[int, ...]) -> None:
    source = torch.rand(shape)
    want = torch.zeros(6, 8, 10).copy_(source)
    for given in (source, source.to(device)):
        for base in (torch.zeros(6, 8, 10), torch.zeros(10, 8, 6).transpose(0, 2)):
            assert torch.equal(base.to(device).copy_(given).cpu(), want)
    assert torch.equal(torch.zeros(6, 8, 10).copy_(source.to(device)), want)
    assert torch.equal(source.to(device).expand(6, 8, 10).cpu(), want)


@pytest.mark.parametrize("sizes", [(3,), (2, 3, 4, 5), (4, 4)])
def test_sizes_that_do_not_fit_are_refused(device: torch.device, sizes: tuple[int, ...]) -> None:
    destination = torch.zeros(4, 5, device=device)
    for source in (torch.ones(sizes), torch.ones(sizes, device=device)):
        with pytest.raises(RuntimeError):
            destination.copy_(source)
    with pytest.raises(RuntimeError):
        torch.zeros(0, 5, device=device).copy_(torch.ones(2, 5))
    assert not destination.cpu().any()


def conjugate(x: torch.Tensor) -> torch.Tensor:
    return x.conj()


def negative(x: torch.Tensor) -> torch.Tensor:
    return torch._neg_view(x)


def negative_imaginary(x: torch.Tensor) -> torch.Tensor:
    return x.conj().imag


BITS: list[Layout] = [
    lambda x: x, conjugate, negative, lambda x: negative(conjugate(x)), lambda x: x.real,
    negative_imaginary,
]  # fmt: skip


@pytest.mark.parametrize("to", range(len(BITS)))
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_conjugate_and_negative_views(device: torch.device, to: int, dtype: torch.dtype) -> None:
    for index, view in enumerate(BITS):
        want, source = values(torch.complex64, seed=2), values(dtype)
        if BITS[to](want).is_complex() < view(source).is_complex():
            continue
        there, back = want.to(device), want.clone()
        within = want.to(device)
        BITS[to](want).copy_(view(source))
        BITS[to](there).copy_(view(source))
        BITS[to](within).copy_(view(source.to(device)))
        BITS[to](back).copy_(view(source.to(device)))
        for result in (there, within, back):
            assert torch.equal(torch.view_as_real(result).cpu(), torch.view_as_real(want)), index


def test_what_overlaps_itself_is_refused(device: torch.device) -> None:
    base = torch.arange(10.0).to(device)
    with pytest.raises(RuntimeError, match="more than one element"):
        base[:1].expand(5).copy_(torch.ones(5))
    with pytest.raises(RuntimeError, match="single memory location"):
        base[1:].copy_(base[:-1])
    assert torch.equal(base.copy_(base).cpu(), torch.arange(10.0))


def test_a_source_that_overlaps_is_read_first(device: torch.device) -> None:
    base = torch.arange(16.0).reshape(4, 4)
    there = base.to(device)
    there[:, 1:].copy_(there[:, :-1])
    assert torch.equal(there[:, 1:].cpu(), base[:, :-1])
    integers = torch.arange(8, dtype=torch.int32, device=device)
    integers.view(torch.float32).copy_(integers)
    assert torch.equal(integers.view(torch.float32).cpu(), torch.arange(8.0))


def test_the_pageable_source_may_change_at_once(device: torch.device) -> None:
    for count in (1, 1000, 1_000_000):
        source = torch.full((count,), 7.0)
        there = source.to(device)
        source.fill_(-1)
        assert torch.equal(there.cpu(), torch.full((count,), 7.0))


def test_so_it_may_where_nobody_waits(backend: DeviceModule, device: torch.device) -> None:
    for count in (1, 1000, 1_000_000):
        source = torch.full((count,), 7.0)
        there = source.to(device, non_blocking=True)
        source.fill_(-1)
        assert torch.equal(there.cpu(), torch.full((count,), 7.0))
    backend.empty_host_cache()


def test_the_pageable_destination_is_complete(device: torch.device) -> None:
    source = torch.arange(1_000_000, device=device)
    destination = torch.zeros(1_000_000, dtype=torch.int64)
    destination.copy_(source, non_blocking=True)
    assert torch.equal(destination, torch.arange(1_000_000))


def test_to_the_host_without_waiting(backend: DeviceModule, device: torch.device) -> None:
    """PyTorch pins what it returns, where that can be."""
    source = torch.arange(1_000_000, device=device)
    there = source.to("cpu", non_blocking=True)
    backend.synchronize()
    assert torch.equal(there, torch.arange(1_000_000))
    del there
    backend.empty_host_cache()


def test_random_copies(device: torch.device) -> None:
    """Rank, sizes, strides, offsets and dtypes at random; the seed is in the failure."""
    for seed in range(60):
        rng = random.Random(seed)  # noqa: S311
        rank = rng.randrange(6)
        sizes = [rng.randrange(1, 5) for _ in range(rank)]
        order = rng.sample(range(rank), rank)
        steps = [rng.randrange(1, 3) for _ in range(rank)]
        big = [size * step for size, step in zip(sizes, steps, strict=True)]

        def view(
            x: torch.Tensor, order: list[int] = order, steps: list[int] = steps
        ) -> torch.Tensor:
            x = x[tuple(slice(None, None, step) for step in steps)]
            return x.permute(order)

        to, source = rng.choice(KNOWN), rng.choice(KNOWN)
        if source.is_complex and not to.is_complex:
            continue
        host = torch.randint(0, 9, big).to(source)
        want = torch.zeros(big, dtype=to)
        there = want.to(device)
        view(want).copy_(view(host))
        view(there).copy_(view(host.to(device)))
        assert bits(there) == bits(want), seed


def test_a_copy_to_another_device_is_ordered(
    device: torch.device, other_device: torch.device
) -> None:
    first, second = torch.Stream(device), torch.Stream(other_device)
    for round_ in range(20):
        with first, second:
            source = torch.full((100_000,), float(round_), device=device)
            copied = source.to(other_device)
            source.fill_(-1)
            total = copied + 1
            back = total.to(device).cpu()
        assert torch.equal(back, torch.full((100_000,), float(round_ + 1)))


def test_a_copy_runs_on_the_current_stream(device: torch.device) -> None:
    stream = torch.Stream(device)
    with stream:
        source = torch.ones(1000, device=device)
        event = torch.Event(device)
        copied = source.clone().t().contiguous()
        event.record(stream)
    event.synchronize()
    with stream:
        assert copied.sum().item() == 1000


def test_a_failed_copy_leaves_the_destination(device: torch.device) -> None:
    destination = torch.arange(4.0, device=device)
    with pytest.raises(RuntimeError):
        destination.copy_(torch.ones(5))
    with pytest.raises((RuntimeError, NotImplementedError)):
        destination.copy_(torch.ones(4, device="meta"))
    assert destination.tolist() == [0, 1, 2, 3]
