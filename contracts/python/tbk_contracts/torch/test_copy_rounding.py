# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Conversions of numbers that the target can't hold, on a device and between it and the host."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, needs

Move = Callable[[torch.Tensor, torch.dtype, torch.device], torch.Tensor]
MOVES: dict[str, Move] = {
    "device to device": lambda sent, target, device: host.upload(sent, device).to(target),
    "device to host": lambda sent, target, device: host.upload(sent, device).to("cpu", target),
    "host to device": lambda sent, target, device: sent.to(device, target),
    "copy_ to the host": lambda sent, target, device: torch.zeros(sent.shape, dtype=target).copy_(
        host.upload(sent, device)
    ),
    "copy_ to the device": lambda sent, target, device: torch.zeros(
        sent.shape, dtype=target, device=device
    ).copy_(sent),
}
FLOATING = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
WHOLE = ("int64", "int32")
# PyTorch makes 16 bits of whole numbers by way of float32: of these powers of 2 it holds them.
OF_HALF = {11: 14, 8: 22}
PAIRS = [
    (one, other) for one, other in itertools.product((*FLOATING, *WHOLE), FLOATING) if one != other
]


def _between(bits: int, power: int) -> torch.Tensor:
    """Returns numbers of float64 about the midst of two neighbours of `bits` bits, of size
    2**power: a tie to the even below and above, and what lies beside a tie by a little."""
    step = 2.0 ** (power - bits + 1)
    places = torch.arange(2.0 ** min(bits - 1, 3), dtype=torch.float64)
    parts = torch.tensor([0.0, 0.25, 0.5, 0.75, 0.5 + 2.0**-8, 0.5 - 2.0**-8], dtype=torch.float64)
    return (2.0**power + (places[:, None] + parts) * step).flatten()


def hard(source: torch.dtype, bits: int) -> torch.Tensor:
    """Returns numbers of `source` that a significand of `bits` can't hold: ties, and what a second
    rounding would make one."""
    if source.is_floating_point:
        found = torch.cat([_between(bits, power) for power in (0, 5, -6)])
        return torch.cat([found, -found]).to(source)
    top = OF_HALF.get(bits, torch.iinfo(source).bits - 2)
    half = 1 << max(0, top - bits)  # of a step
    near = [1 << top, *((1 << top) + odd * half + by for odd in (1, 3) for by in (-1, 0, 1))]
    if bits not in OF_HALF:
        near.append(torch.iinfo(source).max)
    return torch.tensor([*near, *(-each for each in near)], dtype=source)


@pytest.mark.parametrize(
    ("source", "target"),
    [pytest.param(*pair, marks=needs(" ".join(f"dtype:{name}" for name in pair)),
                  id="-".join(pair)) for pair in PAIRS],
)  # fmt: skip
@clause("CPY-508")
def test_numbers_between_two_are_rounded_once(
    device: torch.device, source: str, target: str
) -> None:
    sent, wanted = hard(getattr(torch, source), FLOATING[target]), getattr(torch, target)
    for name, move in MOVES.items():
        made = move(sent, wanted, device)
        check.equal("the dtype", made.dtype, wanted)
        check.tensor(f"numbers rounded by {name}", host.download(made), sent.to(wanted))


ENDS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")


@pytest.mark.parametrize("name", ENDS)
@clause("CPY-512")
def test_the_number_of_an_element_has_each_bit(device: torch.device, name: str) -> None:
    dtype = getattr(torch, name)
    ends = [torch.iinfo(dtype).max, torch.iinfo(dtype).min, torch.iinfo(dtype).max // 2 + 1]
    sent = torch.tensor(ends, dtype=dtype)
    if not _has(sent, device):
        check.evidence(check.NOT_SHOWN, f"the device has no tensors of {name}")
        return
    there = host.upload(sent, device)
    check.equal("item()", [there[index].item() for index in range(len(ends))], ends)
    check.equal("tolist()", there.tolist(), ends)


def _has(sent: torch.Tensor, device: torch.device) -> bool:
    try:
        return torch.equal(host.download(host.upload(sent, device)), sent)
    except (RuntimeError, TypeError):
        return False
