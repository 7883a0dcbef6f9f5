# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a vendor's package may have beside the bridge, so that its clauses are tried, too.

Autoload by the entry point in this folder, and what torch._dynamo asks of a device. Never shipped.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

import torch_tbk

LIBRARY = "TBK_TORCH_PACKAGE_LIBRARY"


def _autoload() -> None:
    """Called at the end of `import torch`; without a library to load this is no vendor's."""
    if os.environ.get(LIBRARY):
        torch_tbk.load(os.environ[LIBRARY])


def register_interface(name: str) -> Any:
    """Tell torch._dynamo of the device, by torch.accelerator and the device's module."""
    import torch  # noqa: PLC0415  # which imports this package
    from torch._dynamo import device_interface  # noqa: PLC0415

    module = torch.get_device_module(name)

    class Interface(device_interface.DeviceInterface):
        Stream = torch.Stream
        Event = torch.Event
        device_count = staticmethod(torch.accelerator.device_count)
        is_available = staticmethod(torch.accelerator.is_available)
        current_device = staticmethod(torch.accelerator.current_device_index)
        exchange_device = staticmethod(module._exchange_device)
        maybe_exchange_device = staticmethod(module._maybe_exchange_device)
        current_stream = staticmethod(torch.accelerator.current_stream)
        set_stream = staticmethod(torch.accelerator.set_stream)

        @staticmethod
        def set_device(device: torch.types.Device) -> None:
            torch.accelerator.set_device_index(device)

        @staticmethod
        def synchronize(device: torch.types.Device = None) -> None:
            torch.accelerator.synchronize(device)

        @staticmethod
        def stream(stream: torch.Stream) -> AbstractContextManager[object]:
            made: AbstractContextManager[object] = module.stream(stream)
            return made

    device_interface.register_interface_for_device(name, Interface)
    return Interface
