# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies between host and device: every bit, every direction, conversions between dtypes."""

from __future__ import annotations

import itertools

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import DTYPES, clause, each_dtype, needs

SIZES = (1, 3, 100, 4097, 100_003)
REAL = tuple(name for name in DTYPES if not name.startswith("complex"))


def random_bits(size: int, dtype: torch.dtype) -> torch.Tensor:
    """Any bits: NaNs of all kinds, infinities, small numbers."""
    if dtype == torch.bool:
        return host.values((size,), dtype)
    count = size * dtype.itemsize
    made = torch.randint(0, 256, (count,), dtype=torch.uint8, generator=host.seed())
    return made.view(dtype)


def check_bits(what: str, seen: torch.Tensor, expected: torch.Tensor) -> None:
    check.equal(f"{what}: dtype", seen.dtype, expected.dtype)
    check.tensor(f"{what}: bytes", seen.view(torch.uint8), expected.view(torch.uint8))


@each_dtype()
@clause("CPY-501")
def test_a_round_trip_keeps_every_bit(device: torch.device, dtype: torch.dtype) -> None:
    sent = host.values((3, 5, 7), dtype)
    check.tensor("round trip", host.download(host.upload(sent, device)), sent)
    for size in SIZES:
        sent = random_bits(size, dtype)
        check_bits("round trip", host.download(host.upload(sent, device)), sent)


@each_dtype()
@clause("CPY-501")
def test_copy_keeps_every_bit(device: torch.device, dtype: torch.dtype) -> None:
    for size in SIZES:
        sent = random_bits(size, dtype)
        there = host.poisoned((size,), dtype, device)
        given = there.copy_(sent)
        check.that("what copy_ returns", given is there, expected="the tensor", seen="another")
        back = torch.full((size,), True).to(dtype).copy_(there)
        check_bits("to the device and back", back, sent)


@each_dtype()
@clause("CPY-501")
def test_a_copy_on_the_device_keeps_every_bit(device: torch.device, dtype: torch.dtype) -> None:
    for size in SIZES:
        sent = random_bits(size, dtype)
        source, target = host.upload(sent, device), host.poisoned((size,), dtype, device)
        target.copy_(source)
        check_bits("copy_ on the device", host.download(target), sent)
        check_bits("clone", host.download(source.clone()), sent)
        check_bits("the source", host.download(source), sent)


@each_dtype()
@clause("CPY-501", needs="two_devices")
def test_a_copy_between_devices_keeps_every_bit(
    device: torch.device, other_device: torch.device, dtype: torch.dtype
) -> None:
    for size in SIZES:
        sent = random_bits(size, dtype)
        for here, there in ((device, other_device), (other_device, device)):
            source, target = host.upload(sent, here), host.poisoned((size,), dtype, there)
            target.copy_(source)
            check_bits("copy_ to another device", host.download(target), sent)
            moved = source.to(there)
            check.equal("device", moved.device, there)
            check_bits("to() another device", host.download(moved), sent)


@clause("CPY-501")
def test_a_copy_writes_nothing_else(device: torch.device) -> None:
    for first, last in ((0, 1), (1, 2), (3, 100), (17, 4096), (99, 5000)):
        whole, part = host.values((5000,), torch.uint8), host.values((last - first,), torch.uint8)
        there, source = host.upload(whole, device), host.upload(part, device)
        expected = whole.clone()
        expected[first:last] = part
        there[first:last].copy_(part)
        check.tensor("from the host into a part", host.download(there), expected)
        there.copy_(whole)
        there[first:last].copy_(source)
        check.tensor("from the device into a part", host.download(there), expected)
        back = whole.clone()
        back[first:last].copy_(source)
        check.tensor("to the host into a part", back, expected)
        check.tensor("from a part", host.download(there[first:last]), part)


def _conversions() -> list[object]:
    pairs = [*itertools.permutations(REAL, 2), ("complex64", "complex128"),
             ("complex128", "complex64"), ("float32", "complex64"), ("int64", "complex64"),
             ("float64", "complex128"), ("bool", "complex64")]  # fmt: skip
    return [
        pytest.param(getattr(torch, one), getattr(torch, other), id=f"{one}-{other}",
                     marks=needs(f"dtype:{one} dtype:{other}"))
        for one, other in pairs
    ]  # fmt: skip


def _numbers(dtype: torch.dtype) -> torch.Tensor:
    """Returns what each dtype holds exactly: quarters up to 31, where there are parts."""
    numbers = torch.arange(128, dtype=torch.float64)[torch.randperm(128, generator=host.seed())]
    if dtype.is_floating_point:
        return (numbers / 4).to(dtype)
    return (numbers % 2).to(dtype) if dtype == torch.bool else numbers.to(dtype)


@pytest.mark.parametrize(("source", "target"), _conversions())
@clause("CPY-508")
def test_dtypes_are_converted(
    device: torch.device, source: torch.dtype, target: torch.dtype
) -> None:
    sent = _numbers(source)
    expected = sent.to(target)
    there = host.upload(sent, device)
    results = {
        "from the host": host.poisoned((128,), target, device).copy_(sent),
        "on the device": host.poisoned((128,), target, device).copy_(there),
        "to the host": torch.zeros(128, dtype=target).copy_(there),
        "to()": there.to(target),
        "in steps": host.poisoned((128, 2), target, device)[:, 0].copy_(there),
    }
    for name, result in results.items():
        check.tensor(f"conversion: {name}", host.download(result), expected)


@each_dtype("float32", "float64")
@clause("CPY-508")
def test_numbers_are_cut_off_to_integers(device: torch.device, dtype: torch.dtype) -> None:
    sent = torch.tensor([0.0, -0.0, 0.5, -0.5, 0.999, -0.999, 1.5, -1.5, 2.5, 99.99, -99.99])
    there = host.upload(sent.to(dtype), device)
    seen = torch.empty(sent.shape, dtype=torch.int32).copy_(there)
    check.tensor("to the host", seen, sent.to(torch.int32))
    check.tensor("on the device", host.download(there.to(torch.int32)), sent.to(torch.int32))
    check.tensor("whether they are not 0", host.download(there.to(torch.bool)), sent != 0)


@each_dtype("float64")
@clause("CPY-508")
def test_numbers_are_rounded_to_the_nearest(device: torch.device, dtype: torch.dtype) -> None:
    halves = torch.tensor([1.0, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-40, 1 + 3 * 2.0**-24,
                           -1 - 2.0**-24, 1e300, -1e300, float("nan"), float("inf"), 1e-300],
                          dtype=dtype)  # fmt: skip
    there = host.upload(halves, device)
    expected = halves.to(torch.float32)
    check.tensor("to float32 on the device", host.download(there.to(torch.float32)), expected)
    seen = torch.empty(halves.shape, dtype=torch.float32).copy_(there)
    check.tensor("to float32 on the host", seen, expected)
