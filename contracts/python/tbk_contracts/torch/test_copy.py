# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies between host and device."""

from __future__ import annotations

import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype


@each_dtype()
@clause("CPY-501")
def test_a_round_trip_keeps_every_bit(device: torch.device, dtype: torch.dtype) -> None:
    sent = host.values((3, 5, 7), dtype)
    check.tensor("round trip", host.download(host.upload(sent, device)), sent)
