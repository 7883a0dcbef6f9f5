# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Contracts that no other process may run beside: each holds the same file for a while."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest
import torch
from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause


@clause("CPY-501")
@pytest.mark.parametrize("turn", range(4))
def test_holds_it(device: torch.device, turn: int) -> None:
    with Path(os.environ["TBK_ACT_FLAG"]).open("w") as flag:
        fcntl.flock(flag, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.5)
    check.equal("one", 1, 1)
