# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's CPU refuses, the device refuses: with the same exception, in the same words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch


def words(error: BaseException, device: torch.device) -> str:
    """Returns the first line, as if the device were the CPU."""
    first = str(error).partition("\n")[0]
    return first.replace(str(device), "cpu").replace(device.type, "cpu")


def check_refused(
    theirs: Callable[[], object], ours: Callable[[], object], device: torch.device
) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  which one it is PyTorch says
        theirs()
    with pytest.raises(type(expected.value)) as seen:
        ours()
    assert words(seen.value, device) == words(expected.value, device)
