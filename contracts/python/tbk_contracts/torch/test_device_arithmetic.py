# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How the host computes beside a device: as it did before the device's package was loaded."""

from __future__ import annotations

import struct

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause

# As bytes, since reading digits is arithmetic: the smallest number, 1, a quarter of its last bit.
SMALLEST, ONE, A_QUARTER = bytes([1, *[0] * 7]), struct.pack("<d", 1), struct.pack("<d", 2**-54)


def computes_as_before(when: str) -> None:
    """The arithmetic of this thread is that in which a process begins. Bytes are compared: two
    numbers may be equal where subnormal ones do not count."""
    smallest, one, quarter = (struct.unpack("<d", read)[0] for read in (SMALLEST, ONE, A_QUARTER))
    for what, made, expected in (
        ("the smallest number times 1", smallest * one, SMALLEST),
        ("1 plus a quarter of its last bit", one + quarter, ONE),
        ("1 minus an eighth of its last bit", one - quarter / 2, ONE),
    ):
        check.equal(f"{what}, {when}", struct.pack("<d", made).hex(), expected.hex())


@clause("DEV-590")
def test_loading_the_package_leaves_the_arithmetic_of_the_host() -> None:
    computes_as_before("after the package was loaded")


@clause("DEV-590")
def test_using_a_device_leaves_the_arithmetic_of_the_host(device: torch.device) -> None:
    sent = host.values((9,))
    check.tensor("a round trip", host.download(host.upload(sent, device)), sent)
    computes_as_before("after a copy there and back")


@clause("DEV-590", needs="accelerator")
def test_waiting_for_a_device_leaves_the_arithmetic_of_the_host(device: torch.device) -> None:
    host.upload(host.values((9,)), device)
    torch.accelerator.synchronize(device)
    computes_as_before("after all work is complete")
