# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how a device may say that it lacks an operator for a dtype, and what is no lack."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch knows its operators")

from tbk_contracts.torch import missing

LACKS = (
    "call vendorMatmul failed, detail: Tensor mat not implemented for DT_INT32",
    "matmul is not supported for Long tensors",
    "dot: expected one of the dtype support list [DT_FLOAT]",
    "\"addmm_impl\" not implemented for 'Int'",
)
FAULTS = (
    "the driver does not answer",
    "call vendorMatmul failed: invalid argument",
    "mat1 and mat2 must have the same dtype, but got Int and Float",
    "backward is not supported for this stream",
    "attention is not supported for long sequences",
)


@pytest.mark.parametrize("text", LACKS)
def test_what_a_device_lacks_is_told(text: str) -> None:
    assert missing.lacked(RuntimeError(text))
    assert missing.lacking(RuntimeError(text))


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_no_lack(text: str) -> None:
    assert missing.lacked(RuntimeError(text)) == ""
    assert missing.lacked(ValueError(LACKS[0])) == ""
