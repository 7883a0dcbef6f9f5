# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What inputs a contract was given."""

from __future__ import annotations

import torch
from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause


@clause("CPY-501")
def test_before_it(device: torch.device) -> None:
    check.equal("a shape", host.values((3,)).shape, host.values((3,)).shape)


@clause("CPY-501")
def test_tells_its_inputs(device: torch.device) -> None:
    # Only here: every run of acts collects this file, and that brings PyTorch's compiler with it,
    # which takes as long to import as PyTorch.
    from tbk_contracts.torch.operators.entries import entries  # noqa: PLC0415

    sample = next(iter(entries()["add"].samples(torch.float32)))
    told = [host.values((2,)).tolist(), sample.input.flatten()[:2].tolist()]
    check.equal("how many", len(told), 2)
    check.note(f"{told}")
