# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One contract leaves the device unable to copy."""

from __future__ import annotations

import torch
from tbk_contracts.torch import check
from tbk_contracts.torch.case import clause

CLAUSE = clause("CPY-501")


@CLAUSE
def test_a_passes(device: torch.device) -> None:
    check.equal("one", 1, 1)


@CLAUSE
def test_b_spoils(device: torch.device) -> None:
    def copies_wrongly(tensor: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        return tensor.clone() + 1

    torch.Tensor.to = copies_wrongly  # type: ignore[method-assign,assignment]
    check.equal("one", 1, 1)


@CLAUSE
def test_c_passes(device: torch.device) -> None:
    check.equal("one", 1, 1)
