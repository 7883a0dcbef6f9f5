# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a vendor's package has beside the bridge: autoload, and the device interface."""

from __future__ import annotations

import os
from typing import Any

import torch

from tbk_torch_mutants.module_device import name
from tbk_torch_mutants.table import mutant


def _interface() -> Any:
    from torch._dynamo.device_interface import get_interface_for_device  # noqa: PLC0415  # slow

    return get_interface_for_device(name())


@mutant("autoload_does_nothing", "DEV-532", "import torch alone does not make the device usable",
        mechanism="module")  # fmt: skip
def _() -> None:
    os.environ.pop("TBK_TORCH_PACKAGE_LIBRARY", None)


@mutant("interface_is_on_device_0", "INT-502", "the current device is always 0", mechanism="module")
def _() -> None:
    _interface().current_device = staticmethod(lambda: 0)


@mutant("interface_exchanges_nothing", "INT-502", "exchanging gives back the new device",
        mechanism="module", narrow=True)  # fmt: skip
def _() -> None:
    def exchange(index: int) -> int:
        torch.accelerator.set_device_index(index)
        return index

    _interface().exchange_device = staticmethod(exchange)
