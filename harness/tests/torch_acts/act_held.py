# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A device that another process has open when each contract asks for it the first time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause


@clause("CPY-501")
@pytest.mark.parametrize("turn", range(3))
def test_is_turned_away_once(device: torch.device, turn: int) -> None:
    try:
        Path(f"{os.environ['TBK_ACT_FLAG']}-{turn}").touch(exist_ok=False)
    except FileExistsError:
        check.equal("one", 1, 1)
    else:
        raise RuntimeError("acme:0: device_open: UNAVAILABLE: another process has the device open")
