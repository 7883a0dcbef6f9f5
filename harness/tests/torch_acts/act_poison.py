# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One contract spoils the process for those that come after it."""

from __future__ import annotations

import torch
from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause

CLAUSE = clause("CPY-501")


@CLAUSE
def test_a_passes(device: torch.device) -> None:
    check.equal("a sum", float((torch.ones(1) - torch.ones(1)).item()), 0.0)


@CLAUSE
def test_b_pollutes(device: torch.device) -> None:
    torch.Tensor.sub = torch.Tensor.add  # type: ignore[method-assign]
    check.equal("one", 1, 1)


@CLAUSE
def test_c_is_polluted(device: torch.device) -> None:
    check.equal("a difference", float(torch.ones(1).sub(torch.ones(1)).item()), 0.0)


@CLAUSE
def test_d_passes(device: torch.device) -> None:
    check.equal("one", 1, 1)
