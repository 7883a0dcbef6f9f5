# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A proof that cannot be shown each time: the device may be too quick for it."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause


@clause("CPY-501")
def test_shows_it_the_first_time(device: torch.device) -> None:
    check.equal("one", 1, 1)
    try:
        Path(os.environ["TBK_ACT_FLAG"]).touch(exist_ok=False)  # of two at once, one makes it
    except FileExistsError:
        check.evidence(check.NOT_SHOWN, "too quick")
